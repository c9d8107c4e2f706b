-- Who may do what: people, finer tokens, read links, collections, quotas, and a record of every change.

-- What a namespace says of itself. default_visibility is what a new skill gets when a publish names none; NULL: the
-- namespace's own visibility.
ALTER TABLE namespaces ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE namespaces ADD COLUMN default_visibility TEXT
  CHECK (default_visibility IN ('public', 'unlisted', 'private'));
ALTER TABLE namespaces ADD COLUMN created_by TEXT NOT NULL DEFAULT 'operator';

-- A deleted namespace is unknown at once; its rows go bit by bit (purged_at: all gone), and nobody can take the name
-- for 30 days.
ALTER TABLE namespaces ADD COLUMN deleted_at INTEGER;
ALTER TABLE namespaces ADD COLUMN purged_at INTEGER;
CREATE INDEX namespaces_to_purge ON namespaces (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

-- Names that a reader takes for each other have one skeleton.
ALTER TABLE namespaces ADD COLUMN skeleton TEXT GENERATED ALWAYS AS (
  replace(replace(replace(replace(name, '-', ''), '0', 'o'), '1', 'l'), 'i', 'l')) VIRTUAL;
CREATE INDEX namespaces_by_skeleton ON namespaces (skeleton);

-- What a stranger's list reads, and what a creator's limit counts.
CREATE INDEX namespaces_public ON namespaces (name) WHERE visibility = 'public' AND deleted_at IS NULL;
CREATE INDEX namespaces_by_creator ON namespaces (created_by) WHERE created_by <> 'operator';

-- Quotas (NULL: the deployment's default) and what is used of them. The triggers below keep the counts, so that no
-- statement can forget to. publish_count counts the releases of the UTC day publish_day (days since 1970); what began
-- before midnight and is written after it counts for the new day, which it does not make the old one again.
ALTER TABLE namespaces ADD COLUMN max_skills INTEGER;
ALTER TABLE namespaces ADD COLUMN max_bytes INTEGER;
ALTER TABLE namespaces ADD COLUMN max_publishes_per_day INTEGER;
ALTER TABLE namespaces ADD COLUMN skill_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN publish_day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN publish_count INTEGER NOT NULL DEFAULT 0;

UPDATE namespaces SET
  skill_count = (SELECT count(*) FROM skills s WHERE s.namespace = namespaces.name AND s.deleted_at IS NULL),
  stored_bytes = (SELECT coalesce(sum(r.total_bytes), 0) FROM releases r WHERE r.namespace = namespaces.name);

CREATE TRIGGER skills_count_new AFTER INSERT ON skills WHEN NEW.deleted_at IS NULL
BEGIN
  UPDATE namespaces SET skill_count = skill_count + 1 WHERE name = NEW.namespace;
END;

CREATE TRIGGER skills_count_changed AFTER UPDATE OF deleted_at ON skills
WHEN (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL)
BEGIN
  UPDATE namespaces SET skill_count = skill_count + iif(NEW.deleted_at IS NULL, 1, -1) WHERE name = NEW.namespace;
END;

CREATE TRIGGER releases_count_new AFTER INSERT ON releases
BEGIN
  UPDATE namespaces SET
    stored_bytes = stored_bytes + NEW.total_bytes,
    publish_count = iif(publish_day >= NEW.published_at / 86400000, publish_count + 1, 1),
    publish_day = max(publish_day, NEW.published_at / 86400000)
  WHERE name = NEW.namespace;
END;

CREATE TRIGGER releases_count_gone AFTER DELETE ON releases
BEGIN
  UPDATE namespaces SET stored_bytes = stored_bytes - OLD.total_bytes WHERE name = OLD.namespace;
END;

-- A token may have finer scopes than its role (a JSON array; NULL: those of the role) and may be held to the skills
-- below a path ('' or a path with its closing slash). A read link is a reader's token whose secret is part of an
-- address; with a collection it opens that collection only.
ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'token' CHECK (kind IN ('token', 'link'));
ALTER TABLE tokens ADD COLUMN scopes TEXT CHECK (scopes IS NULL OR json_valid(scopes));
ALTER TABLE tokens ADD COLUMN below TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN collection TEXT;
ALTER TABLE tokens ADD COLUMN last_used_at INTEGER;
ALTER TABLE tokens ADD COLUMN minted_by TEXT NOT NULL DEFAULT 'operator';
-- The member on whose behalf it was minted, directly or by a token of theirs; both NULL: nobody's.
ALTER TABLE tokens ADD COLUMN issuer TEXT;
ALTER TABLE tokens ADD COLUMN subject TEXT;
-- The token that took its place.
ALTER TABLE tokens ADD COLUMN rotated_to TEXT;
CREATE INDEX tokens_by_kind ON tokens (namespace, kind, created_at, id);
-- What the cap on them counts, however many have ended.
CREATE INDEX tokens_living ON tokens (namespace, kind, expires_at) WHERE revoked_at IS NULL;
CREATE INDEX tokens_by_member ON tokens (namespace, issuer, subject) WHERE issuer IS NOT NULL;

-- People: who an OpenID issuer says they are, and what they may do in a namespace.
CREATE TABLE members (
  id         TEXT NOT NULL PRIMARY KEY,
  namespace  TEXT NOT NULL REFERENCES namespaces (name),
  issuer     TEXT NOT NULL,
  subject    TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('reader', 'publisher', 'admin')),
  added_at   INTEGER NOT NULL,
  added_by   TEXT NOT NULL,
  UNIQUE (namespace, issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX members_in_order ON members (namespace, added_at, id);
CREATE INDEX members_by_person ON members (issuer, subject);

-- A link that makes whoever accepts it a member, once.
CREATE TABLE invitations (
  id           TEXT NOT NULL PRIMARY KEY,
  namespace    TEXT NOT NULL REFERENCES namespaces (name),
  role         TEXT NOT NULL CHECK (role IN ('reader', 'publisher', 'admin')),
  label        TEXT NOT NULL,
  secret_hash  TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  created_by   TEXT NOT NULL,
  -- The member who invited, so that their removal ends what they left open.
  issuer       TEXT,
  subject      TEXT,
  expires_at   INTEGER NOT NULL,
  revoked_at   INTEGER,
  accepted_at  INTEGER,
  member_id    TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX invitations_in_order ON invitations (namespace, created_at, id);
CREATE INDEX invitations_open ON invitations (namespace, expires_at) WHERE revoked_at IS NULL AND accepted_at IS NULL;

-- A curated list with an address. Its items are the present edition, taken apart; is_all: every listed skill of its
-- namespace instead. revision and stamp as for namespaces.
CREATE TABLE collections (
  namespace     TEXT NOT NULL REFERENCES namespaces (name),
  name          TEXT NOT NULL,
  title         TEXT NOT NULL,
  instructions  TEXT NOT NULL,
  visibility    TEXT NOT NULL CHECK (visibility IN ('public', 'private')),
  is_all        INTEGER NOT NULL CHECK (is_all IN (0, 1)),
  edition       INTEGER NOT NULL,
  revision      INTEGER NOT NULL,
  stamp         TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

-- version NULL: follows current.
CREATE TABLE collection_items (
  namespace        TEXT NOT NULL,
  collection       TEXT NOT NULL,
  position         INTEGER NOT NULL,
  skill_namespace  TEXT NOT NULL,
  skill_path       TEXT NOT NULL,
  version          TEXT,
  PRIMARY KEY (namespace, collection, position),
  UNIQUE (namespace, collection, skill_namespace, skill_path),
  FOREIGN KEY (namespace, collection) REFERENCES collections (namespace, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX collection_items_by_skill ON collection_items (skill_namespace, skill_path);

-- The newest states that a collection was in, as the JSON that was put, and its SHA-256 for the audit log.
CREATE TABLE collection_editions (
  namespace   TEXT NOT NULL,
  collection  TEXT NOT NULL,
  edition     INTEGER NOT NULL,
  content     TEXT NOT NULL CHECK (json_valid(content)),
  digest      TEXT NOT NULL,
  made_at     INTEGER NOT NULL,
  made_by     TEXT NOT NULL,
  PRIMARY KEY (namespace, collection, edition)
) STRICT, WITHOUT ROWID;

-- Collections drop a deleted skill, and do not find it again when another is published under its path.
CREATE TRIGGER collections_drop_deleted AFTER UPDATE OF deleted_at ON skills
WHEN NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL
BEGIN
  UPDATE collections SET revision = revision + 1, stamp = lower(hex(randomblob(8))) WHERE (namespace, name) IN (
    SELECT namespace, collection FROM collection_items
    WHERE skill_namespace = NEW.namespace AND skill_path = NEW.path);
  DELETE FROM collection_items WHERE skill_namespace = NEW.namespace AND skill_path = NEW.path;
END;

-- Who changed what, when, from where. before and after are JSON; neither ever holds a secret. A namespace counts its
-- own lines (seq): from the numbers of all it could tell how busy the others are.
CREATE TABLE audit (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace  TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  principal  TEXT NOT NULL,
  action     TEXT NOT NULL,
  target     TEXT NOT NULL,
  address    TEXT NOT NULL,
  agent      TEXT NOT NULL,
  before     TEXT CHECK (before IS NULL OR json_valid(before)),
  after      TEXT CHECK (after IS NULL OR json_valid(after)),
  UNIQUE (namespace, seq)
) STRICT;

CREATE INDEX audit_by_action ON audit (namespace, action, seq);

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN
  SELECT RAISE(ABORT, 'audit_append_only');
END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN
  SELECT RAISE(ABORT, 'audit_append_only');
END;

-- REPLACE deletes without telling the trigger above. (A row that brings no id has -1 here.)
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
  OR EXISTS (SELECT 1 FROM audit WHERE namespace = NEW.namespace AND seq = NEW.seq)
BEGIN
  SELECT RAISE(ABORT, 'audit_append_only');
END;

ALTER TABLE guards ADD COLUMN namespace_gone INTEGER CONSTRAINT namespace_gone CHECK (namespace_gone IS NULL);
ALTER TABLE guards ADD COLUMN quota_skills INTEGER CONSTRAINT quota_skills CHECK (quota_skills IS NULL);
ALTER TABLE guards ADD COLUMN quota_bytes INTEGER CONSTRAINT quota_bytes CHECK (quota_bytes IS NULL);
ALTER TABLE guards ADD COLUMN quota_publishes INTEGER CONSTRAINT quota_publishes CHECK (quota_publishes IS NULL);
ALTER TABLE guards ADD COLUMN last_admin INTEGER CONSTRAINT last_admin CHECK (last_admin IS NULL);
ALTER TABLE guards ADD COLUMN member_exists INTEGER CONSTRAINT member_exists CHECK (member_exists IS NULL);
ALTER TABLE guards ADD COLUMN invitation_dead INTEGER CONSTRAINT invitation_dead CHECK (invitation_dead IS NULL);
ALTER TABLE guards ADD COLUMN edition_moved INTEGER CONSTRAINT edition_moved CHECK (edition_moved IS NULL);
ALTER TABLE guards ADD COLUMN namespace_exists INTEGER CONSTRAINT namespace_exists CHECK (namespace_exists IS NULL);
ALTER TABLE guards ADD COLUMN namespace_similar INTEGER CONSTRAINT namespace_similar CHECK (namespace_similar IS NULL);
ALTER TABLE guards ADD COLUMN namespaces_many INTEGER CONSTRAINT namespaces_many CHECK (namespaces_many IS NULL);
ALTER TABLE guards ADD COLUMN tokens_many INTEGER CONSTRAINT tokens_many CHECK (tokens_many IS NULL);
ALTER TABLE guards ADD COLUMN links_many INTEGER CONSTRAINT links_many CHECK (links_many IS NULL);
ALTER TABLE guards ADD COLUMN invitations_many INTEGER CONSTRAINT invitations_many CHECK (invitations_many IS NULL);
ALTER TABLE guards ADD COLUMN collections_many INTEGER CONSTRAINT collections_many CHECK (collections_many IS NULL);
ALTER TABLE guards ADD COLUMN members_many INTEGER CONSTRAINT members_many CHECK (members_many IS NULL);
ALTER TABLE guards ADD COLUMN target_gone INTEGER CONSTRAINT target_gone CHECK (target_gone IS NULL);
ALTER TABLE guards ADD COLUMN collection_gone INTEGER CONSTRAINT collection_gone CHECK (collection_gone IS NULL);
