-- Publishing from a CI job without a stored secret: whom a namespace trusts, which tokens that gave out, and where a
-- release came from.

-- An issuer, and what it has to say of a job. kind: github: the claims have the names of the settings of a workflow;
-- claims: those of the token itself, each compared to the letter. path: as in tokens.below.
CREATE TABLE trusted_publishers (
  id            TEXT NOT NULL PRIMARY KEY,
  namespace     TEXT NOT NULL REFERENCES namespaces (name),
  kind          TEXT NOT NULL CHECK (kind IN ('github', 'claims')),
  issuer        TEXT NOT NULL,
  claims        TEXT NOT NULL CHECK (json_valid(claims)),
  path          TEXT NOT NULL,
  label         TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  created_by    TEXT NOT NULL,
  last_used_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX trusted_publishers_by_namespace ON trusted_publishers (namespace, created_at, id);
CREATE INDEX trusted_publishers_by_issuer ON trusted_publishers (issuer, namespace);
CREATE INDEX trusted_publishers_by_creator ON trusted_publishers (created_by);

-- Tokens of jobs that were exchanged, until they have run out by themselves: the hash of issuer and token id.
CREATE TABLE oidc_used (
  hash        TEXT NOT NULL PRIMARY KEY,
  expires_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX oidc_used_ending ON oidc_used (expires_at);

-- Of a token that a trusted publisher got: which one, and what the issuer said of the job. NULL for all others.
ALTER TABLE tokens ADD COLUMN publisher TEXT;
ALTER TABLE tokens ADD COLUMN source TEXT CHECK (source IS NULL OR json_valid(source));
CREATE INDEX tokens_by_publisher ON tokens (publisher, expires_at) WHERE publisher IS NOT NULL;
CREATE INDEX tokens_of_publishers_ending ON tokens (expires_at) WHERE publisher IS NOT NULL;

-- The source of the token that published it, as it was then.
ALTER TABLE releases ADD COLUMN source TEXT CHECK (source IS NULL OR json_valid(source));

ALTER TABLE guards ADD COLUMN publishers_many INTEGER CONSTRAINT publishers_many CHECK (publishers_many IS NULL);
ALTER TABLE guards ADD COLUMN job_tokens_many INTEGER CONSTRAINT job_tokens_many CHECK (job_tokens_many IS NULL);
ALTER TABLE guards ADD COLUMN job_replayed INTEGER CONSTRAINT job_replayed CHECK (job_replayed IS NULL);
