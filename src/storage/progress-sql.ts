import { viewerSql, wholeNamespaces } from "./viewer.ts";

export interface ProgressRow {
  public_revision: number;
  revision: number;
}

/**
 * ?5 namespace or NULL for the whole registry: how far the address has come, as strangers count and as insiders do (at
 * the root, and at a collection of others that holds skills of theirs, by their own namespaces). Who is held to a path
 * counts like a stranger: the count of the whole would tell of what lies beside the path.
 */
export const findProgress = `
WITH ${viewerSql}
SELECT
  CASE
    WHEN ?5 IS NULL THEN (SELECT public_revision FROM registry)
    WHEN ?3 IS NULL THEN (SELECT public_revision FROM namespaces WHERE name = ?5)
    ELSE (SELECT public_revision FROM collections WHERE namespace = ?5 AND name = ?3) END AS public_revision,
  coalesce(CASE
    WHEN v.below <> '' THEN 0
    WHEN ?5 IS NULL THEN (SELECT sum(told_revision) FROM namespaces WHERE name IN ${wholeNamespaces})
    WHEN ?3 IS NULL THEN (SELECT told_revision FROM namespaces WHERE name = ?5 AND (v.everything OR ?5 IN ${wholeNamespaces}))
    WHEN v.everything OR ?5 IN ${wholeNamespaces} THEN
      (SELECT revision FROM collections WHERE namespace = ?5 AND name = ?3)
    ELSE (SELECT told_revision FROM namespaces WHERE name = v.namespace AND EXISTS (
      SELECT 1 FROM collection_items WHERE namespace = ?5 AND collection = ?3 AND skill_namespace = v.namespace))
  END, 0) AS revision
FROM viewer v`;
