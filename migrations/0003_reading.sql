-- What lets a Worker answer from memory, or without reading a file whole.

-- Whether a file's bytes are lossless UTF-8, so that a large one can be streamed into an MCP answer (as text or as
-- base64) before anybody has seen all of it. NULL: published before this column, so a reader has to find out.
ALTER TABLE release_files ADD COLUMN is_text INTEGER CHECK (is_text IN (0, 1));

-- A random name of the revision, new with each one. Numbers come again when a database is restored to an earlier
-- moment and goes on from there; a page that is remembered under a stamp is never taken for another's. '': unchanged
-- since before this column, and nothing is remembered.
ALTER TABLE namespaces ADD COLUMN stamp TEXT NOT NULL DEFAULT '';
