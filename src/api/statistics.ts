import { Hono } from "hono";

import { defaultStatisticsDays, pickDays, readDays } from "../domain/limits.ts";
import { isSkillPath } from "../domain/names.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { echo, problem } from "../domain/problem.ts";
import { dayOf, formatDay } from "../domain/tally.ts";
import type { Era } from "../domain/tally.ts";
import type { Version } from "../domain/version.ts";
import type { AppEnv } from "../env.ts";
import { findSearches, listReads, listStale } from "../storage/statistics.ts";
import type { ReadPlace, ReadRange, ReadRow, StaleRow } from "../storage/statistics.ts";
import { requireCaller, requireOperator } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { readPage } from "./page.ts";
import { requireKnown } from "./query.ts";

/** What agents searched and read at a namespace, for its admins; at `/mcp` itself, for the operator. */
export const statisticsApi = new Hono<AppEnv>();

statisticsApi.get("/namespaces/:namespace/searches", async (context) => {
  const { namespace } = await requireCaller(context, "see-statistics");
  return answerSearches(context, namespace.name);
});

statisticsApi.get("/searches", async (context) => {
  await requireOperator(context);
  return answerSearches(context, "");
});

statisticsApi.get("/namespaces/:namespace/reads", async (context) => {
  const { namespace } = await requireCaller(context, "see-statistics");
  requireKnown(context, ["cursor", "path", "days"]);
  const { days, since } = readDaysAsked(context, readDays);
  const path = readPath(context);
  const range: ReadRange = { namespace: namespace.name, path, since };
  const [{ items, next }, stale] = await Promise.all([
    readPage<ReadRow>(context, {
      list: `reads:${namespace.name}:${path ?? ""}:${days}`,
      key: placeKey,
      load: (key, limit) =>
        listReads(context.env.DB, range, key === undefined ? undefined : readPlace(key, path), limit),
      keyOf: (row) => formatPlace(row, path),
    }),
    listStale(context.env.DB, range),
  ]);
  return context.json({
    days,
    since: formatDay(since),
    reads: items.map(formatRead),
    stale: stale.map(formatStale),
    next_cursor: next,
  });
});

async function answerSearches(context: ApiContext, namespace: Namespace | ""): Promise<Response> {
  requireKnown(context, ["days"]);
  const { days, since } = readDaysAsked(context, pickDays);
  return context.json({ days, since: formatDay(since), ...(await findSearches(context.env.DB, namespace, since)) });
}

/** How far back, today included; and the first of these days. */
function readDaysAsked(context: ApiContext, most: number): { days: number; since: number } {
  const text = readOnce(context, "days") ?? String(defaultStatisticsDays);
  const days = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : Number.NaN;
  if (!(days <= most)) {
    throw problem("invalid_request", `days must be a whole number from 1 to ${most}, not "${echo(text)}"`);
  }
  return { days, since: dayOf(Date.now()) - days + 1 };
}

function readPath(context: ApiContext): SkillPath | undefined {
  const text = readOnce(context, "path");
  if (text === undefined || isSkillPath(text)) return text;
  throw problem("invalid_request", `path must be the path of a skill like "billing/refunds", not "${echo(text)}"`);
}

function readOnce(context: ApiContext, name: string): string | undefined {
  const texts = context.req.queries(name) ?? [];
  if (texts.length > 1) throw problem("invalid_request", `${name} may be given once`);
  return texts[0];
}

/** A place in the list as lines; none of its parts holds a line break. Of one skill's list the path goes without saying. */
const placeKey = /^\d{1,6}\n[^\n]*\n[^\n]*\n[^\n]*\n[^\n]*\n20\d\d\n[01]$/;

function formatPlace(row: ReadPlace, asked: SkillPath | undefined): string {
  const path = asked === undefined ? row.path : "";
  return [row.day, path, row.version, row.client, row.client_version, row.era, row.was_current].join("\n");
}

function readPlace(key: string, asked: SkillPath | undefined): ReadPlace {
  const [day, path, version, client, clientVersion, era, isCurrent] = key.split("\n") as [string, ...string[]];
  return {
    day: Number(day),
    path: asked ?? (path as SkillPath),
    version: version as Version,
    client: client!,
    client_version: clientVersion!,
    era: era as Era,
    was_current: isCurrent === "1" ? 1 : 0,
  };
}

function formatRead(row: ReadRow) {
  return {
    path: row.path,
    version: row.version,
    day: formatDay(row.day),
    client: row.client,
    client_version: row.client_version,
    era: row.era,
    /** Whether it was the current release when it was read. */
    was_current: row.was_current === 1,
    reads: row.reads,
  };
}

function formatStale({ path, version, current, reads, last_day }: StaleRow) {
  return { path, version, current, reads, last_day: formatDay(last_day) };
}
