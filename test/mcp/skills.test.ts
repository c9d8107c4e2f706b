import { beforeAll, describe, expect, it } from "vitest";

import {
  api,
  eras,
  legacy,
  modern,
  newNamespace,
  newToken,
  publish,
  seedSkill,
  send,
  skillMdOf,
  lastingHeaders,
} from "../harness.ts";

const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 255, 254]);
const withBom = Uint8Array.from([0xef, 0xbb, 0xbf, 0x61, 0x0d, 0x0a]);
const utf16 = Uint8Array.from([0xff, 0xfe, 0x61, 0x00]);

const files = {
  "SKILL.md": `---\nname: pdf-forms\ndescription: Fill in PDF forms\nempty:\nsince: 2026-01-02\n---\nBody\r\n`,
  "references/guide a.md": "# Guide\n",
  "references/deep/100%.txt": "percent",
  "assets/logo.png": png,
  "assets/bom.csv": withBom,
  "assets/utf16.txt": utf16,
  "assets/nulls.txt": "a\0b",
  "empty.txt": "",
  "scripts/run 🎉.sh": "#!/bin/sh\n",
};

let namespace: string;
let address: string;
let root: string;

beforeAll(async () => {
  namespace = await newNamespace();
  address = `/mcp/${namespace}`;
  await seedSkill(namespace, "pdf-forms", files, "?path=documents/pdf-forms");
  root = `skill://${namespace}/documents/pdf-forms`;
});

interface Entry {
  uri: string;
  frontmatter: Record<string, unknown>;
  resources: { uri: string; digest: string; size: number }[];
}

async function sha256(bytes: Uint8Array): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `sha256:${[...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function bytesOf(content: { text?: string; blob?: string }): Uint8Array {
  if (content.text !== undefined) return new TextEncoder().encode(content.text);
  return Uint8Array.from(atob(content.blob!), (char) => char.codePointAt(0)!);
}

describe.each(eras)("skills over %s", (_, call) => {
  it("lists an entry with the author's frontmatter as it is, and every file with digest and size", async () => {
    const { result } = await call(address, "skills/list");
    const [entry] = result!["skills"] as Entry[];
    expect(entry!.uri).toBe(`${root}/SKILL.md`);
    expect(entry!.frontmatter).toEqual({
      name: "pdf-forms",
      description: "Fill in PDF forms",
      empty: null,
      since: "2026-01-02",
    });
    expect(entry!.resources.length).toBe(Object.keys(files).length);
    expect(result).not.toHaveProperty("nextCursor");
  });

  it("gets the same entry as it lists", async () => {
    const listed = (await call(address, "skills/list")).result!["skills"] as Entry[];
    const got = (await call(address, "skills/get", { uri: `${root}/SKILL.md` })).result!["skill"];
    expect(got).toEqual(listed[0]);
  });

  it("reads every listed file to the byte, as text only where text is lossless", async () => {
    const { result } = await call(address, "skills/get", { uri: `${root}/SKILL.md` });
    const kinds: Record<string, string> = {};
    for (const { uri, digest, size } of (result!["skill"] as Entry).resources) {
      const contents = (await call(address, "resources/read", { uri })).result!["contents"] as {
        uri: string;
        text?: string;
        blob?: string;
      }[];
      expect(contents.length).toBe(1);
      expect(contents[0]!.uri).toBe(uri);
      const bytes = bytesOf(contents[0]!);
      expect([bytes.byteLength, await sha256(bytes)]).toEqual([size, digest]);
      kinds[uri.slice(root.length + 1)] = contents[0]!.text === undefined ? "blob" : "text";
    }
    expect(kinds).toMatchObject({
      "SKILL.md": "text",
      "assets/bom.csv": "text",
      "assets/nulls.txt": "text",
      "assets/logo.png": "blob",
      "assets/utf16.txt": "blob",
      "empty.txt": "text",
      "references/guide%20a.md": "text",
      "references/deep/100%25.txt": "text",
      "scripts/run%20%F0%9F%8E%89.sh": "text",
    });
  });

  it("walks directories: direct children only, folders without a trailing slash", async () => {
    const top = (await call(address, "resources/directory/read", { uri: root })).result!["resources"] as Record<
      string,
      unknown
    >[];
    expect(top.map((child) => child["uri"])).toEqual([
      `${root}/SKILL.md`,
      `${root}/assets`,
      `${root}/empty.txt`,
      `${root}/references`,
      `${root}/scripts`,
    ]);
    expect(top[0]).toMatchObject({ name: "SKILL.md", mimeType: "text/markdown" });
    expect(top[1]).toEqual({ uri: `${root}/assets`, name: "assets", mimeType: "inode/directory" });
    const below = await call(address, "resources/directory/read", { uri: `${root}/references` });
    expect(below.result!["resources"]).toEqual([
      { uri: `${root}/references/deep`, name: "deep", mimeType: "inode/directory" },
      { uri: `${root}/references/guide%20a.md`, name: "guide a.md", mimeType: "text/markdown", size: 8 },
    ]);
  });

  it("answers for a pinned address in every method, and lists it nowhere", async () => {
    const pinned = `skill://${namespace}/documents/@1.0.0/pdf-forms`;
    const entry = (await call(address, "skills/get", { uri: `${pinned}/SKILL.md` })).result!["skill"] as Entry;
    expect(entry.uri).toBe(`${pinned}/SKILL.md`);
    for (const { uri } of entry.resources) expect(uri.startsWith(`${pinned}/`)).toBe(true);
    const read = await call(address, "resources/read", { uri: `${pinned}/assets/logo.png` });
    expect(bytesOf((read.result!["contents"] as { blob: string }[])[0]!)).toEqual(png);
    const directory = await call(address, "resources/directory/read", { uri: pinned });
    expect((directory.result!["resources"] as unknown[]).length).toBe(5);
    for (const method of ["skills/list", "resources/list", "prompts/list"]) {
      expect(JSON.stringify((await call(address, method)).result)).not.toContain("@1.0.0");
    }
  });

  it("lists each SKILL.md as a resource for hosts without the extension", async () => {
    const { result } = await call(address, "resources/list");
    expect(result!["resources"]).toEqual([
      {
        uri: `${root}/SKILL.md`,
        name: "pdf-forms",
        description: "Fill in PDF forms",
        mimeType: "text/markdown",
        size: files["SKILL.md"].length,
        annotations: { audience: ["assistant"] },
      },
    ]);
  });

  it("offers a template that matches files in folders", async () => {
    const { result } = await call(address, "resources/templates/list");
    expect(result!["resourceTemplates"]).toMatchObject([{ uriTemplate: `skill://${namespace}/{+path}` }]);
  });

  it("knows no version that was never published", async () => {
    const uri = `skill://${namespace}/documents/@9.9.9/pdf-forms/SKILL.md`;
    expect((await call(address, "skills/get", { uri })).error?.code).toBe(-32602);
  });

  it("serves at an address only what belongs to it", async () => {
    const other = await newNamespace();
    await seedSkill(other, "elsewhere");
    const uri = `skill://${other}/elsewhere/SKILL.md`;
    for (const [method, params] of [
      ["skills/get", { uri }],
      ["resources/read", { uri }],
      ["resources/directory/read", { uri: `skill://${other}/elsewhere` }],
    ] as const) {
      expect((await call(address, method, params)).error?.code).toBe(-32602);
      expect((await call("/mcp", method, params)).error).toBeUndefined();
    }
  });
});

describe("freshness", () => {
  it("moving answers may be kept 5 seconds, pinned bytes a day, a pinned entry 5 seconds", async () => {
    const pinned = `skill://${namespace}/documents/@1.0.0/pdf-forms/SKILL.md`;
    const ttl = async (method: string, uri: string) => (await modern(address, method, { uri })).result;
    expect(await ttl("resources/read", `${root}/SKILL.md`)).toMatchObject({ ttlMs: 5_000, cacheScope: "public" });
    expect(await ttl("resources/read", pinned)).toMatchObject({ ttlMs: 86_400_000, cacheScope: "public" });
    expect(await ttl("skills/get", pinned)).toMatchObject({ ttlMs: 5_000, cacheScope: "public" });
    expect(await ttl("resources/directory/read", root)).toMatchObject({ ttlMs: 5_000, cacheScope: "public" });
  });

  it("nothing asked with a token is ever public, nor kept longer than a minute", async () => {
    const token = await newToken(namespace, "reader");
    const pinned = `skill://${namespace}/documents/@1.0.0/pdf-forms/SKILL.md`;
    const methods: [string, Record<string, unknown>][] = [
      ["server/discover", {}],
      ["skills/list", {}],
      ["skills/get", { uri: pinned }],
      ["resources/read", { uri: pinned }],
      ["resources/list", {}],
      ["resources/templates/list", {}],
      ["resources/directory/read", { uri: root }],
      ["prompts/list", {}],
      ["tools/list", {}],
    ];
    for (const [method, params] of methods) {
      const { result } = await modern(address, method, params, { token });
      expect([method, result!["cacheScope"]]).toEqual([method, "private"]);
      expect(result!["ttlMs"]).toBeLessThanOrEqual(60_000);
    }
  });
});

describe("a new release", () => {
  it("is served at the moving address at once, while the pinned one keeps its bytes", async () => {
    const space = await newNamespace();
    await publish(space, { "SKILL.md": skillMdOf("notes", "first") });
    await publish(space, { "SKILL.md": skillMdOf("notes", "second") });
    const read = async (uri: string) => {
      const { result } = await modern(`/mcp/${space}`, "skills/get", { uri });
      return (result!["skill"] as Entry).frontmatter["description"];
    };
    expect(await read(`skill://${space}/notes/SKILL.md`)).toBe("second");
    expect(await read(`skill://${space}/@1.0.0/notes/SKILL.md`)).toBe("first");
    expect(await read(`skill://${space}/@1.0.1/notes/SKILL.md`)).toBe("second");
  });

  it("that is a pre-release stays reachable by its version only", async () => {
    const space = await newNamespace();
    await publish(space, { "SKILL.md": skillMdOf("notes") }, "?version=2.0.0-rc.1");
    expect((await modern(`/mcp/${space}`, "skills/list")).result!["skills"]).toEqual([]);
    expect((await modern(`/mcp/${space}`, "skills/get", { uri: `skill://${space}/notes/SKILL.md` })).error?.code).toBe(
      -32602,
    );
    const pinned = await modern(`/mcp/${space}`, "skills/get", { uri: `skill://${space}/@2.0.0-rc.1/notes/SKILL.md` });
    expect(pinned.error).toBeUndefined();
  });
});

describe("visibility", () => {
  it("an unlisted skill is in no list, search or prompt, and answers to its address", async () => {
    const space = await newNamespace();
    await seedSkill(space, "hidden-gem", {}, "?visibility=unlisted");
    for (const method of ["skills/list", "resources/list", "prompts/list"]) {
      expect(JSON.stringify((await modern(`/mcp/${space}`, method)).result)).not.toContain("hidden-gem");
    }
    const search = { name: "search_skills", arguments: { query: "hidden gem" } };
    expect(JSON.stringify((await modern(`/mcp/${space}`, "tools/call", search)).result)).not.toContain("skill://");
    const { error } = await modern(`/mcp/${space}`, "skills/get", { uri: `skill://${space}/hidden-gem/SKILL.md` });
    expect(error).toBeUndefined();
  });

  it("a private skill of a public namespace exists for its token alone", async () => {
    const space = await newNamespace();
    await seedSkill(space, "secret-plan", {}, "?visibility=private");
    const token = await newToken(space, "reader");
    const stranger = await newToken(await newNamespace(), "reader");
    const uri = `skill://${space}/secret-plan/SKILL.md`;
    for (const at of [`/mcp/${space}`, "/mcp"]) {
      expect((await modern(at, "skills/get", { uri }, { token })).error).toBeUndefined();
      for (const options of [{}, { token: stranger }]) {
        const refused = await modern(at, "skills/get", { uri }, options);
        const unknown = await modern(at, "skills/get", { uri: `skill://${space}/secret-plot/SKILL.md` }, options);
        expect(JSON.stringify(refused.body).replaceAll("secret-plan", "secret-plot")).toBe(
          JSON.stringify(unknown.body),
        );
      }
    }
    expect((await modern(`/mcp/${space}`, "skills/list")).result!["skills"]).toEqual([]);
    expect((await modern(`/mcp/${space}`, "skills/list", {}, { token })).result!["skills"]).toHaveLength(1);
  });
});

describe("a private namespace", () => {
  const requests: [string, RequestInit][] = [
    ["GET", { method: "GET" }],
    ["DELETE", { method: "DELETE" }],
    ["a body that is no JSON", { method: "POST", body: "{", headers: { "content-type": "application/json" } }],
    ["an empty POST", { method: "POST" }],
  ];

  it.each(requests)(
    "answers %s exactly as an unknown one does: 401 with the metadata of the address",
    async (_, init) => {
      const space = await newNamespace("private");
      const outcomes = [];
      for (const at of [`/mcp/${space}`, "/mcp/never-created", "/mcp/Not_A_Name", "/mcp/api", "/mcp/some/collection"]) {
        const response = await send(at, init);
        const headers = JSON.stringify(lastingHeaders(response.headers)).replaceAll(at, "ADDRESS");
        outcomes.push([response.status, headers, await response.text()]);
      }
      for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0]);
      expect(outcomes[0]![0]).toBe(401);
      expect(outcomes[0]![1]).toContain("/.well-known/oauth-protected-resourceADDRESS");
    },
  );

  it("answers every method, in both eras, exactly as an unknown one does", async () => {
    const space = await newNamespace("private");
    await seedSkill(space, "inner");
    const uri = `skill://${space}/inner/SKILL.md`;
    const methods = [
      "server/discover",
      "initialize",
      "ping",
      "skills/list",
      "skills/get",
      "resources/read",
      "tools/list",
      "tools/call",
      "prompts/list",
      "prompts/get",
      "no/such",
    ];
    for (const method of methods) {
      for (const call of [modern, legacy]) {
        const params = {
          uri,
          name: "inner",
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "t", version: "1" },
        };
        const [known, unknown] = await Promise.all([
          call(`/mcp/${space}`, method, params),
          call("/mcp/never-created", method, params),
        ]);
        expect([known.status, known.body]).toEqual([401, unknown.body]);
        const plain = (headers: Headers) =>
          JSON.stringify(lastingHeaders(headers)).replaceAll(space, "x").replaceAll("never-created", "x");
        expect(plain(known.headers)).toEqual(plain(unknown.headers));
      }
    }
  });

  it("is read with a token minted for it, and no longer once that is revoked", async () => {
    const space = await newNamespace("private");
    await seedSkill(space, "inner");
    const { body } = await api("POST", `/namespaces/${space}/tokens`, { role: "reader" });
    const token = body["token"] as string;
    expect((await modern(`/mcp/${space}`, "skills/list", {}, { token })).result!["skills"]).toHaveLength(1);
    await api("DELETE", `/namespaces/${space}/tokens/${body["id"] as string}`);
    const { status, headers } = await modern(`/mcp/${space}`, "skills/list", {}, { token });
    expect([status, headers.get("www-authenticate")?.split(",")[0]]).toEqual([401, 'Bearer error="invalid_token"']);
  });

  it("treats a token of another namespace as nobody: 401, like an unknown one", async () => {
    const space = await newNamespace("private");
    const token = await newToken(await newNamespace(), "admin");
    const [known, unknown] = await Promise.all([
      modern(`/mcp/${space}`, "skills/list", {}, { token }),
      modern("/mcp/never-created", "skills/list", {}, { token }),
    ]);
    expect([known.status, known.body]).toEqual([401, unknown.body]);
  });

  it("shows the operator that an unknown one is absent: 404 with -32602", async () => {
    const { operator } = await import("../harness.ts");
    const { status, error } = await modern("/mcp/never-created", "skills/list", {}, { token: operator });
    expect([status, error?.code]).toEqual([404, -32602]);
  });

  it("appears in nothing that the root address answers", async () => {
    const space = await newNamespace("private");
    await seedSkill(space, "inner-zebra");
    const call = { name: "search_skills", arguments: { query: "inner zebra" } };
    expect(JSON.stringify((await modern("/mcp", "tools/call", call)).result)).not.toContain("inner-zebra");
    const uri = `skill://${space}/inner-zebra/SKILL.md`;
    expect((await modern("/mcp", "skills/get", { uri })).error?.code).toBe(-32602);
    const token = await newToken(space, "reader");
    expect((await modern("/mcp", "skills/get", { uri }, { token })).error).toBeUndefined();
    expect(JSON.stringify((await modern("/mcp", "tools/call", call, { token })).result)).toContain("inner-zebra");
  });
});

describe("a bad token", () => {
  it.each([
    "Bearer wrong",
    "Bearer skr_short",
    `Bearer skr_${"0".repeat(16)}_${"0".repeat(64)}`,
    "Basic abc",
    "Bearer",
  ])("%s is 401 everywhere, never silently anonymous", async (authorization) => {
    for (const at of [address, "/mcp", "/mcp/never-created"]) {
      const { status, headers } = await modern(at, "skills/list", {}, { headers: { authorization } });
      expect([status, headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
    }
    expect((await send(`/api/v1/namespaces/${namespace}/skills`, { headers: { authorization } })).status).toBe(401);
  });
});
