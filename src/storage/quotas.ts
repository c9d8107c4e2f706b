import { defaultQuotaBytes, defaultQuotaPublishesADay, defaultQuotaSkills } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { lostRights, record, refuseLostRights } from "./rights.ts";
import type { Actor } from "./rights.ts";

/**
 * How much a namespace may hold and publish. What is used is counted by triggers of the database, so that no statement
 * can forget to; the batch of a publish compares it with the limit once more, so that two publishes never share the
 * last place. Only what adds releases is held: yanking, hiding and deleting stay possible above any quota.
 */
export interface Quotas {
  skills: number;
  /** Of the files of all releases; what several releases share counts for each. */
  bytes: number;
  publishesADay: number;
}

export const defaultQuotas: Quotas = {
  skills: defaultQuotaSkills,
  bytes: defaultQuotaBytes,
  publishesADay: defaultQuotaPublishesADay,
};

/** As the operator set them; null: the deployment's default. */
export type OwnQuotas = { [Name in keyof Quotas]: number | null };

export interface QuotaState {
  own: OwnQuotas;
  limits: Quotas;
  used: Quotas;
  dayEndsAt: number;
}

const dayMs = 86_400_000;

interface Row {
  max_skills: number | null;
  max_bytes: number | null;
  max_publishes_per_day: number | null;
  skill_count: number;
  stored_bytes: number;
  published_today: number;
}

export function quotaStatement(db: D1Database, namespace: Namespace, now: number): D1PreparedStatement {
  return db.prepare(findQuotas).bind(namespace, dayOf(now));
}

/** Of a namespace that is not there any more nothing is held, and nothing can be published into it either. */
export function readQuotas(result: D1Result<unknown>, defaults: Quotas, now: number): QuotaState {
  const row = (result.results[0] ?? {}) as Partial<Row>;
  const own = {
    skills: row.max_skills ?? null,
    bytes: row.max_bytes ?? null,
    publishesADay: row.max_publishes_per_day ?? null,
  };
  return {
    own,
    limits: {
      skills: own.skills ?? defaults.skills,
      bytes: own.bytes ?? defaults.bytes,
      publishesADay: own.publishesADay ?? defaults.publishesADay,
    },
    used: { skills: row.skill_count ?? 0, bytes: row.stored_bytes ?? 0, publishesADay: row.published_today ?? 0 },
    dayEndsAt: (dayOf(now) + 1) * dayMs,
  };
}

/**
 * What a publish adds, against what is left. `skills` counts those that are new, or were deleted.
 * @throws Problem `quota_exceeded`, naming every quota that is too small, its numbers, and who raises it
 */
export function refuseOverQuota(
  { limits, used, dayEndsAt }: QuotaState,
  adds: Quotas,
  { namespace, now }: { namespace: Namespace; now: number },
): void {
  if (adds.publishesADay === 0) return;
  const exceeded = names.filter((name) => adds[name] > 0 && used[name] + adds[name] > limits[name]);
  if (exceeded.length === 0) return;
  const remarks = exceeded.map(
    (name) =>
      `the namespace may have ${whole(limits[name])} ${nouns[name]}, has ${whole(used[name])}, ` +
      `and this would add ${whole(adds[name])}`,
  );
  const waits = exceeded.length === 1 && exceeded[0] === "publishesADay";
  const wait = waits ? `The day ends at ${new Date(dayEndsAt).toISOString()}. ` : "";
  throw problem(
    "quota_exceeded",
    `${capital(remarks.join("; "))}. ${wait}The operator raises it with PUT /api/v1/namespaces/${namespace}/quotas`,
    waits ? { headers: { "retry-after": String(Math.ceil((dayEndsAt - now) / 1_000)) } } : {},
  );
}

/** Goes before the releases of a batch; `adds` are those of the whole batch. */
export function guardQuotas(
  db: D1Database,
  actor: Actor,
  { defaults, releases }: { defaults: Quotas; releases: readonly { path: string; bytes: number }[] },
): D1PreparedStatement {
  const { skills, bytes, publishesADay } = defaults;
  return db
    .prepare(refuseOver)
    .bind(actor.namespace, dayOf(actor.now), skills, bytes, publishesADay, JSON.stringify(releases));
}

export async function findQuotaState(
  db: D1Database,
  namespace: Namespace,
  { defaults, now }: { defaults: Quotas; now: number },
): Promise<QuotaState> {
  return readQuotas(await quotaStatement(db, namespace, now).all(), defaults, now);
}

/** @throws Problem `not_found` when the namespace was deleted meanwhile */
export async function setQuotas(db: D1Database, actor: Actor, own: OwnQuotas): Promise<void> {
  try {
    await db.batch([
      ...refuseLostRights(db, actor),
      record(db, actor, { action: "set-quotas", target: "quotas", beforeSql: stateOfQuotas, after: jsonOf(own) }),
      db.prepare(writeQuotas).bind(actor.namespace, own.skills, own.bytes, own.publishesADay),
    ]);
  } catch (error) {
    throw lostRights(error) ?? error;
  }
}

function jsonOf({ skills, bytes, publishesADay }: OwnQuotas) {
  return { skills, bytes, publishes_a_day: publishesADay };
}

const names = ["skills", "bytes", "publishesADay"] as const;
const nouns = { skills: "skills", bytes: "bytes of releases", publishesADay: "releases a day (UTC)" } as const;

/** Days since 1970, as the column publish_day. */
function dayOf(now: number): number {
  return Math.floor(now / dayMs);
}

function whole(count: number): string {
  return count.toLocaleString("en");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// ?1 namespace, ?2 the day. A publish that began before midnight and ends after it counts for the new day.

const publishedToday = `iif(publish_day >= ?2, publish_count, 0)`;

const findQuotas = `
SELECT max_skills, max_bytes, max_publishes_per_day, skill_count, stored_bytes, ${publishedToday} AS published_today
FROM namespaces WHERE name = ?1`;

const stateOfQuotas = `
SELECT json_object('skills', max_skills, 'bytes', max_bytes, 'publishes_a_day', max_publishes_per_day)
FROM namespaces WHERE name = ?1`;

const writeQuotas = `
UPDATE namespaces SET max_skills = ?2, max_bytes = ?3, max_publishes_per_day = ?4 WHERE name = ?1`;

// ?3 to ?5 the defaults, ?6 JSON array of {path, bytes}. Skills that are there already take no further place.
const refuseOver = `
WITH adds (skills, bytes, releases) AS (
  SELECT
    count(*) FILTER (WHERE s.path IS NULL),
    sum(value ->> 'bytes'),
    count(*)
  FROM json_each(?6)
  LEFT JOIN skills s ON s.namespace = ?1 AND s.path = value ->> 'path' AND s.deleted_at IS NULL
),
over (skills, bytes, releases) AS (
  SELECT
    iif(a.skills > 0 AND skill_count + a.skills > coalesce(max_skills, ?3), 1, NULL),
    iif(a.bytes > 0 AND stored_bytes + a.bytes > coalesce(max_bytes, ?4), 1, NULL),
    iif(${publishedToday} + a.releases > coalesce(max_publishes_per_day, ?5), 1, NULL)
  FROM namespaces, adds a WHERE name = ?1
)
INSERT INTO guards (quota_skills, quota_bytes, quota_publishes)
SELECT skills, bytes, releases FROM over WHERE coalesce(skills, bytes, releases) IS NOT NULL`;
