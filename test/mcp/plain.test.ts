import { classifyInboundRequest } from "@modelcontextprotocol/server";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { findPlain } from "../../src/mcp/plain.ts";
import { open } from "../live/handshakes.ts";
import { newNamespace, newToken, publish, seedSkill, send, skillMdOf, lastingHeaders } from "../harness.ts";

/**
 * The hot methods are answered without building an SDK server where a request is beyond doubt. Each request is sent
 * twice here: as it is, and with a parameter that nobody knows, which the protocol ignores and which sends it through
 * the SDK. Both answers have to be the same, byte for byte.
 */
const eras = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"] as const;
type Era = (typeof eras)[number];

let namespace: string;
let token: string;
let root: string;
const large = `"quoted" \\ \u0000\u001f\u007f 🎉 ${"line\r\n\t".repeat(20_000)}`;

beforeAll(async () => {
  namespace = await newNamespace();
  token = await newToken(namespace, "reader");
  root = `skill://${namespace}/pdf-forms`;
  await seedSkill(namespace, "pdf-forms", {
    "large.txt": large,
    "large.bin": Uint8Array.from({ length: 200_000 }, (_, index) => index % 251),
    "logo.png": Uint8Array.from([0x89, 0x50, 0xff, 0]),
    "empty.txt": "",
    "references/a b.md": "# A\n",
  });
  await seedSkill(namespace, "pdf-forms-from-ci");
  await env.DB.prepare("UPDATE releases SET source = ?1 WHERE path = 'pdf-forms-from-ci'")
    .bind(JSON.stringify({ issuer: "https://ci.example", ref: 'refs/heads/"é' }))
    .run();
  await seedSkill(namespace, "secret-plan", {}, "?visibility=private");
  // Entries so large that a page ends before the private skill.
  for (const name of ["more-1", "more-2", "more-3", "more-4", "more-5"]) {
    const md = skillMdOf(name, 'Quotes " and \\ and').replace("\n---\n", `\nfiller: ${"é".repeat(130_000)}\n---\n`);
    expect((await publish(namespace, { "SKILL.md": md })).status).toBe(201);
  }
});

interface Ask {
  method: string;
  params?: Record<string, unknown>;
  id?: string | number;
  headers?: Record<string, string>;
  at?: string;
}

function build(era: Era, { method, params, id = 1, headers = {}, at = namespace }: Ask): [Request, unknown] {
  const isModern = era === "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": era,
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { roots: {}, extensions: { "x/y": {} } },
    progressToken: 7,
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  };
  const name: Record<string, string> = method === "resources/read" ? { "mcp-name": String(params?.["uri"]) } : {};
  const message = {
    jsonrpc: "2.0",
    id,
    method,
    ...(isModern ? { params: { ...params, _meta: meta } } : params === undefined ? {} : { params }),
  };
  const request = new Request(`http://localhost/mcp/${at}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": era,
      ...(isModern ? { "mcp-method": method, ...name } : {}),
      ...headers,
    },
    body: JSON.stringify(message),
  });
  return [request, message];
}

function isPlain(request: Request, message: unknown): boolean {
  const [version, method] = [request.headers.get("mcp-protocol-version"), request.headers.get("mcp-method")];
  const outcome = classifyInboundRequest({
    httpMethod: "POST",
    body: message,
    ...(version === null ? {} : { protocolVersionHeader: version }),
    ...(method === null ? {} : { mcpMethodHeader: method }),
  });
  return findPlain(request, outcome, message) !== undefined;
}

async function answer(request: Request) {
  const { pathname } = new URL(request.url);
  const response = await send(pathname, {
    method: "POST",
    headers: [...request.headers],
    body: await request.text(),
  });
  return { status: response.status, headers: lastingHeaders(response.headers), text: await response.text() };
}

async function expectSame(era: Era, ask: Ask): Promise<string> {
  const [plain, message] = build(era, ask);
  const [odd, oddMessage] = build(era, { ...ask, params: { ...ask.params, "x-unknown": true } });
  expect([isPlain(plain, message), isPlain(odd, oddMessage)]).toEqual([true, false]);
  const [ours, theirs] = [await answer(plain), await answer(odd)];
  expect(ours).toEqual(theirs);
  return ours.text;
}

describe.each(eras)("the short way answers in %s what the SDK answers", (era) => {
  it.each<[string, (r: string) => Ask]>([
    ["a list", () => ({ method: "skills/list" })],
    ["an entry", (r) => ({ method: "skills/get", params: { uri: `${r}/SKILL.md` } })],
    [
      "an entry, asked with a text as id",
      (r) => ({ method: "skills/get", params: { uri: `${r}/SKILL.md` }, id: 'a"b' }),
    ],
    ["an entry that a CI published", (r) => ({ method: "skills/get", params: { uri: `${r}-from-ci/SKILL.md` } })],
    ["an unknown entry", (r) => ({ method: "skills/get", params: { uri: `${r}/none` } })],
    ["a text", (r) => ({ method: "resources/read", params: { uri: `${r}/SKILL.md` } })],
    ["an empty text", (r) => ({ method: "resources/read", params: { uri: `${r}/empty.txt` } })],
    ["bytes", (r) => ({ method: "resources/read", params: { uri: `${r}/logo.png` } })],
    ["a large text", (r) => ({ method: "resources/read", params: { uri: `${r}/large.txt` } })],
    ["large bytes", (r) => ({ method: "resources/read", params: { uri: `${r}/large.bin` } })],
    ["an unknown file", (r) => ({ method: "resources/read", params: { uri: `${r}/none` } })],
    ["no address at all", () => ({ method: "resources/read", params: { uri: "" } })],
    ["a directory", (r) => ({ method: "resources/directory/read", params: { uri: r } })],
    ["a directory below", (r) => ({ method: "resources/directory/read", params: { uri: `${r}/references` } })],
    ["an unknown directory", (r) => ({ method: "resources/directory/read", params: { uri: `${r}/none` } })],
    ["a bad cursor", () => ({ method: "skills/list", params: { cursor: "nonsense" } })],
    ["a bad cursor of a directory", (r) => ({ method: "resources/directory/read", params: { uri: r, cursor: "x" } })],
  ])("%s, with a token and without", async (_, ask) => {
    await expectSame(era, ask(root));
    await expectSame(era, { ...ask(root), headers: { authorization: `Bearer ${token}` } });
  });

  it("the pinned spelling, the next page, the root address and an address that refuses", async () => {
    const pinned = `skill://${namespace}/@1.0.0/pdf-forms/SKILL.md`;
    await expectSame(era, { method: "skills/get", params: { uri: pinned } });
    await expectSame(era, { method: "resources/read", params: { uri: pinned } });
    const first = await expectSame(era, { method: "skills/list" });
    const { nextCursor } = (JSON.parse(first) as { result: { nextCursor: string } }).result;
    await expectSame(era, { method: "skills/list", params: { cursor: nextCursor } });
    await expectSame(era, { method: "skills/list", at: "never-created" });
  });

  it("the same in a session, which is checked beside it", async () => {
    if (era === "2026-07-28") return;
    const session = await open(`/mcp/${namespace}`, era);
    const headers = { "mcp-session-id": session };
    for (const method of ["skills/get", "resources/read"]) {
      await expectSame(era, { method, params: { uri: `${root}/SKILL.md` }, headers });
      expect(await expectSame(era, { method, params: { uri: `${root}/none` }, headers })).toContain("-32602");
    }
    const junk = { method: "skills/list", headers: { "mcp-session-id": "abc" } };
    expect(await expectSame(era, junk)).toContain("-32001");
  });

  it("never a private skill from the memory of somebody else's list", async () => {
    const listed = async (headers: Record<string, string>) => expectSame(era, { method: "skills/list", headers });
    const cursor = (JSON.parse(await listed({})) as { result: { nextCursor: string } }).result.nextCursor;
    const rest = async (headers: Record<string, string>) =>
      expectSame(era, { method: "skills/list", params: { cursor }, headers });
    for (const headers of [{ authorization: `Bearer ${token}` }, {}, { authorization: `Bearer ${token}` }, {}]) {
      const isKnown = "authorization" in headers;
      expect((await rest(headers as Record<string, string>)).includes("secret-plan")).toBe(isKnown);
    }
  });
});

describe("what leaves the short way", () => {
  it.each<[string, Era, Ask]>([
    ["a cursor that is no text", "2026-07-28", { method: "skills/list", params: { cursor: 5 } }],
    ["no uri", "2026-07-28", { method: "skills/get" }],
    ["a uri that is no text", "2025-11-25", { method: "skills/get", params: { uri: 5 } }],
    ["a retry's state", "2026-07-28", { method: "resources/read", params: { uri: "x", requestState: "y" } }],
    ["a 2025-era _meta", "2025-11-25", { method: "skills/list", params: { _meta: {} } }],
    ["another method", "2026-07-28", { method: "tools/list" }],
    ["a method of Object.prototype", "2026-07-28", { method: "toString" }],
    ["no Mcp-Method", "2026-07-28", { method: "skills/list", headers: { "mcp-method": "" } }],
    [
      "another Mcp-Name",
      "2026-07-28",
      { method: "resources/read", params: { uri: "x" }, headers: { "mcp-name": "y" } },
    ],
    ["an unknown version", "2025-11-25", { method: "skills/list", headers: { "mcp-protocol-version": "2024-01-01" } }],
    ["no event stream in Accept", "2025-11-25", { method: "skills/list", headers: { accept: "application/json" } }],
  ])("%s", (_, era, ask) => {
    expect(isPlain(...build(era, { ...ask, at: "any" }))).toBe(false);
  });

  it("a notification, a response and an array", () => {
    const [request, message] = build("2025-11-25", { method: "skills/list", at: "any" });
    const { id: _, ...notification } = message as Record<string, unknown>;
    for (const other of [notification, { jsonrpc: "2.0", id: 1, result: {} }, [message]]) {
      expect(isPlain(request, other)).toBe(false);
    }
  });
});
