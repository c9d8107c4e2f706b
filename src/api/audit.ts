import { Hono } from "hono";

import { auditExportLines } from "../domain/limits.ts";
import { isNamespace } from "../domain/names.ts";
import type { Namespace } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { withoutSecrets } from "../domain/redact.ts";
import type { AppEnv } from "../env.ts";
import { listAudit, readAudit } from "../storage/audit.ts";
import type { AuditFilter, AuditRow } from "../storage/audit.ts";
import type { Actor } from "../storage/rights.ts";
import { requireCaller, requireOperator } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { readPage } from "./page.ts";
import { requireKnown } from "./query.ts";
import { formatTime } from "./shapes.ts";

/** The record of every change: who, when, from where, and what it was before. */
export const auditApi = new Hono<AppEnv>();

auditApi.get("/namespaces/:namespace/audit", async (context) => {
  const { namespace } = await requireCaller(context, "read-audit");
  return answerAudit(context, namespace.name, true);
});

/** All of it, oldest first, one JSON object a line. Read as fast as the client takes it, a page in memory at a time. */
auditApi.get("/namespaces/:namespace/audit.jsonl", async (context) => {
  const { actor, namespace } = await requireCaller(context, "read-audit");
  requireKnown(context, []);
  return new Response(linesOf(context.env.DB, actor), {
    headers: {
      "content-type": "application/x-ndjson",
      "content-disposition": `attachment; filename="${namespace.name}-audit.jsonl"`,
    },
  });
});

/** Of all namespaces, also of those that are gone; for the operator. */
auditApi.get("/audit", async (context) => {
  await requireOperator(context);
  const namespace = context.req.query("namespace");
  if (namespace !== undefined && !isNamespace(namespace)) {
    throw problem("invalid_namespace", `"${namespace}" is no name of a namespace`);
  }
  return answerAudit(context, namespace, false);
});

async function answerAudit(
  context: ApiContext,
  namespace: Namespace | undefined,
  sinceCreated: boolean,
): Promise<Response> {
  requireKnown(context, sinceCreated ? filters : [...filters, "namespace"]);
  const filter = readFilter(context);
  const { items, next } = await readPage<AuditRow>(context, {
    list: `audit:${JSON.stringify([sinceCreated, namespace, filter.action, filter.before, filter.after])}`,
    key: /^\d{1,15}$/,
    load: (key, limit) => {
      const before = key === undefined ? Number.MAX_SAFE_INTEGER : Number(key);
      return listAudit(context.env.DB, { namespace, filter, sinceCreated }, before, limit);
    },
    keyOf: (row) => String(row.id),
  });
  return context.json({ events: items.map(formatEvent), next_cursor: next });
}

function linesOf(db: D1Database, actor: Actor): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let last = 0;
  return new ReadableStream(
    {
      pull: async (controller) => {
        const rows = await readAudit(db, actor, last, auditExportLines);
        last = rows.at(-1)?.id ?? last;
        const lines = rows.map((row) => `${JSON.stringify(formatEvent(row))}\n`).join("");
        if (lines !== "") controller.enqueue(encoder.encode(lines));
        if (rows.length < auditExportLines) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

const filters = ["cursor", "action", "before", "after"];

function readFilter(context: ApiContext): AuditFilter {
  const action = context.req.query("action");
  if (action !== undefined && !/^[a-z]+(?:-[a-z]+)*$/.test(action)) {
    throw problem("invalid_request", `action must be a name like "publish" or "mint-token", not "${action}"`);
  }
  return { action, before: readTime(context, "before"), after: readTime(context, "after") };
}

function readTime(context: ApiContext, name: string): number | undefined {
  const text = context.req.query(name);
  if (text === undefined) return undefined;
  const time = /^\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw problem(
    "invalid_request",
    `${name} must be a time in UTC like "2026-08-15T12:00:00Z", or a day, not "${text}"`,
  );
}

function formatEvent(row: AuditRow) {
  const { id, namespace, principal, action, target, address, agent } = row;
  return {
    id,
    namespace,
    at: formatTime(row.at),
    principal,
    action,
    target,
    address,
    agent,
    before: parse(row.before),
    after: parse(row.after),
  };
}

/** `before` is what rows held that nobody looked through when they were written. */
function parse(json: string | null): unknown {
  return json === null ? null : (JSON.parse(withoutSecrets(json)) as unknown);
}
