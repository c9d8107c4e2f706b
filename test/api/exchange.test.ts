import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT } from "jose";
import type { JWTPayload } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { forgetIssuers } from "../../src/auth/issuer-keys.ts";
import { jobTokenKeptMs, jobTokenMs, maxLivingJobTokens, maxLivingTokens } from "../../src/domain/limits.ts";
import { githubIssuer } from "../../src/domain/trust.ts";
import worker from "../../src/index.ts";
import { packZip } from "../../src/publish/pack.ts";
import { sweep } from "../../src/publish/sweep.ts";
import { Blobs } from "../../src/storage/blobs.ts";
import { FakeIssuer, stubIssuers } from "../auth/fake-issuer.ts";
import { api, newNamespace, origin, publish, read, send, skillMdOf, toFiles } from "../harness.ts";
import type { Answer } from "../harness.ts";
import { ask } from "../tenants/answers.ts";
import { exchange, githubClaims, newGithub, trust } from "./ci.ts";
import { actionsOf, apiOf } from "./tenancy.ts";

let github: FakeIssuer;
let strangers: string[];

beforeEach(async () => {
  forgetIssuers();
  github = await newGithub();
  strangers = stubIssuers(github);
});

afterEach(() => {
  expect(strangers).toEqual([]);
  vi.unstubAllGlobals();
});

const sign = (more: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  github.sign(githubClaims(more) as JWTPayload, header);

/** A namespace that trusts a workflow of acme/skills, and perhaps more of it. */
async function trusting(more: Record<string, unknown> = {}, visibility: "public" | "private" = "public") {
  const namespace = await newNamespace(visibility);
  const { path, ...github } = more;
  const id = await trust(namespace, {
    github: { repository: "acme/skills", workflow: "publish.yml", ...github },
    ...(path === undefined ? {} : { path }),
  });
  return { namespace, id };
}

const seen = ({ status, body }: Answer) => [status, body["code"], body["detail"]];
const unlike = /from nobody whom this namespace trusts/;

async function expectRefused(answer: Promise<Answer>, detail: RegExp = unlike): Promise<void> {
  expect(seen(await answer)).toEqual([401, "invalid_token", expect.stringMatching(detail)]);
}

describe("a job's token", () => {
  it("becomes a token that publishes for 15 minutes, and can do nothing else", async () => {
    const { namespace, id } = await trusting();
    const before = Date.now();
    const { status, body } = await exchange(namespace, await sign());
    expect(status).toBe(201);
    const source = {
      issuer: githubIssuer,
      subject: "repo:acme/skills:environment:production",
      repository: "acme/skills",
      commit: "0123456789abcdef0123456789abcdef01234567",
      ref: "refs/heads/main",
      workflow: "acme/skills/.github/workflows/publish.yml@refs/heads/main",
      run: "815",
      run_url: "https://github.com/acme/skills/actions/runs/815",
    };
    const scopes = ["skills:read", "skills:publish"];
    expect(body).toMatchObject({ namespace, path: null, scopes, publisher: id, source });
    const ends = Date.parse(body["expires_at"] as string);
    expect(ends).toBeGreaterThanOrEqual(before + jobTokenMs);
    expect(ends).toBeLessThanOrEqual(Date.now() + jobTokenMs);
    const token = body["token"] as string;
    expect((await api("GET", "/me", undefined, token)).body).toMatchObject({ namespace, scopes, label: "acme/skills" });
    expect((await publish(namespace, { "SKILL.md": skillMdOf("from-ci") }, "", token)).status).toBe(201);
    for (const [method, path] of [
      ["POST", "tokens"],
      ["GET", "tokens"],
      ["POST", "publishers"],
      ["POST", `tokens/${body["token_id"] as string}/rotate`],
      ["PUT", "collections/desk"],
      ["GET", "audit"],
    ] as const) {
      const sent = method === "GET" ? undefined : {};
      expect((await api(method, `/namespaces/${namespace}/${path}`, sent, token)).status).toBe(403);
    }
  });

  it("creates no namespace, also where whoever publishes may", async () => {
    const { namespace } = await trusting();
    const token = (await exchange(namespace, await sign())).body["token"] as string;
    const request = { method: "POST", path: "/namespaces", body: { name: "made-by-a-job" }, token };
    const { status, body } = await apiOf({ NAMESPACE_CREATORS: "tokens" }, request);
    expect([status, body["code"]]).toEqual([403, "forbidden"]);
  });

  it("publishes nothing more once its trust is deleted, also what is half sent by then", async () => {
    const { namespace, id } = await trusting();
    const token = (await exchange(namespace, await sign())).body["token"] as string;
    const bytes = packZip(toFiles({ "SKILL.md": skillMdOf("slow") }));
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes.slice(0, -1)),
      pull: async (controller) => {
        await api("DELETE", `/namespaces/${namespace}/publishers/${id}`);
        controller.enqueue(bytes.slice(-1));
        controller.close();
      },
    });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/zip" };
    const path = `/api/v1/namespaces/${namespace}/skills`;
    await expectRefused(read(await send(path, { method: "POST", headers, body })), /revoked/);
    expect((await api("GET", `/namespaces/${namespace}/skills/slow`)).status).toBe(404);
  });

  it("is written down, with who it was and what the publish then did", async () => {
    const { namespace, id } = await trusting();
    const { body } = await exchange(namespace, await sign());
    await publish(namespace, { "SKILL.md": skillMdOf("from-ci") }, "", body["token"] as string);
    const { events } = (await api("GET", `/namespaces/${namespace}/audit`)).body as {
      events: Record<string, unknown>[];
    };
    expect(events.map(({ action, principal }) => [action, principal])).toEqual([
      ["publish", `token:${body["token_id"] as string}`],
      ["exchange-token", `publisher:${id}`],
      ["add-publisher", "operator"],
      ["create-namespace", "operator"],
    ]);
    expect(events[1]).toMatchObject({
      target: `tokens/${body["token_id"] as string}`,
      before: null,
      after: { publisher: id, source: { repository: "acme/skills" }, below: "" },
    });
    expect(JSON.stringify(events)).not.toContain((body["token"] as string).slice(21));
    const listed = await api("GET", `/namespaces/${namespace}/publishers/${id}`);
    expect(listed.body["last_used_at"]).toBeTypeOf("string");
    const tokens = await api("GET", `/namespaces/${namespace}/tokens`);
    expect(tokens.body["tokens"]).toMatchObject([{ id: body["token_id"], minted_by: `publisher:${id}`, member: null }]);
  });

  it.each([
    ["another repository", { repository: "acme/other" }],
    ["a repository whose name begins with the trusted one", { repository: "acme/skills-evil" }],
    ["a repository whose name ends with it", { repository: "evil/acme/skills" }],
    ["the repository in another case", { repository: "Acme/skills" }],
    ["another workflow", { workflow_ref: "acme/skills/.github/workflows/test.yml@refs/heads/main" }],
    [
      "a workflow whose name ends with the trusted one",
      { workflow_ref: "acme/skills/.github/workflows/my-publish.yml@x" },
    ],
    ["a workflow in a folder", { workflow_ref: "acme/skills/.github/workflows/x/publish.yml@refs/heads/main" }],
    ["a workflow without its ref", { workflow_ref: "acme/skills/.github/workflows/publish.yml" }],
    ["a workflow of another repository", { workflow_ref: "evil/skills/.github/workflows/publish.yml@refs/heads/main" }],
    ["a workflow that only calls itself so", { workflow: "publish.yml", workflow_ref: undefined }],
    ["a list that holds the repository", { repository: ["acme/skills"] }],
    ["a repository that took over the name", { repository_id: "4712" }],
    ["an owner who took over the name", { repository_owner_id: "43" }],
    ["numbers that are none", { repository_id: 4711 }],
    ["another environment", { environment: "staging" }],
    ["no environment", { environment: undefined }],
    ["another ref", { ref: "refs/heads/feature" }],
    ["a tag of the name", { ref: "refs/tags/main" }],
  ])("of %s is from nobody", async (_, claims) => {
    const { namespace } = await trusting({
      repository_id: "4711",
      repository_owner_id: "42",
      environment: "production",
      ref: "refs/heads/main",
    });
    await expectRefused(exchange(namespace, await sign(claims)));
    expect((await exchange(namespace, await sign())).status).toBe(201);
  });

  it("is refused unsigned, and signed with the public key as a secret", async () => {
    const { namespace } = await trusting();
    const claims = { iss: githubIssuer, ...githubClaims() } as JWTPayload;
    await expectRefused(exchange(namespace, new UnsecuredJWT(claims).encode()));
    const pem = await exportSPKI((await importJWK(github.shown[0]!, "RS256", { extractable: true })) as CryptoKey);
    const forged = new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "github-1" });
    await expectRefused(exchange(namespace, await forged.sign(new TextEncoder().encode(pem))));
    const other = await newGithub();
    await expectRefused(exchange(namespace, await other.sign(githubClaims() as JWTPayload)));
    expect(await actionsOf(namespace)).toEqual(["add-publisher", "create-namespace"]);
  });

  it("that is the trusted job's own, and does not count, says why", async () => {
    const { namespace } = await trusting();
    const now = Math.floor(Date.now() / 1_000);
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ aud: "https://other.example.com" }, /another audience.*audience "http:\/\/localhost"/],
      [{ aud: [origin, "https://other.example.com"] }, /not for ours alone/],
      [{ exp: now - 60 }, /run out/],
      [{ iat: now - 3_700, exp: now + 300 }, /run out, or was issued too long ago/],
      [{ nbf: now + 60 }, /does not count yet/],
      [{ iat: now + 60, nbf: now }, /does not count yet/],
      [{ exp: undefined }, /not a signed JWT/],
    ];
    for (const [claims, detail] of cases) await expectRefused(exchange(namespace, await sign(claims)), detail);
    // A stranger learns none of it.
    for (const [claims] of cases) {
      await expectRefused(exchange(namespace, await sign({ ...claims, repository: "evil/skills" })));
    }
  });

  it("of another issuer is from nobody, and that issuer is never asked", async () => {
    const { namespace } = await trusting();
    const evil = new FakeIssuer("https://evil.example.com");
    await evil.addKey("evil-1");
    strangers = stubIssuers(github, evil);
    await expectRefused(exchange(namespace, await evil.sign(githubClaims() as JWTPayload)));
    await expectRefused(exchange(namespace, await evil.sign({ ...githubClaims(), iss: githubIssuer } as JWTPayload)));
    for (const iss of ["https://169.254.169.254", "http://localhost:1", "file:///etc/passwd", "", 7]) {
      await expectRefused(exchange(namespace, await evil.sign({ ...githubClaims(), iss } as JWTPayload)));
    }
    expect(evil.asked).toEqual([]);
  });

  it("is exchanged once (replay), for whatever namespace", async () => {
    const [one, other] = [await trusting(), await trusting()];
    const token = await sign();
    expect((await exchange(one.namespace, token)).status).toBe(201);
    await expectRefused(exchange(one.namespace, token), /exchanged already/);
    await expectRefused(exchange(other.namespace, token), /exchanged already/);
    // Another signature over the same id is the same token.
    const again = await sign({ jti: "once" });
    expect((await exchange(one.namespace, again)).status).toBe(201);
    await expectRefused(exchange(one.namespace, await sign({ jti: "once" })), /exchanged already/);
    expect((await actionsOf(one.namespace)).filter((action) => action === "exchange-token")).toHaveLength(2);
  });

  it("is exchanged once also by ten at once", async () => {
    const { namespace } = await trusting();
    const token = await sign();
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(namespace, token)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(9);
  });

  it("without an id is exchanged once as what its issuer signed", async () => {
    const { namespace } = await trusting();
    const token = await sign({ jti: undefined });
    expect((await exchange(namespace, token)).status).toBe(201);
    await expectRefused(exchange(namespace, token), /exchanged already/);
    expect((await exchange(namespace, await sign({ jti: undefined, run_id: "816" }))).status).toBe(201);
  });

  it("signed with a new key counts once a minute has passed (rotation)", async () => {
    const { namespace } = await trusting();
    expect((await exchange(namespace, await sign())).status).toBe(201);
    await github.addKey("github-2", { alg: "RS256" });
    await expectRefused(exchange(namespace, await sign()));
    const later = Date.now() + 61_000;
    vi.spyOn(Date, "now").mockReturnValue(later);
    try {
      expect((await exchange(namespace, await sign())).status).toBe(201);
    } finally {
      vi.restoreAllMocks();
    }
    expect(github.asked.filter((path) => path.endsWith("/keys"))).toHaveLength(2);
  });

  it("counts while its issuer is down, when the keys are known, and else is from nobody", async () => {
    const { namespace } = await trusting();
    github.isDown = true;
    await expectRefused(exchange(namespace, await sign()));
    github.isDown = false;
    expect((await exchange(namespace, await sign())).status).toBe(201);
    github.isDown = true;
    expect((await exchange(namespace, await sign())).status).toBe(201);
  });
});

describe("an issuer that is not GitHub", () => {
  it("is found by discovery, and its claims are compared to the letter", async () => {
    const gitlab = new FakeIssuer("https://gitlab.example.com");
    await gitlab.addKey("gl", { alg: "RS256" });
    stubIssuers(github, gitlab);
    const namespace = await newNamespace();
    const claims = { project_id: "22", ref_protected: "true" };
    await trust(namespace, { issuer: gitlab.origin, claims, path: "docs", label: "docs" });
    const now = Math.floor(Date.now() / 1_000);
    const said = {
      aud: origin,
      jti: "a",
      sub: "project_path:acme/docs:ref_type:branch:ref:main",
      project_path: "acme/docs",
      project_id: "22",
      ref: "main",
      ref_path: "refs/heads/main",
      ref_protected: "true",
      sha: "89abcdef0123456789abcdef0123456789abcdef",
      ci_config_ref_uri: "gitlab.example.com/acme/docs//.gitlab-ci.yml@refs/heads/main",
      pipeline_id: "99",
      iat: now,
      exp: now + 3_600,
    };
    for (const wrong of [{ project_id: "23" }, { project_id: 22 }, { project_id: "22 " }, { ref_protected: true }]) {
      await expectRefused(exchange(namespace, await gitlab.sign({ ...said, ...wrong })));
    }
    const { status, body } = await exchange(namespace, await gitlab.sign(said));
    expect([status, body["path"]]).toEqual([201, "docs"]);
    expect(body["source"]).toEqual({
      issuer: gitlab.origin,
      subject: said.sub,
      repository: "acme/docs",
      commit: said.sha,
      ref: "refs/heads/main",
      workflow: said.ci_config_ref_uri,
      run: "99",
    });
  });

  it("that names another issuer in its discovery document, or points inside, vouches for nobody", async () => {
    const gitlab = new FakeIssuer("https://gitlab.example.com");
    await gitlab.addKey("gl");
    stubIssuers(github, gitlab);
    const namespace = await newNamespace();
    await trust(namespace, { issuer: gitlab.origin, claims: { sub: "x" } });
    const token = await gitlab.sign({ ...githubClaims(), sub: "x" } as JWTPayload);
    for (const document of [{ issuer: githubIssuer }, { jwks_uri: "http://169.254.169.254/keys" }]) {
      forgetIssuers();
      gitlab.document = document;
      await expectRefused(exchange(namespace, token));
    }
  });
});

describe("a trust", () => {
  it("holds its jobs to a path", async () => {
    const { namespace } = await trusting({ path: "billing" });
    const { body } = await exchange(namespace, await sign());
    expect(body["path"]).toBe("billing");
    const token = body["token"] as string;
    const skill = (name: string) => ({ "SKILL.md": skillMdOf(name) });
    expect((await publish(namespace, skill("refunds"), "?path=billing/refunds", token)).status).toBe(201);
    expect((await publish(namespace, skill("refunds"), "?path=support/refunds", token)).status).toBe(403);
    expect((await publish(namespace, skill("billing-x"), "?path=billing-x", token)).status).toBe(403);
  });

  it("that asks for the most decides where several match", async () => {
    const { namespace } = await trusting({ path: "wide" });
    const narrow = await trust(namespace, {
      github: { repository: "acme/skills", workflow: "publish.yml", environment: "production" },
      path: "narrow",
    });
    expect((await exchange(namespace, await sign())).body).toMatchObject({ publisher: narrow, path: "narrow" });
    expect((await exchange(namespace, await sign({ environment: undefined }))).body["path"]).toBe("wide");
  });

  it("that is deleted takes its tokens along, at once, and opens nothing more", async () => {
    const { namespace, id } = await trusting();
    const other = await trust(namespace, { github: { repository: "acme/other" } });
    const token = (await exchange(namespace, await sign())).body["token"] as string;
    const kept = (await exchange(namespace, await sign({ repository: "acme/other" }))).body["token"] as string;
    expect((await api("GET", "/me", undefined, token)).status).toBe(200);
    expect((await api("DELETE", `/namespaces/${namespace}/publishers/${id}`)).status).toBe(204);
    expect((await publish(namespace, { "SKILL.md": skillMdOf("late") }, "", token)).status).toBe(401);
    expect((await api("GET", "/me", undefined, token)).status).toBe(401);
    expect((await api("GET", "/me", undefined, kept)).body["label"]).toBe("acme/other");
    await expectRefused(exchange(namespace, await sign()));
    await api("DELETE", `/namespaces/${namespace}/publishers/${other}`);
  });

  it("that is deleted while its job is looked at gives nothing out", async () => {
    const { namespace, id } = await trusting();
    github.answers.set("/keys", async () => {
      await api("DELETE", `/namespaces/${namespace}/publishers/${id}`);
      return Response.json({ keys: github.shown });
    });
    await expectRefused(exchange(namespace, await sign()));
    expect((await api("GET", `/namespaces/${namespace}/tokens`)).body["tokens"]).toEqual([]);
  });

  it("ends with its namespace", async () => {
    const { namespace } = await trusting();
    const token = (await exchange(namespace, await sign())).body["token"] as string;
    await api("DELETE", `/namespaces/${namespace}`);
    expect((await api("GET", "/me", undefined, token)).status).toBe(401);
    await expectRefused(exchange(namespace, await sign()));
  });

  it("gives out so many tokens at once, which count neither with the namespace's own nor with another trust's", async () => {
    const { namespace, id } = await trusting();
    const fill = (publisher: string | null, count: number) =>
      env.DB.prepare(
        `INSERT INTO tokens (id, namespace, kind, role, label, secret_hash, created_at, expires_at, publisher)
         SELECT value, ?1, 'token', 'reader', '', value, 1, ?2, ?3 FROM json_each(?4)`,
      )
        .bind(
          namespace,
          Date.now() + 60_000,
          publisher,
          JSON.stringify(Array.from({ length: count }, () => crypto.randomUUID())),
        )
        .run();
    await fill(id, maxLivingJobTokens);
    expect(seen(await exchange(namespace, await sign()))).toEqual([
      403,
      "quota_exceeded",
      expect.stringMatching(/may have 100 living tokens of one trusted publisher; /),
    ]);
    await trust(namespace, { github: { repository: "acme/other" } });
    const other = await sign({ repository: "acme/other" });
    await fill(null, maxLivingTokens);
    expect((await exchange(namespace, other)).status).toBe(201);
    await env.DB.prepare(`DELETE FROM tokens WHERE namespace = ?1 AND publisher IS NULL`).bind(namespace).run();
    expect((await api("POST", `/namespaces/${namespace}/tokens`, {})).status).toBe(201);
  });
});

describe("what a namespace trusts", () => {
  it("is told to nobody: private, public, unknown and impossible names have one answer at one price", async () => {
    const priv = await trusting({}, "private");
    const pub = await newNamespace();
    await exchange(priv.namespace, await sign());
    const evil = new FakeIssuer("https://evil.example.com");
    await evil.addKey("evil-1");
    const tokens = [
      () => sign({ repository: "evil/skills" }),
      () => sign({ repository: "evil/skills", aud: "https://other.example.com" }),
      async () => (await sign({ repository: "evil/skills" })).slice(0, -8) + "AAAAAAAA",
      () => evil.sign(githubClaims() as JWTPayload),
      async () => "junk",
    ];
    for (const make of tokens) {
      const token = await make();
      const answers = [];
      for (const namespace of [priv.namespace, pub, "never-made", "Not A Name!", "x".repeat(500)]) {
        const body = JSON.stringify({ namespace, token });
        const headers = { "content-type": "application/json" };
        const one = await ask({ method: "POST", path: "/api/v1/oidc/exchange", headers, body });
        answers.push(JSON.stringify(one).replaceAll(namespace, "<name>"));
      }
      expect(new Set(answers).size).toBe(1);
      expect(answers[0]).toContain('"status":401');
    }
  });

  it("does not show in whether an issuer is asked: one that any namespace trusts is asked for all", async () => {
    const { namespace } = await trusting({}, "private");
    for (const name of [namespace, "never-made", await newNamespace()]) {
      forgetIssuers();
      github.asked.length = 0;
      await expectRefused(exchange(name, await sign({ repository: "evil/skills" })));
      expect(github.asked).toHaveLength(2);
    }
  });
});

describe("the exchange", () => {
  it.each([
    ["no body", undefined, 415, "unsupported_media_type"],
    ["no namespace", { token: "x" }, 400, "invalid_request"],
    ["no token", { namespace: "acme" }, 400, "invalid_request"],
    ["more than it knows", { namespace: "acme", token: "x", path: "y" }, 400, "invalid_request"],
    ["an endless token", { namespace: "acme", token: "x".repeat(20_000) }, 400, "invalid_request"],
  ])("refuses %s", async (_, body, status, code) => {
    expect(seen(await api("POST", "/oidc/exchange", body, null)).slice(0, 2)).toEqual([status, code]);
  });

  it("counts refusals as failed credentials of the address, which keep no good job out", async () => {
    const { namespace } = await trusting();
    const bindings = { RATE_FAILED_CREDENTIALS: "3" };
    const post = (token: string) =>
      apiOf(bindings, { method: "POST", path: "/oidc/exchange", body: { namespace, token }, token: null });
    const statuses = [];
    for (let tries = 0; tries < 5; tries++) statuses.push((await post(await sign({ repository: "evil/x" }))).status);
    expect(statuses).toContain(429);
    expect((await post(await sign())).status).toBe(201);
  });

  it("is for the origin that the operator set, whatever the request calls us", async () => {
    const { namespace } = await trusting();
    const PUBLIC_ORIGIN = "https://skills.example.com";
    const post = async (aud: string) => {
      const context = createExecutionContext();
      const request = new Request(`${PUBLIC_ORIGIN}/api/v1/oidc/exchange`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ namespace, token: await sign({ aud }) }),
      });
      const response = await worker.fetch(request, { ...env, PUBLIC_ORIGIN }, context);
      await waitOnExecutionContext(context);
      return response.status;
    };
    expect([await post(origin), await post(PUBLIC_ORIGIN)]).toEqual([401, 201]);
  });

  it("leaves nothing behind for long", async () => {
    const { namespace } = await trusting();
    const { body } = await exchange(namespace, await sign());
    const run = (ahead: number) => sweep(env.DB, new Blobs(env.BLOBS), () => Date.now() + ahead);
    const left = async () => {
      const spent = await env.DB.prepare(`SELECT count(*) AS n FROM oidc_used`).first<number>("n");
      const token = await env.DB.prepare(`SELECT id FROM tokens WHERE id = ?1`).bind(body["token_id"]).first("id");
      return [spent! > 0, token !== null];
    };
    await run(0);
    expect(await left()).toEqual([true, true]);
    expect((await run(4_000_000)).exchanged).toBeGreaterThan(0);
    expect(await left()).toEqual([false, true]);
    await run(jobTokenKeptMs + jobTokenMs + 60_000);
    expect(await left()).toEqual([false, false]);
  });
});
