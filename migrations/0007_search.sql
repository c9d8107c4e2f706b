-- Finding: the index of skills and of companion tools, the companion servers, and what is counted of searches and reads.

-- What a release weighs in a search: JSON {"term": [impact, head]}, made from its SKILL.md when it is published
-- (src/domain/search). `indexed` is the version of the rules that made it; 0: not made yet, and the hourly run will.
ALTER TABLE releases ADD COLUMN terms TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(terms));
ALTER TABLE releases ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX releases_by_index ON releases (indexed, id);
-- search_text of releases and skills is written and read no more.

-- MCP servers whose tools a namespace's skills drive, with what they listed when they were registered. The registry
-- never calls them.
CREATE TABLE servers (
  namespace   TEXT NOT NULL REFERENCES namespaces (name),
  name        TEXT NOT NULL,
  title       TEXT NOT NULL,
  url         TEXT NOT NULL,
  -- SHA-256 of the snapshot, and how many snapshots there were.
  digest      TEXT NOT NULL,
  snapshot    INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  updated_by  TEXT NOT NULL,
  PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE server_tools (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace    TEXT NOT NULL,
  server       TEXT NOT NULL,
  name         TEXT NOT NULL,
  position     INTEGER NOT NULL,
  title        TEXT NOT NULL,
  description  TEXT NOT NULL,
  -- The tool as the server listed it.
  definition   TEXT NOT NULL CHECK (json_valid(definition)),
  terms        TEXT NOT NULL CHECK (json_valid(terms)),
  indexed      INTEGER NOT NULL,
  UNIQUE (namespace, server, name),
  FOREIGN KEY (namespace, server) REFERENCES servers (namespace, name)
) STRICT;

CREATE INDEX server_tools_by_index ON server_tools (indexed, id);

-- The tools that a release names, whether or not a registered server has them.
CREATE TABLE release_tools (
  namespace  TEXT NOT NULL,
  path       TEXT NOT NULL,
  version    TEXT NOT NULL,
  server     TEXT NOT NULL,
  tool       TEXT NOT NULL,
  position   INTEGER NOT NULL,
  PRIMARY KEY (namespace, path, version, server, tool),
  FOREIGN KEY (namespace, path, version) REFERENCES releases (namespace, path, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX release_tools_by_tool ON release_tools (namespace, server, tool);

-- The index. A document is a release that a list shows or a collection pins (id: that of the release), or a companion
-- tool (id: that of the tool, negative). It stands on one shelf, so that a search reads nothing of what its caller may
-- not see, not even to skip it. Its row is short, since a search looks at hundreds; its terms stay with what it is of.
-- The shelves:
--   ''  a skill that everybody finds     '<namespace>'   one that only people of the namespace find
--   '/' the same for tools               '/<namespace>'  likewise
--   '@' a release that is not current, for the collections that pin it
CREATE TABLE search_docs (
  id         INTEGER PRIMARY KEY,
  kind       TEXT NOT NULL CHECK (kind IN ('skill', 'tool')),
  namespace  TEXT NOT NULL,
  -- Of a skill its path, of a tool server/tool.
  path       TEXT NOT NULL,
  version    TEXT NOT NULL,
  shelf      TEXT NOT NULL,
  -- 1: counts for what is usual (search_terms.heard), as at most ten documents of a namespace do.
  heard      INTEGER NOT NULL DEFAULT 0 CHECK (heard IN (0, 1)),
  UNIQUE (namespace, kind, path, version)
) STRICT;


CREATE TABLE search_postings (
  shelf      TEXT NOT NULL,
  term       TEXT NOT NULL,
  namespace  TEXT NOT NULL,
  doc        INTEGER NOT NULL,
  impact     INTEGER NOT NULL,
  head       INTEGER NOT NULL,
  PRIMARY KEY (shelf, term, namespace, doc)
) STRICT, WITHOUT ROWID;

-- How many documents of a shelf have a term; the term '' counts the documents themselves. `heard` counts at most ten of
-- each namespace: by it a search judges whether a match is more than chance, and nobody can change that for others by
-- publishing very much.
CREATE TABLE search_terms (
  shelf  TEXT NOT NULL,
  term   TEXT NOT NULL,
  docs   INTEGER NOT NULL,
  heard  INTEGER NOT NULL,
  PRIMARY KEY (shelf, term)
) STRICT, WITHOUT ROWID;

-- How many documents of a shelf each namespace has there.
CREATE TABLE search_groups (
  shelf      TEXT NOT NULL,
  namespace  TEXT NOT NULL,
  docs       INTEGER NOT NULL,
  heard      INTEGER NOT NULL,
  PRIMARY KEY (shelf, namespace)
) STRICT, WITHOUT ROWID;

CREATE INDEX search_groups_by_size ON search_groups (shelf, docs DESC, namespace);

-- What the index has to hold. Everything below keeps it so; rebuilding it from nothing reads this view.
CREATE VIEW search_due (id, kind, namespace, path, version, shelf) AS
  SELECT r.id, 'skill', s.namespace, s.path, r.version,
    iif(n.visibility = 'public' AND s.visibility = 'public', '', s.namespace)
  FROM skills s
  CROSS JOIN namespaces n ON n.name = s.namespace
  CROSS JOIN releases r ON r.namespace = s.namespace AND r.path = s.path AND r.version = s.current
  WHERE s.deleted_at IS NULL AND s.visibility <> 'unlisted' AND n.deleted_at IS NULL
  UNION ALL
  SELECT r.id, 'skill', r.namespace, r.path, r.version, '@'
  FROM releases r
  CROSS JOIN skills s ON s.namespace = r.namespace AND s.path = r.path
  CROSS JOIN namespaces n ON n.name = s.namespace
  WHERE (r.version IS NOT s.current OR s.visibility = 'unlisted') AND s.deleted_at IS NULL AND n.deleted_at IS NULL
    AND EXISTS (SELECT 1 FROM collection_items i
      WHERE i.skill_namespace = r.namespace AND i.skill_path = r.path AND i.version = r.version)
  UNION ALL
  SELECT -t.id, 'tool', t.namespace, t.server || '/' || t.name, '', iif(n.visibility = 'public', '/', '/' || t.namespace)
  FROM server_tools t
  CROSS JOIN namespaces n ON n.name = t.namespace
  WHERE n.deleted_at IS NULL;

-- A document's postings and counts follow it. It leaves before its terms change, and comes back; nothing of it is updated.
CREATE TRIGGER search_docs_shelved AFTER INSERT ON search_docs
BEGIN
  UPDATE search_docs SET heard = 1 WHERE id = NEW.id AND NEW.shelf <> '@' AND coalesce((
    SELECT heard FROM search_groups WHERE shelf = NEW.shelf AND namespace = NEW.namespace), 0) < 10;
  INSERT OR REPLACE INTO search_postings (shelf, term, namespace, doc, impact, head)
    SELECT NEW.shelf, t.key, NEW.namespace, NEW.id, t.value ->> 0, t.value ->> 1
    FROM json_each(iif(NEW.kind = 'skill', (SELECT terms FROM releases WHERE id = NEW.id),
      (SELECT terms FROM server_tools WHERE id = -NEW.id))) t;
  INSERT INTO search_terms (shelf, term, docs, heard)
    SELECT NEW.shelf, t.key, 1, (SELECT heard FROM search_docs WHERE id = NEW.id)
    FROM json_each(iif(NEW.kind = 'skill', (SELECT terms FROM releases WHERE id = NEW.id),
      (SELECT terms FROM server_tools WHERE id = -NEW.id))) t
    WHERE NEW.shelf <> '@'
    UNION ALL SELECT NEW.shelf, '', 1, (SELECT heard FROM search_docs WHERE id = NEW.id) WHERE NEW.shelf <> '@'
    ON CONFLICT (shelf, term) DO UPDATE SET docs = docs + 1, heard = heard + excluded.heard;
  INSERT INTO search_groups (shelf, namespace, docs, heard)
    SELECT NEW.shelf, NEW.namespace, 1, (SELECT heard FROM search_docs WHERE id = NEW.id) WHERE NEW.shelf <> '@'
    ON CONFLICT (shelf, namespace) DO UPDATE SET docs = docs + 1, heard = heard + excluded.heard;
END;

CREATE TRIGGER search_docs_taken AFTER DELETE ON search_docs
BEGIN
  DELETE FROM search_postings WHERE shelf = OLD.shelf AND namespace = OLD.namespace AND doc = OLD.id
    AND term IN (SELECT key FROM json_each(iif(OLD.kind = 'skill', (SELECT terms FROM releases WHERE id = OLD.id),
      (SELECT terms FROM server_tools WHERE id = -OLD.id))));
  UPDATE search_terms SET docs = docs - 1, heard = heard - OLD.heard WHERE shelf = OLD.shelf AND OLD.shelf <> '@' AND term IN (
    SELECT key FROM json_each(iif(OLD.kind = 'skill', (SELECT terms FROM releases WHERE id = OLD.id),
      (SELECT terms FROM server_tools WHERE id = -OLD.id))) UNION ALL SELECT '');
  DELETE FROM search_terms WHERE shelf = OLD.shelf AND docs <= 0 AND term IN (
    SELECT key FROM json_each(iif(OLD.kind = 'skill', (SELECT terms FROM releases WHERE id = OLD.id),
      (SELECT terms FROM server_tools WHERE id = -OLD.id))) UNION ALL SELECT '');
  UPDATE search_groups SET docs = docs - 1, heard = heard - OLD.heard WHERE shelf = OLD.shelf AND namespace = OLD.namespace;
  DELETE FROM search_groups WHERE shelf = OLD.shelf AND namespace = OLD.namespace AND docs <= 0;
END;

-- What the documents follow. A changed skill is indexed anew as a whole.
CREATE TRIGGER skills_indexed AFTER UPDATE OF current, visibility, deleted_at ON skills
WHEN OLD.current IS NOT NEW.current OR OLD.visibility <> NEW.visibility OR OLD.deleted_at IS NOT NEW.deleted_at
BEGIN
  DELETE FROM search_docs WHERE namespace = NEW.namespace AND kind = 'skill' AND path = NEW.path;
  INSERT INTO search_docs (id, kind, namespace, path, version, shelf)
    SELECT id, kind, namespace, path, version, shelf FROM search_due
    WHERE namespace = NEW.namespace AND kind = 'skill' AND path = NEW.path;
END;

CREATE TRIGGER releases_to_reindex BEFORE UPDATE OF terms ON releases
BEGIN
  DELETE FROM search_docs WHERE id = OLD.id;
END;

CREATE TRIGGER releases_reindexed AFTER UPDATE OF terms ON releases
BEGIN
  INSERT INTO search_docs (id, kind, namespace, path, version, shelf)
    SELECT id, kind, namespace, path, version, shelf FROM search_due
    WHERE namespace = NEW.namespace AND kind = 'skill' AND path = NEW.path AND version = NEW.version;
END;

CREATE TRIGGER releases_unindexed BEFORE DELETE ON releases
BEGIN
  DELETE FROM search_docs WHERE id = OLD.id;
END;

CREATE TRIGGER collection_items_indexed AFTER INSERT ON collection_items
WHEN NEW.version IS NOT NULL AND NOT EXISTS (SELECT 1 FROM search_docs
  WHERE namespace = NEW.skill_namespace AND kind = 'skill' AND path = NEW.skill_path AND version = NEW.version)
BEGIN
  INSERT INTO search_docs (id, kind, namespace, path, version, shelf)
    SELECT id, kind, namespace, path, version, shelf FROM search_due
    WHERE namespace = NEW.skill_namespace AND kind = 'skill' AND path = NEW.skill_path AND version = NEW.version;
END;

CREATE TRIGGER collection_items_unindexed AFTER DELETE ON collection_items
WHEN OLD.version IS NOT NULL AND NOT EXISTS (SELECT 1 FROM collection_items
  WHERE skill_namespace = OLD.skill_namespace AND skill_path = OLD.skill_path AND version = OLD.version)
BEGIN
  DELETE FROM search_docs WHERE namespace = OLD.skill_namespace AND kind = 'skill' AND path = OLD.skill_path
    AND version = OLD.version AND shelf = '@';
END;

CREATE TRIGGER server_tools_indexed AFTER INSERT ON server_tools
BEGIN
  INSERT INTO search_docs (id, kind, namespace, path, version, shelf)
    SELECT -NEW.id, 'tool', NEW.namespace, NEW.server || '/' || NEW.name, '',
      iif(visibility = 'public', '/', '/' || NEW.namespace)
    FROM namespaces WHERE name = NEW.namespace AND deleted_at IS NULL;
END;

CREATE TRIGGER server_tools_to_reindex BEFORE UPDATE OF terms ON server_tools
BEGIN
  DELETE FROM search_docs WHERE id = -OLD.id;
END;

CREATE TRIGGER server_tools_reindexed AFTER UPDATE OF terms ON server_tools
BEGIN
  INSERT INTO search_docs (id, kind, namespace, path, version, shelf)
    SELECT -NEW.id, 'tool', NEW.namespace, NEW.server || '/' || NEW.name, '',
      iif(visibility = 'public', '/', '/' || NEW.namespace)
    FROM namespaces WHERE name = NEW.namespace AND deleted_at IS NULL;
END;

CREATE TRIGGER server_tools_unindexed BEFORE DELETE ON server_tools
BEGIN
  DELETE FROM search_docs WHERE id = -OLD.id;
END;

-- A namespace that is shown, hidden or deleted moves shelf bit by bit, since it may have thousands of skills; until
-- then what may be seen is decided as always, by the rows of the skills. 1: there is something to move.
ALTER TABLE namespaces ADD COLUMN to_shelve INTEGER NOT NULL DEFAULT 0;
CREATE INDEX namespaces_to_shelve ON namespaces (name) WHERE to_shelve = 1;

CREATE TRIGGER namespaces_to_be_shelved AFTER UPDATE OF visibility, deleted_at ON namespaces
WHEN OLD.visibility <> NEW.visibility OR OLD.deleted_at IS NOT NEW.deleted_at
BEGIN
  UPDATE namespaces SET to_shelve = 1 WHERE name = NEW.name;
END;

-- 'per-skill': each skill of the collection is also a tool without arguments, which loads it.
ALTER TABLE collections ADD COLUMN tools TEXT NOT NULL DEFAULT 'registry' CHECK (tools IN ('registry', 'per-skill'));

-- Searches as they were answered, for a while: which words, at which address ('': /mcp), what was shown and what of it
-- was loaded. Nothing says who asked; the words are stems in alphabetical order, not the sentence.
CREATE TABLE search_picks (
  id          TEXT NOT NULL PRIMARY KEY,
  namespace   TEXT NOT NULL,
  collection  TEXT NOT NULL,
  day         INTEGER NOT NULL,
  words       TEXT NOT NULL,
  -- JSON array of namespace/path, best first; [] where nothing was found to fit.
  shown       TEXT NOT NULL CHECK (json_valid(shown)),
  chosen      TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX search_picks_by_namespace ON search_picks (namespace, day);
CREATE INDEX search_picks_by_day ON search_picks (day);

-- How often agents read a release, by the day (since 1970), the client and the generation of the protocol.
CREATE TABLE release_reads (
  namespace       TEXT NOT NULL,
  path            TEXT NOT NULL,
  version         TEXT NOT NULL,
  day             INTEGER NOT NULL,
  client          TEXT NOT NULL,
  client_version  TEXT NOT NULL,
  era             TEXT NOT NULL CHECK (era IN ('2025', '2026')),
  -- 0: another release was current when it was read.
  was_current     INTEGER NOT NULL CHECK (was_current IN (0, 1)),
  reads           INTEGER NOT NULL,
  -- The order in which a namespace's admins see it.
  PRIMARY KEY (namespace, day DESC, path, version, client, client_version, era, was_current)
) STRICT, WITHOUT ROWID;

CREATE INDEX release_reads_by_day ON release_reads (day);
CREATE INDEX release_reads_stale ON release_reads (namespace, day) WHERE was_current = 0;

ALTER TABLE guards ADD COLUMN servers_many INTEGER CONSTRAINT servers_many CHECK (servers_many IS NULL);
ALTER TABLE guards ADD COLUMN server_moved INTEGER CONSTRAINT server_moved CHECK (server_moved IS NULL);
