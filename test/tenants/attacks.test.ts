import { beforeAll, describe, expect, it } from "vitest";

import { api, newNamespace, newToken, operator, publish, seedSkill, skillMdOf } from "../harness.ts";
import { ask } from "./answers.ts";
import type { Attempt, Seen } from "./answers.ts";
import { message } from "./methods.ts";

/** Attacks by name: on headers and paths. Those with origins, bodies and credentials are in the files beside this. */
const marker = "quagga";
let open: string;
let closed: string;
let held: string;
let stranger: string;

beforeAll(async () => {
  [open, closed] = [await newNamespace(), await newNamespace("private")];
  await seedSkill(open, "open-skill");
  const secret = { "SKILL.md": skillMdOf("hidden-skill", `A ${marker}`), "notes.txt": marker };
  for (const namespace of [open, closed])
    await publish(namespace, secret, "?path=vault/hidden-skill&visibility=private");
  const { body } = await api("POST", `/namespaces/${open}/tokens`, { role: "publisher", path: "team" });
  held = body["token"] as string;
  stranger = await newToken(await newNamespace(), "admin");
});

const get = (path: string, headers: Record<string, string> = {}): Attempt => ({ method: "GET", path, headers });
const list = (path: string, headers: Record<string, string> = {}): Attempt => {
  const one = message(path, "2025-11-25", "skills/list", {});
  return { ...one, headers: { ...one.headers, ...headers } };
};
const headersOf = (seen: Seen) =>
  new Map(seen.headers.split("\n").map((line) => line.split(/: (.*)/, 2) as [string, string]));

describe("smuggling headers", () => {
  const split = "x\r\nset-cookie: smuggled=1\r\n\r\n<script>";

  function expectNone(seen: Seen): void {
    expect(seen.status).toBeLessThan(500);
    const headers = headersOf(seen);
    expect(headers.has("set-cookie")).toBe(false);
    // Only where the address is named again may the text come back, and then encoded.
    for (const [name, value] of headers) expect([name, /[\r\n"]smuggled|cookie: /.test(value)]).toEqual([name, false]);
  }

  it("by titles, labels, descriptions and instructions shows them in JSON only", async () => {
    const mine = await newNamespace();
    await seedSkill(mine, "one");
    await api("PATCH", `/namespaces/${mine}`, { title: split.slice(0, 100), description: split });
    await api("PUT", `/namespaces/${mine}/collections/desk`, { title: split, instructions: split, skills: "all" });
    const base = `/api/v1/namespaces/${mine}`;
    for (const path of [base, `${base}/collections`, `${base}/collections/desk`]) expectNone(await ask(get(path)));
    for (const noun of ["tokens", "links", "invitations"]) {
      const body = JSON.stringify({ label: split, role: noun === "links" ? undefined : "reader" });
      const headers = { "content-type": "application/json" };
      expectNone(await ask({ method: "POST", path: `${base}/${noun}`, headers, body }, operator));
      expectNone(await ask(get(`${base}/${noun}`), operator));
    }
    expectNone(await ask(message(`/mcp/${mine}/desk`, "2026-07-28", "server/discover", {})));
  });

  it("by names of files is refused where it could work, and encoded where names may be odd", async () => {
    const mine = await newNamespace();
    for (const name of [`a${split}.txt`, "a\r.txt", 'a".txt', "a\u0000.txt", "a\u2028.txt\u0085"]) {
      const { status } = await publish(mine, { "SKILL.md": skillMdOf("odd"), [name]: "x" }, "?dry_run=true");
      expect([name, status]).toEqual([name, 422]);
    }
    const odd = ["a;filename=evil.exe", "a'b(c)*!.txt", "übel ☠.txt", "a%0d%0aset-cookie:x.txt", "a,b=c.txt"];
    const files = Object.fromEntries(odd.map((name) => [name, "x"]));
    expect((await publish(mine, { "SKILL.md": skillMdOf("odd"), ...files })).status).toBe(201);
    for (const name of odd) {
      const path = `/api/v1/namespaces/${mine}/skills/odd/-/releases/current/files/${encodeURIComponent(name)}`;
      const seen = await ask(get(path));
      expect([name, seen.status]).toEqual([name, 200]);
      const disposition = headersOf(seen).get("content-disposition");
      expect(disposition).toMatch(/^attachment; filename\*=UTF-8''[A-Za-z0-9!#$&+.^_`|~%-]+$/);
      expect(decodeURIComponent(disposition!.split("''")[1]!)).toBe(name);
    }
  });

  it("by names and parameters that come back in Location, WWW-Authenticate or Allow", async () => {
    const text = encodeURIComponent(split);
    const raw = `a"b,c;d'e=f`;
    for (const part of [text, raw, encodeURIComponent(raw), "%0D%0Aset-cookie:%20smuggled"]) {
      const base = `/api/v1/namespaces/${part}`;
      for (const path of [`/mcp/${part}`, `/mcp/${open}/${part}`, `/me/mcp/${part}`, `/r/${part}/mcp`]) {
        const seen = await ask(list(path));
        expectNone(seen);
        const challenge = headersOf(seen).get("www-authenticate");
        if (challenge !== undefined) {
          expect(challenge).toMatch(/^Bearer resource_metadata="http:\/\/localhost\/[^"\\\s]*", scope="skills:read"$/);
        }
      }
      for (const path of [
        base,
        `${base}/skills/x`,
        `${base}/collections/y`,
        `/${part}/.well-known/agent-skills/index.json`,
      ]) {
        expectNone(await ask(get(path), operator));
        expectNone(await ask({ method: "PUT", path }, operator));
      }
      for (const query of ["path", "version", "visibility", "dry_run", part]) {
        expectNone(await ask({ method: "POST", path: `/api/v1/namespaces/${open}/skills?${query}=${part}` }, operator));
      }
      expectNone(await ask(get(`/.well-known/oauth-protected-resource/mcp/${part}`)));
    }
  });
});

describe("tricks with paths", () => {
  const spellings = (name: string) => [
    `%2e%2e/${name}`,
    `${open}/../${name}`,
    `${open}/%2e%2e/${name}`,
    `${open}%2f..%2f${name}`,
    `${open}%252f..%252f${name}`,
    `${name}%2f`,
    `${name}%2fvault`,
    `${name}%00`,
    `${name}%20`,
    `${name}.`,
    `${name};x=1`,
    `${name}\\`,
    `${name}%5c`,
    `/${name}`,
    `./${name}`,
    name.toUpperCase(),
    name.replace("s", "%73"),
    name.replace("s", "%2573"),
    name.replace("a", "\u0430"),
    name.replace("s", "\uff53"),
    name.replace("-", "\u2010"),
    name.replace("a", "a\u200b"),
  ];

  it("in the name of a namespace open a private one at no door", async () => {
    for (const spelling of spellings(closed)) {
      const base = `/api/v1/namespaces/${spelling}`;
      const attempts = [
        list(`/mcp/${spelling}`),
        list(`/me/mcp/${spelling}`),
        list(`/mcp/${spelling}/desk`),
        ...[
          "",
          "/skills",
          "/skills/vault/hidden-skill",
          "/skills/vault/hidden-skill/-/releases/current/files/notes.txt",
        ].map((rest) => get(base + rest)),
        get(`/${spelling}/.well-known/agent-skills/index.json`),
        message("/mcp", "2025-11-25", "resources/read", { uri: `skill://${spelling}/vault/hidden-skill/notes.txt` }),
      ];
      for (const attempt of attempts) {
        for (const token of [undefined, stranger]) {
          const seen = await ask(attempt, token);
          expect([attempt.path, seen.status < 500, seen.body.includes(marker)]).toEqual([attempt.path, true, false]);
        }
      }
    }
  });

  it("in the path of a skill or file lead out of neither a token's path nor a release", async () => {
    const skill = "vault/hidden-skill";
    const paths = [
      `team/../${skill}`,
      `team/%2e%2e/${skill}`,
      `team%2f..%2f${skill}`,
      `team//${skill}`,
      `team/-/../${skill}`,
    ];
    const base = `/api/v1/namespaces/${open}/skills`;
    for (const path of [...paths, `team\\..\\${skill}`, `team%00/${skill}`]) {
      for (const rest of ["", "/-/releases/current/manifest", "/-/releases/current/files/notes.txt"]) {
        const seen = await ask(get(`${base}/${path}${rest}`), held);
        expect([path, seen.status, seen.body.includes(marker)]).toEqual([path, 404, false]);
      }
      const change = { method: "PATCH", path: `${base}/${path}`, headers: { "content-type": "application/json" } };
      const seen = await ask({ ...change, body: '{"visibility":"public"}' }, held);
      expect([path, [403, 404].includes(seen.status)]).toEqual([path, true]);
    }
    const files = `${base}/open-skill/-/releases/current/files`;
    for (const file of [
      "..%2f..%2fvault/hidden-skill",
      "%2e%2e/%2e%2e",
      "..%5c..",
      "%2fetc%2fpasswd",
      "SKILL.md%00",
      "%ff",
      "%",
    ]) {
      expect([file, (await ask(get(`${files}/${file}`))).status]).toEqual([file, 404]);
    }
  });
});
