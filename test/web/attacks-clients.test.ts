import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { maxRegistrationsPerHour, maxUnusedRegistrations, unusedRegistrationMs } from "../../src/domain/limits.ts";
import worker from "../../src/index.ts";
import { forgetSignIns } from "../../src/storage/oauth-clients.ts";
import { modern, newNamespace, newToken, origin, seedSkill, send } from "../harness.ts";
import {
  askToken,
  authorizePath,
  obtainCode,
  pkce,
  redeem,
  redirectUri,
  refresh,
  register,
  signInAt,
} from "./oauth-client.ts";
import { Person } from "./person.ts";
import type { Shown } from "./person.ts";

/** Clients in masses, clients that are none, and documents of clients that lead inside or change. */
const hour = 3_600_000;

/** What the host of a client answers; what it was asked is kept. */
let asked: string[];
let answers: Record<string, () => Response | Promise<Response>>;

beforeEach(() => {
  asked = [];
  answers = {};
  vi.stubGlobal("fetch", async (input: string) => {
    asked.push(input);
    const answer = answers[input];
    if (answer === undefined) throw new Error("getaddrinfo ENOTFOUND");
    return answer();
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function later(ms: number): void {
  const then = Date.now() + ms;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(then);
}

async function registerFrom(address: string, fields: Record<string, unknown> = {}) {
  const response = await send("/register", {
    method: "POST",
    headers: { "content-type": "application/json", "cf-connecting-ip": address },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: "none", ...fields }),
  });
  const body = await response.json<{ client_id: string; error: string }>();
  return { status: response.status, retryAfter: response.headers.get("retry-after"), body };
}

/** As if so many had been registered, each a millisecond after the other. */
async function insertRegistrations(count: number, { originKey = "others", at = 1, used = false, name = "old" }) {
  const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO oauth_registrations (client_id, origin_key, registered_at, used_at)
       ${numbers} SELECT ?4 || i, ?2, ?3 + i, ?5 FROM n`,
    ).bind(count, originKey, at, name, used ? 1 : null),
    env.DB.prepare(`INSERT INTO oauth_records (key, value) ${numbers} SELECT 'client:' || ?2 || i, '{}' FROM n`).bind(
      count,
      name,
    ),
  ]);
}

const known = async (clientId: string) => {
  const row = await env.DB.prepare(
    `SELECT (SELECT count(*) FROM oauth_registrations WHERE client_id = ?1) AS registered,
       (SELECT count(*) FROM oauth_records WHERE key = 'client:' || ?1) AS kept`,
  )
    .bind(clientId)
    .first<{ registered: number; kept: number }>();
  return [row!.registered, row!.kept];
};

describe("a flood of registrations", () => {
  it("from one address is told when to come again, and keeps no other address from registering", async () => {
    const [address, next] = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9"];
    const first = await registerFrom(address);
    const key = await env.DB.prepare("SELECT origin_key AS key FROM oauth_registrations WHERE client_id = ?1")
      .bind(first.body.client_id)
      .first<{ key: string }>();
    expect(key!.key).not.toContain("2001");
    await insertRegistrations(maxRegistrationsPerHour - 2, { originKey: key!.key, at: Date.now(), name: "flood" });
    expect((await registerFrom(next)).status).toBe(201);
    for (const one of [address, next]) {
      const { status, retryAfter } = await registerFrom(one);
      expect([one, status]).toEqual([one, 429]);
      expect(Number(retryAfter)).toBeGreaterThan(0);
      expect(Number(retryAfter)).toBeLessThanOrEqual(3_600);
    }
    expect((await registerFrom("2001:db8:1:3::1")).status).toBe(201);
    expect((await registerFrom("203.0.113.9")).status).toBe(201);
    later(hour + 1_000);
    expect((await registerFrom(address)).status).toBe(201);
  });

  it("gets as many as its address may have also when it comes all at once, and leaves no record of the others", async () => {
    const count = async (sql: string) => (await env.DB.prepare(sql).first<{ n: number }>())!.n;
    const records = "SELECT count(*) AS n FROM oauth_records WHERE key LIKE 'client:%'";
    const registrations = "SELECT count(*) AS n FROM oauth_registrations";
    const before = [await count(records), await count(registrations)];
    const answers = await Promise.all(
      Array.from({ length: maxRegistrationsPerHour + 30 }, () => registerFrom("203.0.113.77")),
    );
    const [added, refused] = [201, 429].map((wanted) => answers.filter(({ status }) => status === wanted));
    expect([added!.length, refused!.length]).toEqual([maxRegistrationsPerHour, 30]);
    for (const { retryAfter, body } of refused!) {
      expect(Number(retryAfter)).toBeGreaterThan(0);
      expect(body.client_id).toBeUndefined();
    }
    for (const { body } of added!) expect(await known(body.client_id)).toEqual([1, 1]);
    const after = [await count(records), await count(registrations)];
    expect(after).toEqual(before.map((one) => one + maxRegistrationsPerHour));
  });

  it("that comes all at once leaves no more that nobody used than there may be", async () => {
    await env.DB.batch([
      env.DB.prepare("DELETE FROM oauth_registrations"),
      env.DB.prepare("DELETE FROM oauth_records"),
    ]);
    await insertRegistrations(maxUnusedRegistrations - 2, {});
    const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => registerFrom(`203.0.113.${at + 100}`)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    const unused = "SELECT count(*) AS n FROM oauth_registrations WHERE used_at IS NULL";
    expect(await env.DB.prepare(unused).first()).toEqual({ n: maxUnusedRegistrations });
    for (const { body } of answers) expect(await known(body.client_id)).toEqual([1, 1]);
    expect(await known("old8")).toEqual([0, 0]);
  });

  it("crowds out the oldest of those that nobody used, and none that somebody did", async () => {
    await env.DB.batch([
      env.DB.prepare("DELETE FROM oauth_registrations"),
      env.DB.prepare("DELETE FROM oauth_records"),
    ]);
    await insertRegistrations(maxUnusedRegistrations, {});
    await insertRegistrations(1, { at: 0, used: true, name: "used" });
    const { body } = await registerFrom("203.0.113.10");
    expect(await known("old1")).toEqual([0, 0]);
    expect(await known("old2")).toEqual([1, 1]);
    expect(await known("used1")).toEqual([1, 1]);
    expect(await known(body.client_id)).toEqual([1, 1]);
  });

  it("is gone after a week; what was used, or is younger, stays", async () => {
    await env.DB.batch([
      env.DB.prepare("DELETE FROM oauth_registrations"),
      env.DB.prepare("DELETE FROM oauth_records"),
    ]);
    const now = Date.now();
    await insertRegistrations(3, { at: now - unusedRegistrationMs - 10 });
    await insertRegistrations(1, { at: now - unusedRegistrationMs - 10, used: true, name: "used" });
    await insertRegistrations(1, { at: now - unusedRegistrationMs + hour, name: "young" });
    const path = `/mcp/${await newNamespace("public")}`;
    const signedIn = await signInAt(await newToken(path.split("/")[2]!, "reader"), path);
    await forgetSignIns(env.DB, now, 100);
    for (const id of ["old1", "old2", "old3"]) expect(await known(id)).toEqual([0, 0]);
    for (const id of ["used1", "young1"]) expect(await known(id)).toEqual([1, 1]);
    await forgetSignIns(env.DB, now + 2 * unusedRegistrationMs, 100);
    expect(await known("young1")).toEqual([0, 0]);
    expect(await known(signedIn.clientId)).toEqual([1, 1]);
  });

  it("is of small registrations only, and not sent by foreign pages", async () => {
    const many = Array.from({ length: 21 }, (_, at) => `${redirectUri}/${at}`);
    expect((await register({ redirect_uris: many })).status).toBe(400);
    expect((await register({ redirect_uris: redirectUri })).status).toBe(400);
    expect((await register({ redirect_uris: [`${redirectUri}/${"x".repeat(1_000)}`] })).status).toBe(400);
    expect((await register({ client_name: "x".repeat(201) })).status).toBe(400);
    expect((await register({ contacts: ["x".repeat(20_000)] })).status).toBe(413);
    for (const body of ["", "null", "[]", "{", '"x"']) {
      const response = await send("/register", {
        method: "POST",
        body,
        headers: { "content-type": "application/json" },
      });
      expect([body, response.status]).toEqual([body, 400]);
    }
    const foreign = { origin: "https://evil.example", "content-type": "application/json" };
    const response = await send("/register", { method: "POST", body: "{}", headers: foreign });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  });
});

const hosted = "https://skills.example.com";

/** A registry that is reached by a public name. */
async function sendHosted(path: string, init: RequestInit = {}): Promise<Response> {
  const context = createExecutionContext();
  const response = await worker.fetch(new Request(hosted + path, init), { ...env, PUBLIC_ORIGIN: hosted }, context);
  await waitOnExecutionContext(context);
  return response;
}

const inside = [
  "https://localhost/client.json",
  "https://localhost./client.json",
  "https://a.localhost/client.json",
  "https://127.0.0.1/client.json",
  "https://127.1/client.json",
  "https://2130706433/client.json",
  "https://0x7f000001/client.json",
  "https://0x7f.0.0.1/client.json",
  "https://0177.0.0.1/client.json",
  "https://017700000001/client.json",
  "https://127。0。0。1/client.json",
  "https://①②⑦.0.0.1/client.json",
  "https://0.0.0.0/client.json",
  "https://[::1]/client.json",
  "https://[::]/client.json",
  "https://[::ffff:127.0.0.1]/client.json",
  "https://[::ffff:7f00:1]/client.json",
  "https://[fd00::1]/client.json",
  "https://[fe80::1]/client.json",
  "https://[64:ff9b::a9fe:a9fe]/client.json",
  "https://10.0.0.1/client.json",
  "https://172.16.0.1/client.json",
  "https://192.168.0.1/client.json",
  "https://100.64.0.1/client.json",
  "https://169.254.169.254/client.json",
  "https://2852039166/client.json",
  "https://169.254.169.254./client.json",
  "https://8.8.8.8/client.json",
  "https://metadata.google.internal/client.json",
  "https://metadata.google.internal./client.json",
  "https://printer.local/client.json",
  "https://db.corp/client.json",
  "https://host.docker.internal/client.json",
  "https://router.home.arpa/client.json",
  "https://intranet/client.json",
  "https://metadata/client.json",
  "https://skills.example.com/client.json",
  "https://SKILLS.example.com/client.json",
  "https://skills.example.com:443/client.json",
  "https://skills.example.com:8443/client.json",
  "https://skills.example.com./client.json",
  "https://client.example:8443/client.json",
  "https://client.example:80/client.json",
  "https://client.example:443/client.json",
  "https://user@client.example/client.json",
  "https://user:secret@client.example/client.json",
  "https://client.example@169.254.169.254/client.json",
  "https://client.example\\@169.254.169.254/client.json",
  "https://client.example/client.json#x",
  "https://client.example/client.json#",
  "https://client.example/client.json?x=1",
  "https://client.example",
  "https://client.example/",
  "https://client.example/a/../client.json",
  "https://client.example/%2e/client.json",
  "https://CLIENT.example/client.json",
  "https://client.example./client.json",
  "https:client.example/client.json",
  "https:///client.example/client.json",
  " https://client.example/client.json",
  "https://client.example/client.json\n",
  `https://client.example/${"x".repeat(1_000)}`,
  "HTTPS://client.example/client.json",
  "http://client.example/client.json",
  "http://169.254.169.254/latest/meta-data/",
  "http://localhost/client.json",
  "file:///etc/passwd",
  "ftp://client.example/client.json",
  "data:application/json,{}",
  "gopher://client.example/1",
];

/** A person reads why; nobody is led anywhere, and nothing is kept. */
async function refuses(shown: Shown, name: string): Promise<void> {
  expect([name, shown.status, shown.location]).toEqual([name, 400, null]);
  expect(shown.html).toContain("This sign-in cannot go on");
}

describe("a client id that leads inside", () => {
  it("is refused without a question to anybody, at the authorization and the token endpoint", async () => {
    const person = new Person(sendHosted);
    await person.become({ issuer: "https://accounts.example", subject: "ada" });
    const { challenge } = await pkce();
    for (const client_id of inside) {
      const query = { client_id, redirect_uri: redirectUri, resource: `${hosted}/me/mcp`, code_challenge: challenge };
      await refuses(await person.open(authorizePath(query)), client_id);
      for (const grant_type of ["authorization_code", "refresh_token"]) {
        const form = { grant_type, client_id, code: "a:b:c", refresh_token: "a:b:c", redirect_uri: redirectUri };
        const response = await sendHosted("/token", { method: "POST", body: new URLSearchParams(form) });
        const { error } = await response.json<{ error: string }>();
        expect(["invalid_client", "invalid_grant"], client_id).toContain(error);
      }
      const form = new URLSearchParams({ client_id, token: "a:b:c" });
      expect((await sendHosted("/revoke", { method: "POST", body: form })).status).toBeLessThan(500);
    }
    expect(asked).toEqual([]);
    // The same person with a client outside: that one is asked.
    const outside = "https://client.example/client.json";
    const query = {
      client_id: outside,
      redirect_uri: redirectUri,
      resource: `${hosted}/me/mcp`,
      code_challenge: challenge,
    };
    await refuses(await person.open(authorizePath(query)), "unreachable");
    expect(asked).toEqual([outside]);
  });
});

let clients = 0;

/** A client of its own, with its document. */
function newClient(more: Record<string, unknown> = {}) {
  const host = `client-${++clients}.example`;
  const id = `https://${host}/client.json`;
  const document = { client_id: id, client_name: "A documented client", redirect_uris: [redirectUri], ...more };
  return { id, host, document };
}

const served =
  (document: unknown, headers: Record<string, string> = {}) =>
  () =>
    Response.json(document, { headers });

async function reader() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "secret-plans");
  const token = await newToken(namespace, "reader");
  const person = new Person();
  await person.signIn(token);
  return { token, person, path: `/mcp/${namespace}`, resource: `${origin}/mcp/${namespace}` };
}

async function openConsent(person: Person, id: string, resource: string, uri = redirectUri): Promise<Shown> {
  const { challenge } = await pkce();
  return person.open(authorizePath({ client_id: id, redirect_uri: uri, resource, code_challenge: challenge }));
}

const kept = async (id: string) =>
  (await env.DB.prepare("SELECT count(*) AS n FROM oauth_documents WHERE client_id = ?1")
    .bind(id)
    .first<{ n: number }>())!.n;

describe("a client's document", () => {
  it("is not followed elsewhere, nor read past its limits, nor taken for what it is not", async () => {
    const { person, resource } = await reader();
    const good = (id: string) => JSON.stringify({ client_id: id, redirect_uris: [redirectUri] });
    const type = { "content-type": "application/json" };
    const endless = () =>
      new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1_024).fill(32)) }), {
        headers: type,
      });
    const bad: Record<string, (id: string) => Response | Promise<Response>> = {
      "a redirect inside": () => new Response(null, { status: 302, headers: { location: "http://169.254.169.254/" } }),
      "a redirect to another path of its own": () =>
        new Response(null, { status: 308, headers: { location: "/other.json" } }),
      "too many bytes": (id) => new Response(good(id) + " ".repeat(20_000), { headers: type }),
      "too many bytes, with a lie about them": (id) =>
        new Response(good(id) + " ".repeat(20_000), { headers: { ...type, "content-length": "10" } }),
      "a body without an end": endless,
      HTML: (id) => new Response(good(id), { headers: { "content-type": "text/html" } }),
      "no type": (id) => new Response(new TextEncoder().encode(good(id))),
      "no JSON": () => new Response("<html>", { headers: type }),
      "JSON that is a list": () => new Response("[]", { headers: type }),
      "JSON that is null": () => new Response("null", { headers: type }),
      "another client's name": (id) => Response.json({ client_id: `${id}x`, redirect_uris: [redirectUri] }),
      "no name": () => Response.json({ redirect_uris: [redirectUri] }),
      "no redirect address": (id) => Response.json({ client_id: id }),
      "an empty list of them": (id) => Response.json({ client_id: id, redirect_uris: [] }),
      "a secret that nobody shares": (id) =>
        Response.json({ ...(JSON.parse(good(id)) as object), token_endpoint_auth_method: "client_secret_basic" }),
      "an error": (id) => new Response(good(id), { status: 404, headers: type }),
      "an answer that is no document": (id) => new Response(good(id), { status: 203, headers: type }),
      "an error of the host": () => new Response("{}", { status: 503, headers: type }),
    };
    for (const [name, answer] of Object.entries(bad)) {
      const { id } = newClient();
      answers[id] = () => answer(id);
      asked.length = 0;
      await refuses(await openConsent(person, id, resource), name);
      expect([name, asked]).toEqual([name, [id]]);
      expect([name, await kept(id)]).toEqual([name, 0]);
    }
  });

  it("is not waited for without end, whether its host says nothing or stops in the middle", async () => {
    const { person, resource } = await reader();
    const real = setTimeout;
    const waits: number[] = [];
    vi.stubGlobal("setTimeout", (work: () => void, ms: number) => {
      if (ms > 1_000) waits.push(ms);
      return real(work, Math.min(ms, 20));
    });
    const stuck = new ReadableStream({ pull: () => new Promise(() => {}) });
    const slow: (() => Response | Promise<Response>)[] = [
      () => new Promise(() => {}),
      () => new Response(stuck, { headers: { "content-type": "application/json" } }),
    ];
    for (const answer of slow) {
      const { id } = newClient();
      answers[id] = answer;
      const shown = await openConsent(person, id, resource);
      await refuses(shown, "slow");
      expect(shown.html).toContain("did not answer within 5000 ms");
    }
    expect(waits).toEqual([5_000, 5_000]);
  });

  it("gets codes on loopback and at its own origin, and at no other that it names", async () => {
    const { person, resource } = await reader();
    const { id, host, document } = newClient();
    const own = `https://${host}/callback`;
    const foreign = [
      "https://evil.example/callback",
      `https://${host}.evil.example/callback`,
      `https://${host}@evil.example/callback`,
      `https://evil@${host}/callback`,
      `https://${host}:8443/callback`,
      `https://${host}./callback`,
      `https://sub.${host}/callback`,
      `https://${host.toUpperCase()}/callback`,
      `https://${host}/a/../callback`,
      `https://${host}/callback#x`,
      `https://${host}\\@evil.example/callback`,
      `http://${host}/callback`,
      "javascript:alert(1)",
    ];
    answers[id] = served({ ...document, redirect_uris: [own, redirectUri, ...foreign] });
    const shown = await openConsent(person, id, resource, own);
    expect([shown.status, shown.html.includes(host)]).toEqual([200, true]);
    expect((await openConsent(person, id, resource)).status).toBe(200);
    for (const uri of foreign) {
      const refused = await openConsent(person, id, resource, uri);
      expect([uri, refused.status, refused.location]).toEqual([uri, 400, null]);
    }
  });

  it("is read only for people who are signed in, and once for all of them", async () => {
    const { person, resource } = await reader();
    const { id, document } = newClient();
    answers[id] = served(document);
    const stranger = new Person();
    expect((await openConsent(stranger, id, resource)).location).toMatch(/^\/sign-in\?/);
    await stranger.submit("/authorize", { handle: "x", decision: "approve", client_id: id });
    await stranger.open(`/sign-in?return=${encodeURIComponent(authorizePath({ client_id: id, resource }))}`);
    for (const grant_type of ["authorization_code", "refresh_token"]) {
      const form = { grant_type, client_id: id, code: "a:b:c", refresh_token: "a:b:c" };
      expect(await askToken(form)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    }
    expect(asked).toEqual([]);
    const other = await reader();
    for (const [one, at] of [
      [person, resource],
      [other.person, other.resource],
    ] as const) {
      expect((await openConsent(one, id, at)).status).toBe(200);
    }
    expect(asked).toEqual([id]);
  });

  it("is read so often only, whoever asks: nobody sends our requests to a host without end", async () => {
    const limited = { RATE_WRITES: "5" };
    const ask = async (path: string, init: RequestInit = {}) => {
      const context = createExecutionContext();
      const headers = new Headers(init.headers);
      headers.set("cf-connecting-ip", "203.0.113.123");
      const response = await worker.fetch(
        new Request(origin + path, { ...init, headers }),
        { ...env, ...limited },
        context,
      );
      await waitOnExecutionContext(context);
      return response;
    };
    const person = new Person(ask);
    await person.become({ issuer: "https://accounts.example", subject: "ada" });
    const { id: good, document } = newClient();
    answers[good] = served(document);
    expect((await openConsent(person, good, `${origin}/mcp`)).status).toBe(200);
    const statuses: number[] = [];
    for (let again = 0; again < 6; again++) {
      const shown = await openConsent(person, newClient().id, `${origin}/mcp`);
      statuses.push(shown.status);
      if (shown.status === 429) expect(shown.headers.get("retry-after")).toMatch(/^\d+$/);
    }
    expect(statuses).toEqual([400, 400, 400, 400, 429, 429]);
    expect(asked).toHaveLength(5);
    // What was read already costs nothing.
    expect((await openConsent(person, good, `${origin}/mcp`)).status).toBe(200);
  });

  it("of a client is not read for another's tokens", async () => {
    const { token, path } = await reader();
    const flow = await signInAt(token, path);
    const { id, document } = newClient();
    answers[id] = served(document);
    expect(await refresh(id, flow.tokens.refresh_token)).toMatchObject({ status: 401 });
    expect((await refresh(flow.clientId, flow.tokens.refresh_token)).status).toBe(200);
    expect(asked).toEqual([]);
  });

  it("is asked for again after its time, which no header makes longer than a day or shorter than minutes", async () => {
    const person = new Person();
    const ages: Record<string, [number, number]> = {
      "max-age=99999999": [23 * hour, 2 * hour],
      "max-age=0": [4 * 60_000, 2 * 60_000],
      "no-store": [4 * 60_000, 2 * 60_000],
    };
    for (const [header, [within, past]] of Object.entries(ages)) {
      const { id, document } = newClient();
      answers[id] = served(document, { "cache-control": header });
      asked.length = 0;
      await person.become({ issuer: "https://accounts.example", subject: "ada" });
      const open = () => openConsent(person, id, `${origin}/mcp`);
      expect((await open()).status).toBe(200);
      later(within);
      await person.become({ issuer: "https://accounts.example", subject: "ada" });
      await open();
      expect([header, asked.length]).toEqual([header, 1]);
      later(past);
      await person.become({ issuer: "https://accounts.example", subject: "ada" });
      await open();
      expect([header, asked.length]).toEqual([header, 2]);
      vi.useRealTimers();
    }
  });
});

describe("a client whose document changes", () => {
  async function signedIn(more: Record<string, unknown> = {}) {
    const at = await reader();
    const client = newClient(more);
    answers[client.id] = served(client.document);
    const flow = await signInAt(at.token, at.path, { client_id: client.id });
    return { ...at, ...client, flow };
  }
  const opens = async (path: string, token: string) => (await modern(path, "skills/list", {}, { token })).status;

  it("gets no code any more at an address that it withdrew, nor tokens for one that it got there", async () => {
    const { id, document, token, path, resource, person } = await signedIn();
    const flow = await obtainCode(token, path, { client_id: id });
    answers[id] = served({ ...document, redirect_uris: ["http://127.0.0.1:33418/other"] });
    later(6 * 60_000);
    await refuses(await openConsent(person, id, resource), "withdrawn");
    expect(await redeem(flow)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  });

  it("is refused as soon as its document names another, or is gone", async () => {
    const ends: Record<string, () => Response> = {
      "another name": served({ client_id: "https://evil.example/client.json", redirect_uris: [redirectUri] }),
      "404": () => Response.json({}, { status: 404 }),
      "410": () => Response.json({}, { status: 410 }),
      "no public client any more": served({
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "private_key_jwt",
      }),
    };
    for (const [name, end] of Object.entries(ends)) {
      const { id, person, resource, flow } = await signedIn();
      answers[id] = end;
      later(6 * 60_000);
      const answer = await refresh(id, flow.tokens.refresh_token);
      expect([name, answer.status, answer.body.error]).toEqual([name, 401, "invalid_client"]);
      await refuses(await openConsent(person, id, resource), name);
      expect(await kept(id)).toBe(0);
      vi.useRealTimers();
    }
  });

  it("goes on for a week while its host is down, if somebody allowed it, and begins nothing new", async () => {
    const down: Record<string, () => Response | Promise<Response>> = {
      "cannot be reached": () => Promise.reject(new Error("connect ECONNREFUSED")),
      "503": () => Response.json({}, { status: 503 }),
      "429": () => Response.json({}, { status: 429 }),
    };
    for (const [name, answer] of Object.entries(down)) {
      const { id, person, path, resource, flow } = await signedIn();
      answers[id] = answer;
      later(6 * 60_000);
      const renewed = await refresh(id, flow.tokens.refresh_token);
      expect([name, renewed.status]).toEqual([name, 200]);
      expect(await opens(path, renewed.body.access_token)).toBe(200);
      await refuses(await openConsent(person, id, resource), name);
      later(6 * 24 * hour);
      const again = await refresh(id, renewed.body.refresh_token);
      expect([name, again.status]).toEqual([name, 200]);
      later(2 * 24 * hour);
      expect((await refresh(id, again.body.refresh_token)).status).toBe(401);
      vi.useRealTimers();
    }
  });

  it("between the page and the answer is held to what it says by then", async () => {
    const { id, document, person, resource } = await signedIn();
    const shown = await openConsent(person, id, resource);
    answers[id] = served({ ...document, redirect_uris: ["http://127.0.0.1:33418/other"] });
    later(6 * 60_000);
    const handle = /name="handle" value="([^"]+)"/.exec(shown.html)![1]!;
    const answer = await person.submit("/authorize", { handle, decision: "approve" });
    expect([answer.location, answer.status]).toEqual([null, 400]);
  });
});
