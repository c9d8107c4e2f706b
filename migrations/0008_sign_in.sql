-- Signing in: what the OAuth library keeps, what people have allowed, and who is at the pages.

-- The library's records (authorization codes, tokens, registered clients, consent under way), each under a key of its
-- own spelling. Here and not in a KV namespace, which may be a minute behind: what is revoked is over at once, and a
-- code or refresh token that two requests send is spent once. Tokens and codes are kept as hashes only.
-- value: JSON, but for transactions. expires_at: milliseconds since 1970; NULL: never.
CREATE TABLE oauth_records (
  key         TEXT NOT NULL PRIMARY KEY,
  value       TEXT NOT NULL,
  metadata    TEXT,
  expires_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_records_ending ON oauth_records (expires_at) WHERE expires_at IS NOT NULL;

-- Refresh tokens that were used: one that comes again later was stolen, or its answer was lost for good.
CREATE TABLE oauth_spent (
  hash      TEXT NOT NULL PRIMARY KEY,
  grant_id  TEXT NOT NULL,
  spent_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_spent_by_age ON oauth_spent (spent_at);

-- Clients that registered themselves. origin_key: a MAC of the address prefix that they came from. used_at: when
-- somebody first allowed them something; until then they are the first to go.
CREATE TABLE oauth_registrations (
  client_id      TEXT NOT NULL PRIMARY KEY,
  origin_key     TEXT NOT NULL,
  registered_at  INTEGER NOT NULL,
  used_at        INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_registrations_unused ON oauth_registrations (registered_at) WHERE used_at IS NULL;
CREATE INDEX oauth_registrations_by_origin ON oauth_registrations (origin_key, registered_at);

-- The metadata documents of clients whose id is an address, as they were when we last read them.
CREATE TABLE oauth_documents (
  client_id    TEXT NOT NULL PRIMARY KEY,
  client       TEXT NOT NULL CHECK (json_valid(client)),
  fetched_at   INTEGER NOT NULL,
  fresh_until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_documents_by_age ON oauth_documents (fetched_at);

-- What somebody has allowed a client at one address: with the rights of a token, which it dies with, or of a person.
-- namespace: that of the address; NULL: an address of the whole registry, where a person has the rights of all their
-- memberships. roles: at the API, of a person, in which namespaces they allowed it and what they were there then; what
-- they become later is nothing that they allowed. last_used_from: who the client said it is, and from where.
CREATE TABLE grants (
  id              TEXT NOT NULL PRIMARY KEY,
  user_id         TEXT NOT NULL,
  client_id       TEXT NOT NULL,
  client_name     TEXT NOT NULL,
  client_domain   TEXT,
  audience        TEXT NOT NULL,
  namespace       TEXT,
  scopes          TEXT NOT NULL CHECK (json_valid(scopes)),
  roles           TEXT CHECK (roles IS NULL OR json_valid(roles)),
  token_id        TEXT,
  issuer          TEXT,
  subject         TEXT,
  granted_at      INTEGER NOT NULL,
  last_used_at    INTEGER,
  last_used_from  TEXT,
  CHECK ((token_id IS NULL) <> (issuer IS NULL)),
  CHECK ((issuer IS NULL) = (subject IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX grants_by_user ON grants (user_id, granted_at, id);
CREATE INDEX grants_by_token ON grants (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX grants_by_person ON grants (issuer, subject) WHERE issuer IS NOT NULL;

-- What the library has ended, or let run out, is over here as well.
CREATE TRIGGER grants_end_with_their_record AFTER DELETE ON oauth_records
WHEN OLD.key > 'grant:' AND OLD.key < 'grant;'
BEGIN
  DELETE FROM grants WHERE id = substr(OLD.key, 7 + instr(substr(OLD.key, 7), ':'));
END;

CREATE TRIGGER registrations_end_with_their_record AFTER DELETE ON oauth_records
WHEN OLD.key > 'client:' AND OLD.key < 'client;'
BEGIN
  DELETE FROM oauth_registrations WHERE client_id = substr(OLD.key, 8);
END;

-- Browsers at the pages. Only the hash of the cookie is kept.
CREATE TABLE sign_ins (
  hash          TEXT NOT NULL PRIMARY KEY,
  user_id       TEXT NOT NULL,
  token_id      TEXT,
  issuer        TEXT,
  subject       TEXT,
  -- What the person is called, for the pages only.
  name          TEXT NOT NULL,
  signed_in_at  INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL,
  CHECK ((token_id IS NULL) <> (issuer IS NULL)),
  CHECK ((issuer IS NULL) = (subject IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX sign_ins_ending ON sign_ins (expires_at);

-- Which groups of the operator's OpenID provider are what in a namespace.
CREATE TABLE group_roles (
  namespace   TEXT NOT NULL REFERENCES namespaces (name),
  group_name  TEXT NOT NULL,
  role        TEXT NOT NULL CHECK (role IN ('reader', 'publisher', 'admin')),
  PRIMARY KEY (namespace, group_name)
) STRICT, WITHOUT ROWID;

CREATE INDEX group_roles_by_group ON group_roles (group_name);

-- A member by group is one until then, unless the provider says it again; NULL: a member by invitation.
ALTER TABLE members ADD COLUMN via_group TEXT;
ALTER TABLE members ADD COLUMN until INTEGER;
CREATE INDEX members_by_group ON members (namespace, via_group) WHERE via_group IS NOT NULL;
CREATE INDEX members_ending ON members (until) WHERE until IS NOT NULL;

-- Whether they signed in as whom they say they are. Who accepted an invitation through the API said it themselves: it
-- is good for what is minted there, and puts nothing before the person of that name when they sign in.
ALTER TABLE members ADD COLUMN is_proven INTEGER NOT NULL DEFAULT 0 CHECK (is_proven IN (0, 1));

-- Whoever becomes a member again has to be asked again.
CREATE TRIGGER grants_end_with_their_membership AFTER DELETE ON members
BEGIN
  DELETE FROM oauth_records WHERE key IN (
    SELECT 'grant:' || user_id || ':' || id FROM grants
    WHERE issuer = OLD.issuer AND subject = OLD.subject AND namespace = OLD.namespace);
  UPDATE grants SET roles = json_remove(roles, '$."' || OLD.namespace || '"')
  WHERE issuer = OLD.issuer AND subject = OLD.subject AND roles IS NOT NULL;
END;

-- What a sign-in made, and what that made, which goes when it is withdrawn.
CREATE INDEX tokens_by_minter ON tokens (minted_by);
CREATE INDEX invitations_by_creator ON invitations (created_by) WHERE revoked_at IS NULL AND accepted_at IS NULL;
