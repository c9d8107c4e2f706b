-- What happens to a release after it was published, and answers that may be asked for twice.

-- A yanked release is in no list and can be nobody's current; its pinned address stays readable.
ALTER TABLE releases ADD COLUMN yanked_at INTEGER;

-- A deleted skill keeps its row as a tombstone. Its releases are gone, and with them every address.
ALTER TABLE skills ADD COLUMN deleted_at INTEGER;

-- Versions of deleted releases: a version is never used twice, not even after a delete.
CREATE TABLE spent_versions (
  namespace  TEXT NOT NULL,
  path       TEXT NOT NULL,
  version    TEXT NOT NULL,
  major      INTEGER NOT NULL,
  minor      INTEGER NOT NULL,
  patch      INTEGER NOT NULL,
  pre        TEXT NOT NULL,
  PRIMARY KEY (namespace, path, version),
  FOREIGN KEY (namespace, path) REFERENCES skills (namespace, path)
) STRICT, WITHOUT ROWID;

ALTER TABLE guards ADD COLUMN version_spent INTEGER CONSTRAINT version_spent CHECK (version_spent IS NULL);
ALTER TABLE guards ADD COLUMN token_dead INTEGER CONSTRAINT token_dead CHECK (token_dead IS NULL);
ALTER TABLE guards ADD COLUMN moved_on INTEGER CONSTRAINT moved_on CHECK (moved_on IS NULL);
ALTER TABLE guards ADD COLUMN not_living INTEGER CONSTRAINT not_living CHECK (not_living IS NULL);

-- Answers to requests that carried an Idempotency-Key, kept for a day. Written in the batch of the change itself, so
-- that an answer is there exactly if the change is.
CREATE TABLE receipts (
  namespace    TEXT NOT NULL REFERENCES namespaces (name),
  principal    TEXT NOT NULL,
  key          TEXT NOT NULL,
  -- Covers the parameters and the (path, digest) of every file, not the raw body: form boundaries differ per retry.
  request_hash TEXT NOT NULL,
  status       INTEGER NOT NULL,
  body         TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (namespace, principal, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX receipts_by_age ON receipts (created_at);
