import { listedSql, readableSql, sightSql, surveyedSql } from "./viewer.ts";

/** The statements about companion servers. Those that look begin with the viewer's four parameters (viewer.ts). */

/**
 * True where the viewer sees the servers of namespace ?5: all of the namespace's people do, and where it is public
 * everybody. A token with a path and a read link to a collection see what strangers see. Lists have it in their LIMIT,
 * as `nothingSql` is, so that nobody has rows walked that they may not see.
 */
const openedSql = `((SELECT visibility FROM namespaces WHERE name = ?5 AND deleted_at IS NULL) = 'public'
  OR ((SELECT level FROM sight) = 2 AND (SELECT collection FROM viewer) IS NULL))`;

const serverColumns = `v.namespace, v.name, v.title, v.url, v.digest, v.snapshot, v.created_at, v.updated_at, v.updated_by,
  (SELECT count(*) FROM server_tools t WHERE t.namespace = v.namespace AND t.server = v.name) AS tools`;

/** ?5 the namespace, ?6 after, ?7 rows */
export const listServers = `
WITH ${sightSql}
SELECT ${serverColumns} FROM servers v
WHERE v.namespace = ?5 AND v.name > ?6
ORDER BY v.name LIMIT iif(${openedSql}, ?7, 0)`;

/** ?5 the namespace, ?6 the server */
export const findServer = `
WITH ${sightSql}
SELECT ${serverColumns} FROM servers v
WHERE v.namespace = ?5 AND v.name = ?6 AND ${openedSql}`;

/** ?5 the namespace, ?6 the server, ?7 the position behind which it goes on, ?8 rows */
export const listTools = `
WITH ${sightSql}
SELECT t.name, t.title, t.description, t.position FROM server_tools t
WHERE t.namespace = ?5 AND t.server = ?6 AND t.position > ?7
ORDER BY t.position LIMIT iif(${openedSql}, ?8, 0)`;

/** ?5 the namespace, ?6 the server, ?7 the tool */
export const findTool = `
WITH ${sightSql}
SELECT t.definition FROM server_tools t
WHERE t.namespace = ?5 AND t.server = ?6 AND t.name = ?7 AND ${openedSql}`;

/**
 * Which skills name tools of server ?6 in their current releases, as far as lists show the skills to the viewer; ?8
 * rows. ?7 JSON array: those tools only. NULL: the tools that the server does not list.
 */
export const listUses = `
WITH ${sightSql}
SELECT r.tool, s.path, r.version FROM release_tools r
CROSS JOIN skills s ON s.namespace = r.namespace AND s.path = r.path AND s.current = r.version
WHERE r.namespace = ?5 AND r.server = ?6 AND s.deleted_at IS NULL
  AND CASE WHEN ?7 IS NULL
    THEN NOT EXISTS (SELECT 1 FROM server_tools t WHERE t.namespace = ?5 AND t.server = ?6 AND t.name = r.tool)
    ELSE r.tool IN (SELECT value FROM json_each(?7)) END
  AND (${surveyedSql} OR ${listedSql})
ORDER BY r.tool, s.path LIMIT iif(${openedSql}, ?8, 0)`;

const ofRelease = `FROM release_tools r
CROSS JOIN skills s ON s.namespace = r.namespace AND s.path = r.path AND s.deleted_at IS NULL
LEFT JOIN servers v ON v.namespace = r.namespace AND v.name = r.server
LEFT JOIN server_tools t ON t.namespace = r.namespace AND t.server = r.server AND t.name = r.tool
WHERE r.namespace = ?5 AND r.path = ?6 AND r.version = ?7 AND ${readableSql}`;

/** ?5 to ?7 a release. Who may read it may know what it drives, whoever sees the server otherwise. */
export const findToolCards = `
WITH ${sightSql}
SELECT r.server, r.tool, coalesce(t.title, '') AS title, coalesce(t.description, '') AS description, v.url,
  t.id IS NOT NULL AS is_listed
${ofRelease}
ORDER BY r.position`;

/** ?5 to ?7 a release, ?8 the server, ?9 the tool, which has to be listed */
export const findToolDefinition = `
WITH ${sightSql}
SELECT r.server, r.tool, coalesce(t.title, '') AS title, v.url, t.definition
${ofRelease} AND r.server = ?8 AND r.tool = ?9 AND t.id IS NOT NULL`;

// Below, ?1 is the namespace and ?2 the server.

/** Only for those who may register it. */
export const listDefinitions = `
SELECT definition FROM server_tools WHERE namespace = ?1 AND server = ?2 ORDER BY position`;

/** ?3 the snapshot that was looked at, 0 for none */
export const refuseMoved = `
INSERT INTO guards (server_moved) SELECT 1
WHERE coalesce((SELECT snapshot FROM servers WHERE namespace = ?1 AND name = ?2), 0) <> ?3`;

/** ?3 title, ?4 url, ?5 digest, ?6 now, ?7 who */
export const putServer = `
INSERT INTO servers (namespace, name, title, url, digest, snapshot, created_at, updated_at, updated_by)
VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?6, ?7)
ON CONFLICT (namespace, name) DO UPDATE SET title = excluded.title, url = excluded.url, digest = excluded.digest,
  snapshot = snapshot + 1, updated_at = excluded.updated_at, updated_by = excluded.updated_by`;

/** ?3 JSON array of the names that stay */
export const dropTools = `
DELETE FROM server_tools WHERE namespace = ?1 AND server = ?2 AND name NOT IN (SELECT value FROM json_each(?3))`;

/**
 * ?3 JSON array of [name, title, description, definition, terms], for tools that are new or changed, ?4 the version of
 * the index. Tools that stay as they are keep their rows, since each row that changes is indexed anew.
 */
export const putTools = `
INSERT INTO server_tools (namespace, server, name, position, title, description, definition, terms, indexed)
SELECT ?1, ?2, value ->> 0, 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, ?4
FROM json_each(?3) WHERE true
ON CONFLICT (namespace, server, name) DO UPDATE SET title = excluded.title, description = excluded.description,
  definition = excluded.definition, terms = excluded.terms, indexed = excluded.indexed`;

/** ?3 JSON array of all names in their order */
export const orderTools = `
UPDATE server_tools SET position = j.key + 1 FROM json_each(?3) j
WHERE namespace = ?1 AND server = ?2 AND name = j.value AND position <> j.key + 1`;

/** ?3 the server, for a guard (caps.ts) */
export const isThere = `EXISTS (SELECT 1 FROM servers WHERE namespace = ?1 AND name = ?3)`;

export const deleteServer = [
  `DELETE FROM server_tools WHERE namespace = ?1 AND server = ?2`,
  `DELETE FROM servers WHERE namespace = ?1 AND name = ?2`,
];

/** For the audit log. ?9 the server. */
export const serverBefore = `
SELECT json_object('title', title, 'url', url, 'tools',
  (SELECT count(*) FROM server_tools t WHERE t.namespace = ?1 AND t.server = ?9), 'digest', digest, 'snapshot', snapshot)
FROM servers WHERE namespace = ?1 AND name = ?9`;

/** ?1 the namespace, ?2 JSON array of {server, tool}: what a publish names, and what of it there is. */
export const lookUpTools = `
SELECT w.key AS place, v.name IS NOT NULL AS is_registered, t.id IS NOT NULL AS is_listed FROM json_each(?2) w
LEFT JOIN servers v ON v.namespace = ?1 AND v.name = w.value ->> 'server'
LEFT JOIN server_tools t ON t.namespace = ?1 AND t.server = w.value ->> 'server' AND t.name = w.value ->> 'tool'`;

/** ?1 the namespace, ?2 JSON array of servers */
export const listToolNames = `
SELECT server, name FROM server_tools WHERE namespace = ?1 AND server IN (SELECT value FROM json_each(?2))`;
