import type { Namespace, SkillPath } from "../domain/names.ts";
import type { SkillVisibility } from "../domain/policy.ts";
import type { Version } from "../domain/version.ts";
import { releaseColumns } from "./catalog-sql.ts";
import type { ReleaseRow } from "./catalog-sql.ts";
import { quotaStatement, readQuotas } from "./quotas.ts";
import type { Quotas, QuotaState } from "./quotas.ts";

/** What a publish must know before it decides, for all skills of an upload in one read. */
export type KnownRelease = ReleaseRow;

export interface SkillState {
  /** Undefined for a path that was never published, or whose skill was deleted. */
  skill: { visibility: SkillVisibility; current: Version | null } | undefined;
  current: KnownRelease | undefined;
  requested: KnownRelease | undefined;
  /** The one published last, whether or not it became current. */
  newest: KnownRelease | undefined;
  /** The requested version belonged to a release that was deleted. */
  isSpent: boolean;
  /** The highest full version of current's major.minor line, or of all releases when current is none or a pre-release. */
  highest: Version | undefined;
  /** A skill above or below this path, which must not exist. */
  conflict: SkillPath | undefined;
}

export interface Wanted {
  path: SkillPath;
  version: Version | undefined;
}

/** What is known of the skills, in the order in which they were wanted, and what their namespace may still hold. */
export interface PublishState {
  skills: SkillState[];
  quotas: QuotaState;
}

export async function findStates(
  db: D1Database,
  namespace: Namespace,
  { wanted, defaults, now }: { wanted: readonly Wanted[]; defaults: Quotas; now: number },
): Promise<PublishState> {
  const asked = JSON.stringify(
    wanted.map(({ path, version }) => ({ path, version: version ?? null, above: ancestorsOf(path) })),
  );
  const statements = [findSkills, findReleases, findSpent, findHighest, findConflicts];
  const [quotas, ...answers] = await db.batch([
    quotaStatement(db, namespace, now),
    ...statements.map((statement) => db.prepare(statement).bind(namespace, asked)),
  ]);
  return { skills: readStates(wanted, answers), quotas: readQuotas(quotas!, defaults, now) };
}

function readStates(wanted: readonly Wanted[], answers: readonly D1Result<unknown>[]): SkillState[] {
  const [skills, releases, spent, highest, conflicts] = answers.map((answer) => byPath(answer.results));
  return wanted.map(({ path, version }) => {
    const skill = skills!.get(path)?.[0] as unknown as SkillState["skill"];
    const known = (releases!.get(path) ?? []) as unknown as KnownRelease[];
    return {
      skill,
      current: known.find((release) => release.version === skill?.current),
      requested: known.find((release) => release.version === version),
      newest: known.toSorted((a, b) => a.id - b.id).at(-1),
      isSpent: spent!.has(path),
      highest: highest!.get(path)?.[0]?.["version"] as Version | undefined,
      conflict: conflicts!.get(path)?.[0]?.["conflict"] as SkillPath | undefined,
    };
  });
}

export function ancestorsOf(path: SkillPath): string[] {
  const segments = path.split("/");
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join("/"));
}

type Row = Record<string, unknown> & { path: string };

function byPath(rows: unknown[]): Map<string, Row[]> {
  const grouped = new Map<string, Row[]>();
  for (const row of rows as Row[]) {
    const known = grouped.get(row.path);
    if (known === undefined) grouped.set(row.path, [row]);
    else known.push(row);
  }
  return grouped;
}

// ?1 namespace, ?2 JSON of {path, version, above}.

const wantedSql = `wanted AS (
  SELECT value ->> 'path' AS path, value ->> 'version' AS version, value -> 'above' AS above FROM json_each(?2)
)`;

const findSkills = `
WITH ${wantedSql}
SELECT s.path, s.visibility, s.current FROM wanted w
CROSS JOIN skills s ON s.namespace = ?1 AND s.path = w.path WHERE s.deleted_at IS NULL`;

const findReleases = `
WITH ${wantedSql}
SELECT ${releaseColumns} FROM wanted w
CROSS JOIN skills s ON s.namespace = ?1 AND s.path = w.path
CROSS JOIN releases r ON r.namespace = ?1 AND r.path = w.path AND (
  r.version IN (s.current, w.version)
  OR r.id = (SELECT max(id) FROM releases n WHERE n.namespace = ?1 AND n.path = w.path))
CROSS JOIN blobs z ON z.digest = r.zip_digest
CROSS JOIN blobs t ON t.digest = r.tar_digest`;

const findSpent = `
WITH ${wantedSql}
SELECT v.path FROM wanted w
CROSS JOIN spent_versions v ON v.namespace = ?1 AND v.path = w.path AND v.version = w.version`;

// Versions that were used, in the line of current where that is a full version, else anywhere.
const findHighest = `
WITH ${wantedSql},
used AS (
  SELECT w.path, r.version, r.major, r.minor, r.patch FROM wanted w
  CROSS JOIN releases r ON r.namespace = ?1 AND r.path = w.path WHERE r.pre = ''
  UNION ALL
  SELECT w.path, v.version, v.major, v.minor, v.patch FROM wanted w
  CROSS JOIN spent_versions v ON v.namespace = ?1 AND v.path = w.path WHERE v.pre = ''
),
line AS (
  SELECT w.path, r.major, r.minor FROM wanted w
  CROSS JOIN skills s ON s.namespace = ?1 AND s.path = w.path
  CROSS JOIN releases r ON r.namespace = ?1 AND r.path = s.path AND r.version = s.current WHERE r.pre = ''
)
SELECT path, version FROM (
  SELECT u.path, u.version, row_number() OVER (PARTITION BY u.path ORDER BY u.major DESC, u.minor DESC, u.patch DESC) AS place
  FROM used u LEFT JOIN line l ON l.path = u.path
  WHERE l.path IS NULL OR (u.major = l.major AND u.minor = l.minor)
) WHERE place = 1`;

// '0' follows '/' in order, so the range holds exactly the paths below.
export const findConflicts = `
WITH ${wantedSql}
SELECT w.path, s.path AS conflict FROM wanted w
CROSS JOIN json_each(w.above) a
CROSS JOIN skills s ON s.namespace = ?1 AND s.path = a.value WHERE s.deleted_at IS NULL
UNION ALL
SELECT w.path, (
  SELECT s.path FROM skills s
  WHERE s.namespace = ?1 AND s.path > w.path || '/' AND s.path < w.path || '0' AND s.deleted_at IS NULL LIMIT 1
) AS conflict FROM wanted w WHERE conflict IS NOT NULL`;
