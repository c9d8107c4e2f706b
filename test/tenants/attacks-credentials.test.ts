import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";

import { mintSecret } from "../../src/auth/tokens.ts";
import { api, newNamespace, newToken, operator, publish, skillMdOf } from "../harness.ts";
import { ask } from "./answers.ts";
import type { Attempt } from "./answers.ts";
import { message } from "./methods.ts";

/** Attacks by name: with credentials, real and made up. */
let closed: string;
let token: string;
let link: string;
let invitation: string;

beforeAll(async () => {
  closed = await newNamespace("private");
  await publish(closed, { "SKILL.md": skillMdOf("hidden-skill", "A quagga") });
  token = await newToken(closed, "admin");
  const made = await api("POST", `/namespaces/${closed}/links`, {});
  link = (made.body["url"] as string).split("/")[4]!;
  invitation = (await api("POST", `/namespaces/${closed}/invitations`, { role: "reader" })).body["secret"] as string;
});

afterEach(() => void vi.restoreAllMocks());

const get = (path: string, headers: Record<string, string> = {}): Attempt => ({ method: "GET", path, headers });
const list = (path: string) => message(path, "2025-11-25", "skills/list", {});
const hex = (bytes: number) =>
  [...crypto.getRandomValues(new Uint8Array(bytes))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const formed = (kind: string) => `${kind}_${hex(8)}_${hex(32)}_${hex(8)}`;
const index = ".well-known/agent-skills/index.json";

describe("a flood of a thousand junk credentials", () => {
  const foreign = "another-signing-key-0123456789abcdef-xyz";
  const kinds: [string, () => string | Promise<string>][] = [
    ["random words", () => hex(20)],
    ["tokens with a made-up check", () => formed("skr")],
    ["tokens of another registry", async () => (await mintSecret("skr", foreign)).text],
    ["read links as tokens", async () => (await mintSecret("skl", env.SIGNING_KEY!)).text],
    ["invitations as tokens", async () => (await mintSecret("ski", env.SIGNING_KEY!)).text],
    ["tokens from before the check", () => `skr_${hex(8)}_${hex(32)}`],
    ["a living token with one digit changed", () => `${token.slice(0, 40)}${hex(1)}${token.slice(42, -2)}${hex(1)}`],
    ["tokens with a longer id", () => `skr_${hex(9)}_${hex(32)}_${hex(8)}`],
    ["very long ones", () => `skr_${"f".repeat(8_000)}`],
  ];
  const doors = (): Attempt[] => [
    list("/mcp"),
    list(`/mcp/${closed}`),
    list("/me/mcp"),
    list(`/r/${link}/mcp`),
    get(`/r/${link}/${index}`),
    get(`/r/${link}/archives/${closed}/hidden-skill/1.0.0.tar.gz`),
    get("/api/v1/namespaces"),
    get("/api/v1/me"),
    get(`/api/v1/namespaces/${closed}/skills`),
    { method: "DELETE", path: `/api/v1/namespaces/${closed}` },
    get(`/api/v1/invitations/${invitation}`),
    get("/api/v1/audit"),
    get(`/${index}`),
    get(`/${closed}/${index}`),
    get(`/blobs/sha256/${"0".repeat(64)}`),
  ];

  it.each(kinds)("as bearer tokens asks nothing of any store: %s", async (_, make) => {
    const all = doors();
    let calls = 0;
    for (let count = 0; count < 1_000; count++) {
      const attempt = all[count % all.length]!;
      const seen = await ask(attempt, await make());
      expect([attempt.path, seen.status]).toEqual([attempt.path, 401]);
      calls += seen.calls.length;
    }
    expect(calls).toBe(0);
  });

  it.each([
    [
      "read links",
      "skl",
      (one: string) => [list(`/r/${one}/mcp`), get(`/r/${one}/${index}`), get(`/r/${one}/archives/a/b/1.0.0.tar.gz`)],
    ],
    [
      "invitations",
      "ski",
      (one: string) => [get(`/api/v1/invitations/${one}`), { ...list(`/api/v1/invitations/${one}`) }],
    ],
  ] as const)("as secrets of %s asks nothing of any store", async (_, kind, at) => {
    let calls = 0;
    const makers = [
      () => formed(kind),
      () => formed("skr"),
      () => hex(30),
      async () => (await mintSecret(kind, foreign)).text,
    ];
    for (let count = 0; count < 1_000; count++) {
      const attempts = at(await makers[count % makers.length]!());
      const seen = await ask(attempts[count % attempts.length]!);
      expect(seen.status).toBe(404);
      calls += seen.calls.length;
    }
    expect(calls).toBe(0);
  });
});

describe("a token anywhere but in the Authorization header", () => {
  it("is not taken", async () => {
    const base = `/api/v1/namespaces/${closed}`;
    const names = ["access_token", "token", "authorization", "bearer", "api_key", "key"];
    for (const secret of [token, operator]) {
      const query = `?${names.map((name) => `${name}=${secret}`).join("&")}`;
      const headers = {
        "x-api-key": secret,
        "x-authorization": `Bearer ${secret}`,
        "proxy-authorization": `Bearer ${secret}`,
        "mcp-session-id": secret,
        cookie: `token=${secret}; access_token=${secret}`,
      };
      const body = JSON.stringify(Object.fromEntries(names.map((name) => [name, secret])));
      const form = new URLSearchParams({ access_token: secret }).toString();
      const attempts = [
        get(`${base}/skills${query}`, headers),
        get(`/api/v1/audit${query}`, headers),
        {
          method: "POST",
          path: `${base}/tokens${query}`,
          headers: { ...headers, "content-type": "application/json" },
          body,
        },
        {
          method: "POST",
          path: `${base}/tokens`,
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: form,
        },
        { ...list(`/mcp/${closed}${query}`) },
        message(`/mcp/${closed}`, "2026-07-28", "skills/list", {
          access_token: secret,
          _meta: { authorization: secret },
        }),
        get(`/${closed}/${index}${query}`, headers),
      ];
      for (const attempt of attempts) {
        const seen = await ask(attempt);
        expect([attempt.path, [401, 404].includes(seen.status), seen.body.includes("quagga")]).toEqual([
          attempt.path,
          true,
          false,
        ]);
        expect(seen.body).not.toContain(secret);
      }
    }
  });

  it("is not taken in another scheme, twice, or with something behind it", async () => {
    const odd = [
      `Basic ${btoa(`token:${token}`)}`,
      token,
      `Token ${token}`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer ${token} x`,
      "Bearer",
      "Bearer ",
    ];
    for (const authorization of odd) {
      for (const attempt of [get(`/api/v1/namespaces/${closed}`), list(`/mcp/${closed}`)]) {
        const seen = await ask({ ...attempt, headers: { ...attempt.headers, authorization } });
        expect([authorization, seen.status]).toEqual([authorization, 401]);
      }
    }
  });
});

describe("secrets in logs", () => {
  const levels = ["log", "info", "warn", "error", "debug", "trace"] as const;

  it("never appear, nor in an answer, however a request that carries them fails", async () => {
    const lines: string[] = [];
    for (const level of levels)
      vi.spyOn(console, level).mockImplementation((...all) => void lines.push(JSON.stringify(all)));
    const broken = { prepare: env.DB.prepare.bind(env.DB), batch: () => Promise.reject(new Error("no database")) };
    const failing = new Proxy(env.DB, {
      get: (db, name) =>
        name === "prepare"
          ? () => ({ bind: () => ({ first: broken.batch, all: broken.batch, run: broken.batch }) })
          : name === "batch"
            ? broken.batch
            : Reflect.get(db, name),
    });
    const encoded = (secret: string) => secret.replace("sk", "%73%6b");
    const attempts = [link, encoded(link), `${link}%20`, `x${link}`].flatMap((one) => [
      list(`/r/${one}/mcp`),
      get(`/r/${one}/${index}`),
      get(`/r/${one}/archives/${closed}/hidden-skill/1.0.0.tar.gz`),
    ]);
    const invited = [invitation, encoded(invitation)].map((one) => get(`/api/v1/invitations/${one}`));
    const other = [
      get(`/api/v1/namespaces/${closed}`),
      get(`/api/v1/namespaces/${token}`),
      list(`/mcp/${closed}`),
      list(`/mcp/${token}`),
      get(`/${token}/${index}`),
    ];
    for (const attempt of [...attempts, ...invited, ...other]) {
      for (const bearer of [undefined, token, operator]) {
        const seen = await ask(attempt, bearer, { DB: failing });
        const named = attempt.path.includes(token) ? [] : [token];
        for (const secret of [...named, operator, env.SIGNING_KEY!])
          expect(seen.body + seen.headers).not.toContain(secret);
      }
    }
    expect(lines.length).toBeGreaterThan(10);
    const tails = [token, link, invitation].map((secret) => secret.split("_")[2]!);
    for (const secret of [...tails, operator, env.SIGNING_KEY!])
      expect(lines.filter((line) => line.includes(secret))).toEqual([]);
  });
});
