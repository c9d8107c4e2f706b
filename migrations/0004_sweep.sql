-- What the hourly sweep of orphans needs; src/publish/sweep.ts tells which races each of these decides.

-- 1: a sweep has seen a release that references the blob, so no sweep looks at it again before a reference goes away.
-- Without it every run would read the whole catalogue to find the little that nobody references.
ALTER TABLE blobs ADD COLUMN kept INTEGER NOT NULL DEFAULT 0 CHECK (kept IN (0, 1));

-- Drawn at random by the touch that inserts the row: two rows that one digest has had, before a sweep and after it,
-- differ in it. A publisher marks as stored only the row that it touched.
ALTER TABLE blobs ADD COLUMN birth TEXT NOT NULL DEFAULT '';

-- 1: no publisher made this row. A sweep did, to lock the digest while it erases what may have come late.
ALTER TABLE blobs ADD COLUMN late INTEGER NOT NULL DEFAULT 0 CHECK (late IN (0, 1));

CREATE INDEX blobs_in_question ON blobs (touched_at) WHERE kept = 0 AND state <> 'deleting';

-- While a blob is deleting, touched_at is the moment of its claim: the claim's name, and its age.
CREATE INDEX blobs_deleting ON blobs (touched_at) WHERE state = 'deleting';

-- Digests whose row was forgotten. A publish that outlived its row may still send bytes, which no row would know; so
-- these are erased once more after a second grace.
CREATE TABLE erased (
  digest     TEXT NOT NULL PRIMARY KEY,
  erased_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX erased_by_age ON erased (erased_at);

-- Whoever takes a reference away puts the blob in question again.
CREATE TRIGGER release_files_let_go AFTER DELETE ON release_files
BEGIN
  UPDATE blobs SET kept = 0 WHERE digest = OLD.digest AND kept = 1;
END;

CREATE TRIGGER releases_let_go AFTER DELETE ON releases
BEGIN
  UPDATE blobs SET kept = 0 WHERE digest IN (OLD.zip_digest, OLD.tar_digest) AND kept = 1;
END;

-- Two promises that no statement can break, however it is written: what is referenced is never claimed, and what is
-- claimed never comes back.
CREATE TRIGGER blobs_claim_only_orphans BEFORE UPDATE OF state ON blobs
WHEN NEW.state = 'deleting' AND OLD.state <> 'deleting' AND (
  EXISTS (SELECT 1 FROM release_files WHERE digest = NEW.digest)
  OR EXISTS (SELECT 1 FROM releases WHERE zip_digest = NEW.digest)
  OR EXISTS (SELECT 1 FROM releases WHERE tar_digest = NEW.digest))
BEGIN
  SELECT RAISE(ABORT, 'blob_referenced');
END;

CREATE TRIGGER blobs_stay_claimed BEFORE UPDATE OF state ON blobs
WHEN OLD.state = 'deleting' AND NEW.state <> 'deleting'
BEGIN
  SELECT RAISE(ABORT, 'blob_deleting');
END;
