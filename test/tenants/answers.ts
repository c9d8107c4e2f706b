import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";

import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { origin } from "../harness.ts";
import { recorded } from "./recorder.ts";

/** A request of a table, before anybody's credential is added. */
export interface Attempt {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | undefined;
}

/** All of an answer that a caller can see, as text; and what it cost. */
export interface Seen {
  status: number;
  headers: string;
  body: string;
  calls: string[];
}

export function requestOf({ method, path, headers = {}, body }: Attempt, token?: string): Request {
  const all = new Headers(headers);
  if (token !== undefined) all.set("authorization", `Bearer ${token}`);
  return new Request(origin + path, { method, headers: all, ...(body === undefined ? {} : { body }) });
}

/** Asks the Worker itself, with bindings that write down what it asks of its stores. */
export async function ask(attempt: Attempt, token?: string, more: Partial<Env> = {}): Promise<Seen> {
  const { bindings, calls } = recorded(more);
  const context = createExecutionContext();
  const response = await app.fetch(requestOf(attempt, token), bindings, context);
  const body = withoutPickIds(latin1Of(new Uint8Array(await response.arrayBuffer())));
  await waitOnExecutionContext(context);
  return { status: response.status, headers: headersOf(response.headers), body, calls };
}

/**
 * What is left of an allowance says how often the caller asked, and nothing of what there is; the id of a session is
 * random, and its check is made of that.
 */
function headersOf(headers: Headers): string {
  const lasting = ([name, value]: [string, string]) => {
    if (name === "mcp-session-id") return value.replaceAll(/[0-9a-f]{32}/g, "");
    return name === "ratelimit" ? value.replaceAll(/[rt]=\d+/g, "") : value;
  };
  return [...headers]
    .map((header) => `${header[0]}: ${lasting(header)}`)
    .sort()
    .join("\n");
}

/** Drawn at random for each search. */
function withoutPickIds(text: string): string {
  return text.replaceAll(/pick_[\w-]{22}/g, "pick_");
}

function latin1Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return text;
}

/** An answer with the names that its request aimed at taken out, so that two answers can be held against each other. */
export function withoutNames({ status, headers, body }: Seen, names: Readonly<Record<string, string>>): string {
  const last = names["skill"]?.split("/").at(-1);
  const all = last === undefined ? names : { ...names, name: last };
  const longestFirst = Object.entries(all).sort(([, a], [, b]) => b.length - a.length);
  const take = (text: string) => longestFirst.reduce((rest, [what, name]) => rest.replaceAll(name, `<${what}>`), text);
  return `${status}\n${take(headers)}\n\n${take(body)}`;
}

const tables = [
  "namespaces skills blobs releases release_files guards tokens spent_versions receipts erased members invitations",
  "collections collection_items collection_editions audit registry servers server_tools release_tools search_docs",
  "search_postings search_terms search_groups trusted_publishers oidc_used oauth_records oauth_spent oauth_documents",
  "oauth_registrations grants sign_ins group_roles",
]
  .join(" ")
  .split(" ");

/** They grow with every read and search, also of what is public. */
const counts = new Set(["search_picks", "release_reads"]);

/** Every row of every table and every key of the bucket; only when a token was last used is left out. */
export async function snapshot(): Promise<string> {
  const answers = await env.DB.batch(tables.map((table) => env.DB.prepare(`SELECT * FROM ${table}`)));
  const rows = answers.flatMap(({ results }, index) =>
    results.map(
      (row) => `${tables[index]} ${JSON.stringify({ ...(row as object), last_used_at: 0, last_used_from: 0 })}`,
    ),
  );
  const { objects } = await env.BLOBS.list();
  return [...rows, ...objects.map(({ key }) => key)].join("\n");
}

/** So that a new table cannot be left out of the snapshot. */
export async function tablesNotInSnapshot(): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'
     AND name NOT IN ('d1_migrations', 'sqlite_sequence')`,
  ).all<{ name: string }>();
  return results.map(({ name }) => name).filter((name) => !tables.includes(name) && !counts.has(name));
}
