-- What listeners are told, and what tells a client that came back whether it missed something.

-- revision counts every visible change and is for those with rights in the namespace. Strangers count by this one,
-- which private changes do not move: nobody can tell from it how busy a namespace is where they may not look.
ALTER TABLE namespaces ADD COLUMN public_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collections ADD COLUMN public_revision INTEGER NOT NULL DEFAULT 0;

-- The same for /mcp, which shows what is public of every namespace.
CREATE TABLE registry (
  id               INTEGER PRIMARY KEY CHECK (id = 1),
  public_revision  INTEGER NOT NULL
) STRICT;

INSERT INTO registry (id, public_revision) VALUES (1, 0);

-- Triggers count, so that no statement can forget to. A change is public where strangers could see the skill before it
-- or can after it.
CREATE TRIGGER skills_seen_to_change AFTER UPDATE OF current, visibility, deleted_at ON skills
WHEN OLD.current IS NOT NEW.current OR OLD.visibility <> NEW.visibility OR OLD.deleted_at IS NOT NEW.deleted_at
BEGIN
  UPDATE namespaces SET public_revision = public_revision + 1
  WHERE name = NEW.namespace AND visibility = 'public'
    AND (OLD.visibility <> 'private' OR NEW.visibility <> 'private');
  UPDATE registry SET public_revision = public_revision + 1
  WHERE (OLD.visibility <> 'private' OR NEW.visibility <> 'private')
    AND EXISTS (SELECT 1 FROM namespaces WHERE name = NEW.namespace AND visibility = 'public');
  UPDATE collections SET
    revision = revision + 1,
    stamp = lower(hex(randomblob(8))),
    public_revision = public_revision + (
      (OLD.visibility <> 'private' OR NEW.visibility <> 'private')
      AND EXISTS (SELECT 1 FROM namespaces WHERE name = NEW.namespace AND visibility = 'public'))
  WHERE (namespace = NEW.namespace AND is_all) OR (NEW.deleted_at IS NULL AND (namespace, name) IN (
    SELECT namespace, collection FROM collection_items
    WHERE skill_namespace = NEW.namespace AND skill_path = NEW.path
      -- What a collection pins stays what it is when current moves.
      AND (version IS NULL OR OLD.visibility <> NEW.visibility)));
END;

-- As it was, and strangers count too. This one alone raises what held a deleted skill.
DROP TRIGGER collections_drop_deleted;

CREATE TRIGGER collections_drop_deleted AFTER UPDATE OF deleted_at ON skills
WHEN NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL
BEGIN
  UPDATE collections SET
    revision = revision + 1,
    stamp = lower(hex(randomblob(8))),
    public_revision = public_revision + (OLD.visibility <> 'private'
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
  UPDATE namespaces SET public_revision = public_revision + 1
  WHERE name = NEW.namespace AND visibility = 'public' AND EXISTS (
    SELECT 1 FROM skills WHERE namespace = NEW.namespace AND path = NEW.path AND visibility <> 'private');
  UPDATE registry SET public_revision = public_revision + 1 WHERE EXISTS (
    SELECT 1 FROM skills s JOIN namespaces n ON n.name = s.namespace
    WHERE s.namespace = NEW.namespace AND s.path = NEW.path AND s.visibility <> 'private' AND n.visibility = 'public');
  UPDATE collections SET
    revision = revision + 1,
    stamp = lower(hex(randomblob(8))),
    public_revision = public_revision + EXISTS (
      SELECT 1 FROM skills s JOIN namespaces n ON n.name = s.namespace
      WHERE s.namespace = NEW.namespace AND s.path = NEW.path AND s.visibility = 'public' AND n.visibility = 'public')
  WHERE (namespace, name) IN (
    SELECT namespace, collection FROM collection_items
    WHERE skill_namespace = NEW.namespace AND skill_path = NEW.path AND version = NEW.version);
END;

-- Hidden or shown, or gone: everything in it changes for everybody.
CREATE TRIGGER namespaces_seen_to_change AFTER UPDATE OF visibility, deleted_at ON namespaces
WHEN OLD.visibility <> NEW.visibility OR OLD.deleted_at IS NOT NEW.deleted_at
BEGIN
  UPDATE namespaces SET public_revision = public_revision + 1 WHERE name = NEW.name;
  UPDATE registry SET public_revision = public_revision + 1 WHERE OLD.visibility = 'public' OR NEW.visibility = 'public';
  UPDATE collections SET
    revision = revision + 1,
    public_revision = public_revision + (OLD.visibility = 'public' OR NEW.visibility = 'public'),
    stamp = lower(hex(randomblob(8)))
  WHERE namespace = NEW.name OR (namespace, name) IN (
    SELECT namespace, collection FROM collection_items WHERE skill_namespace = NEW.name);
END;

-- A replaced collection is another list; putCollection raises revision itself.
CREATE TRIGGER collections_seen_to_change AFTER UPDATE OF edition, visibility ON collections
WHEN OLD.edition <> NEW.edition
BEGIN
  UPDATE collections SET public_revision = public_revision + 1 WHERE namespace = NEW.namespace AND name = NEW.name;
END;
