-- The truth of the registry. Forward only: a later migration adds, it never edits this one.
-- Every key begins with the namespace, so that no query can forget whose rows it reads.
-- Times are milliseconds since 1970. Tables with long rows keep their rowid, the others are their own index.

-- A tenant. Its revision grows by one with every visible change, in the same batch as the change.
CREATE TABLE namespaces (
  name        TEXT NOT NULL PRIMARY KEY,
  title       TEXT NOT NULL,
  visibility  TEXT NOT NULL CHECK (visibility IN ('public', 'private')),
  revision    INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A path inside a namespace. `current` names the release that lists show; NULL: none, so no list shows the skill.
CREATE TABLE skills (
  namespace   TEXT NOT NULL REFERENCES namespaces (name),
  path        TEXT NOT NULL,
  visibility  TEXT NOT NULL CHECK (visibility IN ('public', 'unlisted', 'private')),
  current     TEXT,
  -- A copy of the current release's, so that a search reads no release.
  search_text TEXT NOT NULL DEFAULT '',
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (namespace, path),
  FOREIGN KEY (namespace, path, current) REFERENCES releases (namespace, path, version)
) STRICT, WITHOUT ROWID;

-- Bytes in R2 under their digest. A row is touched before its bytes are sent and stored once R2 has checked them;
-- only a stored blob can be referenced, and only an unreferenced one can become deleting.
CREATE TABLE blobs (
  digest      TEXT NOT NULL PRIMARY KEY CHECK (digest GLOB 'sha256:*' AND length(digest) = 71),
  size        INTEGER NOT NULL CHECK (size >= 0),
  state       TEXT NOT NULL CHECK (state IN ('touched', 'stored', 'deleting')),
  touched_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One immutable published state of a skill. Both spellings of its entry are finished JSON, served as they are.
CREATE TABLE releases (
  -- Grows with every publish: the order of a skill's history.
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace      TEXT NOT NULL,
  path           TEXT NOT NULL,
  version        TEXT NOT NULL,
  -- The version taken apart, for order by precedence; pre is '' for a full version.
  major          INTEGER NOT NULL,
  minor          INTEGER NOT NULL,
  patch          INTEGER NOT NULL,
  pre            TEXT NOT NULL,
  name           TEXT NOT NULL,
  description    TEXT NOT NULL,
  -- Digest of the sorted list of (file, digest): equal trees are equal bytes under equal names.
  tree           TEXT NOT NULL,
  -- JSON array of the paths whose executable bit is set.
  executables    TEXT NOT NULL,
  file_count     INTEGER NOT NULL,
  total_bytes    INTEGER NOT NULL,
  skill_md_bytes INTEGER NOT NULL,
  zip_digest     TEXT NOT NULL REFERENCES blobs (digest),
  tar_digest     TEXT NOT NULL REFERENCES blobs (digest),
  -- The words of name and description, a space before each, for the simple search.
  search_text    TEXT NOT NULL,
  published_at   INTEGER NOT NULL,
  -- The principal that published: 'operator' or 'token:<id>'.
  published_by   TEXT NOT NULL,
  entry_bytes    INTEGER NOT NULL,
  entry          TEXT NOT NULL CHECK (json_valid(entry)),
  pinned_entry   TEXT NOT NULL CHECK (json_valid(pinned_entry)),
  UNIQUE (namespace, path, version),
  FOREIGN KEY (namespace, path) REFERENCES skills (namespace, path)
) STRICT;

CREATE INDEX releases_by_precedence ON releases (namespace, path, major, minor, patch);
CREATE INDEX releases_by_zip ON releases (zip_digest);
CREATE INDEX releases_by_tar ON releases (tar_digest);

-- The manifest of a release. The media type belongs to the path, the bytes to the digest.
CREATE TABLE release_files (
  namespace   TEXT NOT NULL,
  path        TEXT NOT NULL,
  version     TEXT NOT NULL,
  file        TEXT NOT NULL,
  digest      TEXT NOT NULL REFERENCES blobs (digest),
  size        INTEGER NOT NULL,
  media_type  TEXT NOT NULL,
  executable  INTEGER NOT NULL CHECK (executable IN (0, 1)),
  PRIMARY KEY (namespace, path, version, file),
  FOREIGN KEY (namespace, path, version) REFERENCES releases (namespace, path, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX release_files_by_digest ON release_files (digest);

-- A foreign key proves that the blob has a row; these prove that its bytes are there.
CREATE TRIGGER release_files_need_bytes BEFORE INSERT ON release_files
WHEN NOT EXISTS (SELECT 1 FROM blobs WHERE digest = NEW.digest AND state = 'stored')
BEGIN
  SELECT RAISE(ABORT, 'blob_missing');
END;

CREATE TRIGGER releases_need_archives BEFORE INSERT ON releases
WHEN 2 - (NEW.zip_digest = NEW.tar_digest) <>
     (SELECT count(*) FROM blobs WHERE digest IN (NEW.zip_digest, NEW.tar_digest) AND state = 'stored')
BEGIN
  SELECT RAISE(ABORT, 'blob_missing');
END;

-- Never holds a row: a batch inserts here to refuse itself, and the name of the failed check is the reason.
CREATE TABLE guards (
  path_conflict INTEGER,
  CONSTRAINT path_conflict CHECK (path_conflict IS NULL)
) STRICT;

-- Bearer tokens that the registry minted. Only the hash of the secret is kept; a token is shown once, when minted.
CREATE TABLE tokens (
  id           TEXT NOT NULL PRIMARY KEY,
  namespace    TEXT NOT NULL REFERENCES namespaces (name),
  role         TEXT NOT NULL CHECK (role IN ('reader', 'publisher', 'admin')),
  label        TEXT NOT NULL,
  secret_hash  TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  revoked_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX tokens_by_namespace ON tokens (namespace, created_at);
