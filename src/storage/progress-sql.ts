import { viewerSql } from "./viewer.ts";

export interface ProgressRow {
  public_revision: number;
  revision: number;
}

/**
 * ?5 namespace or NULL for the whole registry: how far the address has come, as strangers count and, for those with
 * rights in its namespace (at the root: in their own), as insiders do.
 */
export const findProgress = `
WITH ${viewerSql}
SELECT
  CASE
    WHEN ?5 IS NULL THEN (SELECT public_revision FROM registry)
    WHEN ?3 IS NULL THEN (SELECT public_revision FROM namespaces WHERE name = ?5)
    ELSE (SELECT public_revision FROM collections WHERE namespace = ?5 AND name = ?3) END AS public_revision,
  coalesce(CASE
    WHEN ?5 IS NULL THEN (SELECT revision FROM namespaces WHERE name = v.namespace)
    WHEN NOT v.everything AND v.namespace IS NOT ?5 THEN 0
    WHEN ?3 IS NULL THEN (SELECT revision FROM namespaces WHERE name = ?5)
    ELSE (SELECT revision FROM collections WHERE namespace = ?5 AND name = ?3) END, 0) AS revision
FROM viewer v`;
