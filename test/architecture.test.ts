import { describe, expect, it } from "vitest";

/** The rules of the house that a reader of an import or a line can check. */
const sources = import.meta.glob<string>("../src/**/*.ts", { query: "?raw", import: "default", eager: true });
const files = Object.entries(sources).map(([path, text]) => ({ path: path.replace("../src/", ""), text }));

/** Arrows point from a higher rank to a lower one, or stay in their own folder. */
const ranks: Record<string, number> = {
  "index.ts": 6,
  "app.ts": 5,
  cli: 5,
  mcp: 4,
  api: 4,
  web: 4,
  "boundary.ts": 4,
  "rates.ts": 4,
  publish: 3,
  live: 3,
  auth: 3,
  storage: 2,
  // Runs in other people's servers, so it may know nothing but the domain.
  adapter: 1,
  "env.ts": 1,
  "log.ts": 1,
  domain: 0,
};

const roomOf = (path: string): string => path.split("/")[0]!;

function importsOf(path: string, text: string): string[] {
  const found = [...text.matchAll(/from "(\.[^"]+)"/g)].map((match) => match[1]!);
  return found.map((target) => new URL(target, `http://x/${path}`).pathname.slice(1));
}

describe("the house", () => {
  it("has source files to look at", () => {
    expect(files.length).toBeGreaterThan(40);
  });

  it("lets arrows point one way, and doors never know each other", () => {
    const wrong: string[] = [];
    for (const { path, text } of files) {
      for (const target of importsOf(path, text)) {
        const [from, to] = [roomOf(path), roomOf(target)];
        if (from !== to && !(ranks[from]! > ranks[to]!)) wrong.push(`${path} -> ${target}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it("gives every room a rank", () => {
    expect(files.map(({ path }) => roomOf(path)).filter((room) => ranks[room] === undefined)).toEqual([]);
  });

  const breaches = (pattern: RegExp, isAllowed: (path: string) => boolean): string[] =>
    files.filter(({ path, text }) => !isAllowed(path) && pattern.test(text)).map(({ path }) => path);

  it("keeps SQL in storage", () => {
    const sql = /\.prepare\(|\.batch\(|\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\s+[a-z_(*]/;
    expect(breaches(sql, (path) => path.startsWith("storage/") || path.startsWith("live/"))).toEqual([]);
  });

  it("keeps R2 keys in storage/blobs.ts", () => {
    expect(breaches(/["`]blobs\/sha256/, (path) => path === "storage/blobs.ts")).toEqual([]);
  });

  it("keeps the domain pure: no bindings, clock, network or chance", () => {
    const impure =
      /env\.ts"|cloudflare:workers|Date\.now|\bfetch\(|randomUUID|getRandomValues|from "hono|D1Database|R2Bucket/;
    expect(breaches(impure, (path) => !path.startsWith("domain/"))).toEqual([]);
  });

  it("builds responses only in doors", () => {
    const isDoor = (path: string) => /^(?:api|mcp|web|live|cli)\/|^(?:app|boundary)\.ts/.test(path);
    expect(breaches(/new Response\(|Response\.json\(/, isDoor)).toEqual([]);
  });

  it("knows Hono only in the doors", () => {
    const mayKnow = (path: string) => /^(?:api|web)\/|^(?:app|boundary|rates)\.ts/.test(path);
    expect(breaches(/from "hono/, mayKnow)).toEqual([]);
  });

  it("knows the MCP server only behind its door, and its skills core only in domain/entry.ts", () => {
    expect(breaches(/from "@modelcontextprotocol\/server"/, (path) => path.startsWith("mcp/"))).toEqual([]);
    // The adapter knows the types of it: what it exports is what the SDK takes.
    const mayKnow = (path: string) => path === "domain/entry.ts" || path.startsWith("adapter/");
    expect(breaches(/from "@modelcontextprotocol\/server\/ext/, mayKnow)).toEqual([]);
  });

  it("brings nothing along with the adapter but the SDK that its host has, and Node in one file only", () => {
    const isElsewhere = (path: string) => !path.startsWith("adapter/");
    expect(
      breaches(/^import (?!type )[^;]*from "[^.]/m, (path) => isElsewhere(path) || path === "adapter/folder-cache.ts"),
    ).toEqual([]);
    // The one reader of frontmatter is the official SDK's, which the server that uses the adapter has anyway.
    expect(breaches(/domain\/entry\.ts"/, isElsewhere)).toEqual(["adapter/frontmatter.ts"]);
  });

  it("imports zod as a namespace, because the named import costs 65 KiB", () => {
    expect(breaches(/import \{[^}]*\} from "zod"/, () => false)).toEqual([]);
  });

  it("has no file named after what it is not", () => {
    const bags = /(?:^|\/)(?:utils?|helpers?|common|shared|types|constants|managers?|services?)(?:\.ts|\/)/;
    expect(files.map(({ path }) => path).filter((path) => bags.test(path))).toEqual([]);
  });

  it("leaves no task without an issue", () => {
    expect(breaches(/\b(?:TODO|FIXME|XXX)\b(?!.*#\d)/, () => false)).toEqual([]);
  });
});
