-- What listeners are told, and what tells a client that came back whether it missed something.

-- Two counts, neither of which ever falls. public_revision counts what strangers find changed in a list, told_revision
-- every change of a skill, for those with rights in the namespace. So nobody can tell from a count how busy a
-- namespace is where they may not look. (revision also counts what no listener is told of, such as a new title.)
ALTER TABLE namespaces ADD COLUMN public_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN told_revision INTEGER NOT NULL DEFAULT 0;

-- Of a collection, revision counts for the people of its own namespace. They are told of their own skills and of
-- public ones; what others keep private in it moves neither count.
ALTER TABLE collections ADD COLUMN public_revision INTEGER NOT NULL DEFAULT 0;

-- The same for /mcp, which shows what is public of every namespace.
CREATE TABLE registry (
  id               INTEGER PRIMARY KEY CHECK (id = 1),
  public_revision  INTEGER NOT NULL
) STRICT;

INSERT INTO registry (id, public_revision) VALUES (1, 0);

-- Triggers count, so that no statement can forget to. A change is public where a list showed the skill to strangers
-- before it, or can after it.
CREATE TRIGGER skills_seen_to_change AFTER UPDATE OF current, visibility, deleted_at ON skills
WHEN OLD.current IS NOT NEW.current OR OLD.visibility <> NEW.visibility OR OLD.deleted_at IS NOT NEW.deleted_at
BEGIN
  UPDATE namespaces SET
    told_revision = told_revision + 1,
    public_revision = public_revision
      + (visibility = 'public' AND (OLD.visibility = 'public' OR NEW.visibility = 'public'))
  WHERE name = NEW.namespace;
  UPDATE registry SET public_revision = public_revision + 1
  WHERE (OLD.visibility = 'public' OR NEW.visibility = 'public')
    AND EXISTS (SELECT 1 FROM namespaces WHERE name = NEW.namespace AND visibility = 'public');
  UPDATE collections SET
    stamp = lower(hex(randomblob(8))),
    revision = revision + (namespace = NEW.namespace OR (
      (OLD.visibility = 'public' OR NEW.visibility = 'public')
      AND EXISTS (SELECT 1 FROM namespaces WHERE name = NEW.namespace AND visibility = 'public'))),
    public_revision = public_revision + (
      (OLD.visibility = 'public' OR NEW.visibility = 'public')
      AND EXISTS (SELECT 1 FROM namespaces WHERE name = NEW.namespace AND visibility = 'public'))
  WHERE (namespace = NEW.namespace AND is_all) OR (NEW.deleted_at IS NULL AND (namespace, name) IN (
    SELECT namespace, collection FROM collection_items
    WHERE skill_namespace = NEW.namespace AND skill_path = NEW.path
      -- What a collection pins stays what it is when current moves.
      AND (version IS NULL OR OLD.visibility <> NEW.visibility)));
END;

-- As it was, and the counts as above. This one alone raises what held a deleted skill.
DROP TRIGGER collections_drop_deleted;

CREATE TRIGGER collections_drop_deleted AFTER UPDATE OF deleted_at ON skills
WHEN NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL
BEGIN
  UPDATE collections SET
    stamp = lower(hex(randomblob(8))),
    revision = revision + (namespace = NEW.namespace OR (OLD.visibility = 'public'
      AND EXISTS (SELECT 1 FROM namespaces WHERE name = NEW.namespace AND visibility = 'public'))),
    public_revision = public_revision + (OLD.visibility = 'public'
      AND EXISTS (SELECT 1 FROM namespaces WHERE name = NEW.namespace AND visibility = 'public'))
  WHERE (namespace, name) IN (
    SELECT namespace, collection FROM collection_items
    WHERE skill_namespace = NEW.namespace AND skill_path = NEW.path);
  DELETE FROM collection_items WHERE skill_namespace = NEW.namespace AND skill_path = NEW.path;
END;

-- A yank is seen at the pinned address, whatever is current; and a collection that pins the release loses it.
CREATE TRIGGER releases_seen_to_yank AFTER UPDATE OF yanked_at ON releases
WHEN (OLD.yanked_at IS NULL) <> (NEW.yanked_at IS NULL)
BEGIN
  UPDATE namespaces SET
    told_revision = told_revision + 1,
    public_revision = public_revision + (visibility = 'public' AND EXISTS (
      SELECT 1 FROM skills WHERE namespace = NEW.namespace AND path = NEW.path AND visibility = 'public'))
  WHERE name = NEW.namespace;
  UPDATE registry SET public_revision = public_revision + 1 WHERE EXISTS (
    SELECT 1 FROM skills s JOIN namespaces n ON n.name = s.namespace
    WHERE s.namespace = NEW.namespace AND s.path = NEW.path AND s.visibility = 'public' AND n.visibility = 'public');
  UPDATE collections SET
    stamp = lower(hex(randomblob(8))),
    revision = revision + (namespace = NEW.namespace OR EXISTS (
      SELECT 1 FROM skills s JOIN namespaces n ON n.name = s.namespace
      WHERE s.namespace = NEW.namespace AND s.path = NEW.path AND s.visibility = 'public' AND n.visibility = 'public')),
    public_revision = public_revision + EXISTS (
      SELECT 1 FROM skills s JOIN namespaces n ON n.name = s.namespace
      WHERE s.namespace = NEW.namespace AND s.path = NEW.path AND s.visibility = 'public' AND n.visibility = 'public')
  WHERE (namespace = NEW.namespace AND is_all) OR (namespace, name) IN (
    SELECT namespace, collection FROM collection_items
    WHERE skill_namespace = NEW.namespace AND skill_path = NEW.path AND (version IS NULL OR version = NEW.version));
END;

-- Hidden or shown, or gone: everything in it changes for everybody who could see it.
CREATE TRIGGER namespaces_seen_to_change AFTER UPDATE OF visibility, deleted_at ON namespaces
WHEN OLD.visibility <> NEW.visibility OR OLD.deleted_at IS NOT NEW.deleted_at
BEGIN
  UPDATE namespaces SET
    told_revision = told_revision + 1,
    public_revision = public_revision + (OLD.visibility = 'public' OR NEW.visibility = 'public')
  WHERE name = NEW.name;
  UPDATE registry SET public_revision = public_revision + 1 WHERE OLD.visibility = 'public' OR NEW.visibility = 'public';
  UPDATE collections SET
    stamp = lower(hex(randomblob(8))),
    revision = revision + (namespace = NEW.name OR OLD.visibility = 'public' OR NEW.visibility = 'public'),
    public_revision = public_revision + (OLD.visibility = 'public' OR NEW.visibility = 'public')
  WHERE namespace = NEW.name OR (namespace, name) IN (
    SELECT namespace, collection FROM collection_items WHERE skill_namespace = NEW.name);
END;

-- A replaced collection is another list; the statement that replaces it raises revision itself. /mcp lists the
-- collection registry/featured.
CREATE TRIGGER collections_seen_to_change AFTER UPDATE OF edition ON collections
WHEN OLD.edition <> NEW.edition
BEGIN
  UPDATE collections SET public_revision = public_revision + (OLD.visibility = 'public' OR NEW.visibility = 'public')
  WHERE namespace = NEW.namespace AND name = NEW.name;
  UPDATE registry SET public_revision = public_revision + 1
  WHERE NEW.namespace = 'registry' AND NEW.name = 'featured';
END;
