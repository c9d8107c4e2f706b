import { beforeAll, describe, expect, it } from "vitest";

import { api, eras, legacy, modern, newNamespace, newToken, operator, rpc, seedSkill, send } from "../harness.ts";

/** Which address asks for a token, what it says then, and what a token adds. */
let open: string;
let closed: string;
let reader: string;
let stranger: string;
const unknown = "never-made";

beforeAll(async () => {
  [open, closed] = [await newNamespace(), await newNamespace("private")];
  const other = await newNamespace("private");
  [reader, stranger] = [await newToken(closed, "reader"), await newToken(other, "admin")];
  await seedSkill(open, "open-skill");
  await seedSkill(open, "open-secret", {}, "?visibility=private");
  await seedSkill(closed, "closed-skill");
  await seedSkill(closed, "closed-unlisted", {}, "?visibility=unlisted");
  await api("PUT", `/namespaces/${closed}/collections/desk`, { skills: "all" });
  await api("POST", "/namespaces", { name: "registry" });
  await seedSkill("registry", "featured-skill");
  await api("PUT", "/namespaces/registry/collections/featured", { visibility: "public", skills: "all" });
});

const metadata = "/.well-known/oauth-protected-resource";
const challenge = (address: string, error = "") =>
  `Bearer ${error}resource_metadata="http://localhost${metadata}${address}", scope="skills:read"`;
const uris = (answer: { result: Record<string, unknown> | undefined }) =>
  (answer.result?.["skills"] as { uri: string }[] | undefined)?.map(({ uri }) => uri);

describe.each(eras)("an address that is public, over %s,", (_, call) => {
  it("serves strangers and never asks them for a token", async () => {
    for (const address of ["/mcp", `/mcp/${open}`]) {
      const answer = await call(address, "skills/list");
      expect([address, answer.status, answer.headers.get("www-authenticate")]).toEqual([address, 200, null]);
      const { status } = await send(metadata + address);
      expect([address, status]).toEqual([address, 404]);
    }
  });

  it("takes a token of another namespace as none, and refuses a bad one without naming a login", async () => {
    expect(uris(await call(`/mcp/${open}`, "skills/list", {}, { token: stranger }))).toEqual([
      `skill://${open}/open-skill/SKILL.md`,
    ]);
    for (const token of ["skr_junk", "junk", `${reader.slice(0, -1)}${reader.endsWith("0") ? "1" : "0"}`]) {
      const answer = await call(`/mcp/${open}`, "skills/list", {}, { token });
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
    }
  });

  it("shows more to who may see more", async () => {
    const token = await newToken(open, "reader");
    expect(uris(await call(`/mcp/${open}`, "skills/list", {}, { token }))).toHaveLength(2);
  });
});

describe.each(eras)("an address that is private or unknown, over %s,", (_, call) => {
  it("asks for a token, in the same words, and names where one is to be had", async () => {
    const addresses = [
      closed,
      unknown,
      `${closed}/desk`,
      `${closed}/nothing`,
      `${open}/nothing`,
      "x",
      "A b",
      "a/b/c/d",
    ];
    for (const name of addresses) {
      const address = `/mcp/${name.replace(" ", "%20")}`;
      const answers = [await call(address, "skills/list"), await call(address, "skills/list", {}, { token: stranger })];
      for (const answer of answers) {
        expect([address, answer.status, answer.headers.get("www-authenticate")]).toEqual([
          address,
          401,
          challenge(address),
        ]);
        expect(answer.body).toEqual({
          error: "unauthorized",
          error_description: "This address needs a token of its namespace",
        });
      }
    }
  });

  it("answers the operator 404 where nothing is", async () => {
    for (const address of [`/mcp/${unknown}`, `/mcp/${closed}/nothing`, "/mcp/A%20b", `/me/mcp/${unknown}`]) {
      const answer = await call(address, "skills/list", {}, { token: operator });
      expect([address, answer.status, answer.error?.code]).toEqual([address, 404, -32602]);
    }
  });

  it("serves who has a token of it", async () => {
    const list = uris(await call(`/mcp/${closed}`, "skills/list", {}, { token: reader }));
    expect(list).toEqual([`skill://${closed}/closed-skill/SKILL.md`]);
    expect(uris(await call(`/mcp/${closed}/desk`, "skills/list", {}, { token: reader }))).toEqual(list);
  });

  it("asks again, as for a bad token, whoever shows one that ended", async () => {
    const { body } = await api("POST", `/namespaces/${closed}/tokens`, { role: "reader" });
    await api("DELETE", `/namespaces/${closed}/tokens/${body["id"] as string}`);
    const token = body["token"] as string;
    for (const address of [`/mcp/${closed}`, `/mcp/${unknown}`, `/me/mcp`]) {
      const answer = await call(address, "skills/list", {}, { token });
      const wanted = challenge(address, 'error="invalid_token", ');
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, wanted]);
    }
    const answer = await call(`/mcp/${open}`, "skills/list", {}, { token });
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
  });
});

describe.each(eras)("a personal address, over %s,", (_, call) => {
  it("always asks for a token", async () => {
    for (const name of ["", `/${open}`, `/${closed}`, `/${unknown}`, `/${closed}/desk`]) {
      const address = `/me/mcp${name}`;
      const answer = await call(address, "skills/list");
      expect([address, answer.status, answer.headers.get("www-authenticate")]).toEqual([
        address,
        401,
        challenge(address),
      ]);
    }
    for (const name of [open, closed, unknown]) {
      expect((await call(`/me/mcp/${name}`, "skills/list", {}, { token: stranger })).status).toBe(401);
    }
    const junk = await call("/me/mcp", "skills/list", {}, { token: "junk" });
    expect(junk.headers.get("www-authenticate")).toBe(challenge("/me/mcp", 'error="invalid_token", '));
  });

  it("lists the skills of the caller's namespace, then the featured ones", async () => {
    expect(uris(await call("/me/mcp", "skills/list", {}, { token: reader }))).toEqual([
      `skill://${closed}/closed-skill/SKILL.md`,
      "skill://registry/featured-skill/SKILL.md",
    ]);
    expect(uris(await call("/me/mcp", "skills/list", {}, { token: operator }))).toEqual([
      "skill://registry/featured-skill/SKILL.md",
    ]);
  });

  it("serves public and private", async () => {
    const read = (uri: string) => call("/me/mcp", "resources/read", { uri }, { token: reader });
    expect((await read(`skill://${closed}/closed-skill/SKILL.md`)).result).toBeDefined();
    expect((await read(`skill://${closed}/closed-unlisted/SKILL.md`)).result).toBeDefined();
    expect((await read(`skill://${open}/open-skill/SKILL.md`)).result).toBeDefined();
    expect((await read(`skill://${open}/open-secret/SKILL.md`)).error!.code).toBe(-32602);
    expect(uris(await call(`/me/mcp/${closed}`, "skills/list", {}, { token: reader }))).toHaveLength(1);
  });

  it("never lists two skills of one name, and never more than a hundred", async () => {
    const mine = await newNamespace("private");
    const token = await newToken(mine, "reader");
    await seedSkill(mine, "featured-skill");
    expect(uris(await call("/me/mcp", "skills/list", {}, { token }))).toEqual([
      `skill://${mine}/featured-skill/SKILL.md`,
    ]);
  });
});

describe("an address in another spelling", () => {
  const spellings = [
    "/%6dcp",
    "/m%63p/x",
    "/%6Dcp/x",
    "/me/%6dcp",
    "/m%65/mcp",
    "/me/m%63p/x",
    "/%72/x/mcp",
    "/r/x/mc%70",
    "/%2fmcp",
    "/mcp%2fx",
    "/MCP",
    "//mcp",
    "/r//mcp",
    "/%2ewell-known/nothing",
    "/.well-known/oauth-protected-resourc%65/me/mcp",
    "/api/v%31/namespaces",
    "/api/v1/namespace%73/x/skills/a",
    "/api/v1/namespaces/x/skill%73/a",
    "/blob%73/sha256/x",
  ];

  it.each(spellings)("is none: %s", async (path) => {
    for (const method of ["GET", "POST", "DELETE"]) {
      const response = await send(path, { method });
      const body = (await response.json()) as { code: string; status: number };
      expect([method, response.status, body.status, body.code]).toEqual([method, 404, 404, "not_found"]);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(response.headers.get("cache-control")).toContain("no-store");
    }
  });

  it("has no metadata", async () => {
    for (const address of ["/%6de/mcp", "/me/%6dcp", "/%6dcp/x"]) {
      expect([address, (await send(metadata + address)).status]).toEqual([address, 404]);
    }
  });

  it("of a name in it is the address of nothing, not another one of the same", async () => {
    const name = open.replace("s", "%73");
    for (const path of [`/mcp/${name}`, `/mcp/${open}/%64esk`, `/mcp/${open}%2fdesk`]) {
      expect([path, (await modern(path, "skills/list")).status]).toEqual([path, 401]);
    }
  });
});

describe("the metadata of an address that asks for a token", () => {
  const get = async (address: string) => {
    const response = await send(metadata + address, { headers: { origin: "https://anywhere.example" } });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  it("is there for exactly those, names the address as it was typed, and where to sign in", async () => {
    const asking = ["/me/mcp", `/me/mcp/${open}`, `/mcp/${closed}`, `/mcp/${unknown}`, `/mcp/${closed}/desk`];
    for (const address of [...asking, `/mcp/${unknown}/`, "/mcp/A%20b", "/mcp/a/b/c", "/api/v1"]) {
      const { status, text, headers } = await get(address);
      expect([address, status, JSON.parse(text)]).toEqual([
        address,
        200,
        {
          resource: `http://localhost${address}`,
          authorization_servers: ["http://localhost"],
          bearer_methods_supported: ["header"],
          scopes_supported: ["skills:read"],
        },
      ]);
      expect(headers.get("access-control-allow-origin")).toBe("*");
    }
    for (const address of ["", "/", "/mcp", `/mcp/${open}`, "/api/v1/me", "/r/x/mcp", "/mcpx", "/me"]) {
      expect([address, (await get(address)).status]).toEqual([address, 404]);
    }
  });
});

describe("a read link", () => {
  const linkOf = async (namespace: string, body: Record<string, unknown> = {}) => {
    const { body: made, status } = await api("POST", `/namespaces/${namespace}/links`, body);
    expect(status).toBe(201);
    const url = new URL(made["url"] as string);
    return { id: made["id"] as string, address: url.pathname, index: new URL(made["index"] as string).pathname };
  };

  it.each(eras)("opens a private namespace over %s to who cannot send a header", async (_, call) => {
    const { address } = await linkOf(closed);
    expect(uris(await call(address, "skills/list"))).toEqual([`skill://${closed}/closed-skill/SKILL.md`]);
    const uri = `skill://${closed}/closed-skill/SKILL.md`;
    const read = await call(address, "resources/read", { uri });
    expect(read.result).toBeDefined();
    expect(read.result!["cacheScope"] ?? "private").toBe("private");
    expect((await call(address, "skills/get", { uri: `skill://${open}/open-skill/SKILL.md` })).error!.code).toBe(
      -32602,
    );
  });

  it("never has its secret in the server's name", async () => {
    const { address, id } = await linkOf(closed);
    const { result } = await legacy(address, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    const { name } = result!["serverInfo"] as { name: string };
    expect(name).toBe(`localhost/r/${id}/mcp`);
    expect(JSON.stringify(result)).not.toContain(address.split("/")[2]);
  });

  it("can open one collection, and nothing beside it", async () => {
    await seedSkill(closed, "left-out");
    await api("PUT", `/namespaces/${closed}/collections/one`, { skills: [{ path: "closed-skill" }] });
    const { address } = await linkOf(closed, { collection: "one" });
    expect(uris(await modern(address, "skills/list"))).toEqual([`skill://${closed}/closed-skill/SKILL.md`]);
    const get = (name: string) => modern(address, "skills/get", { uri: `skill://${closed}/${name}/SKILL.md` });
    expect((await get("closed-skill")).result).toBeDefined();
    expect((await get("left-out")).error!.code).toBe(-32602);
    const call = { name: "search_skills", arguments: { query: "left out" } };
    const { result } = await modern(address, "tools/call", call);
    expect((result!["structuredContent"] as { cards: unknown[] }).cards).toEqual([]);
    await api("DELETE", `/namespaces/${closed}/collections/one`);
    await api("PUT", `/namespaces/${closed}/collections/one`, { skills: "all" });
    expect((await modern(address, "skills/list")).status).toBe(404);
  });

  it("that ended, never was, or was made by somebody else has one answer", async () => {
    const { address, id } = await linkOf(closed);
    await api("DELETE", `/namespaces/${closed}/links/${id}`);
    const secret = address.split("/")[2]!;
    const forged = `/r/${secret.slice(0, -1)}${secret.endsWith("0") ? "1" : "0"}/mcp`;
    const asToken = `/r/${reader}/mcp`;
    const answers = await Promise.all(
      [address, forged, asToken, "/r/x/mcp"].map(async (one) => {
        const { status, body, headers } = await modern(one, "skills/list");
        return JSON.stringify([status, body, headers.get("www-authenticate")]);
      }),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain("404");
    // Nor is a link's secret a token.
    expect((await modern(`/mcp/${closed}`, "skills/list", {}, { token: secret })).status).toBe(401);
  });

  it("refuses a bad token that is sent along, like every other address", async () => {
    const { address } = await linkOf(closed);
    expect((await rpc(address, "{}", { token: "junk" })).status).toBe(401);
  });

  it("has an index whose archives need no header", async () => {
    const { index } = await linkOf(closed, {});
    const response = await send(index);
    const { skills } = (await response.json()) as { skills: { name: string; url: string; digest: string }[] };
    expect(response.headers.get("cache-control")).toContain("no-store");
    const one = skills.find(({ name }) => name === "closed-skill")!;
    const archive = await send(one.url);
    expect(archive.status).toBe(200);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await archive.arrayBuffer()));
    expect(`sha256:${[...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`).toBe(one.digest);
    const wrong = one.url.replace("closed-skill", "closed-unknown");
    expect((await send(wrong)).status).toBe(404);
  });
});
