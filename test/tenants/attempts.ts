import type { Attempt } from "./answers.ts";
import { den } from "./seed.ts";
import type { Target } from "./seed.ts";

/** What the tables of routes are made of. */
const json = { "content-type": "application/json" };
export const get = (path: string, headers: Record<string, string> = {}): Attempt => ({ method: "GET", path, headers });
export const sent = (method: string, path: string, body: unknown): Attempt => ({
  method,
  path,
  headers: json,
  body: JSON.stringify(body),
});
export const at = (namespace: string) => `/api/v1/namespaces/${namespace}`;
export const both = (t: Target) => [at(t.namespace), at(den)];
export const time = "9999999999999";

export type Table = Record<string, (t: Target, link: string) => Attempt[]>;
