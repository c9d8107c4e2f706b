import { env } from "cloudflare:workers";
import type { JWTPayload } from "jose";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

import { forgetIssuers } from "../../src/auth/issuer-keys.ts";
import type { Source } from "../../src/domain/trust.ts";
import { sourceOf } from "../../src/domain/trust.ts";
import { sweep } from "../../src/publish/sweep.ts";
import { Blobs } from "../../src/storage/blobs.ts";
import type { FakeIssuer } from "../auth/fake-issuer.ts";
import { stubIssuers } from "../auth/fake-issuer.ts";
import { api, eras, newNamespace, publish, seedSkill, skillMdOf } from "../harness.ts";
import { exchange, githubClaims, newGithub, trust } from "./ci.ts";

/** Where a release came from: kept with it, and shown beside it in every door. */
let github: FakeIssuer;
let namespace: string;
const shas = ["a".repeat(40), "b".repeat(40)];
const skill = (text: string) => ({ "SKILL.md": skillMdOf("from-ci", text) });

async function job(more: Record<string, unknown>): Promise<string> {
  const { status, body } = await exchange(namespace, await github.sign(githubClaims(more) as JWTPayload));
  if (status !== 201) throw new Error(`exchange: ${JSON.stringify(body)}`);
  return body["token"] as string;
}

beforeAll(async () => {
  forgetIssuers();
  github = await newGithub();
  stubIssuers(github);
  namespace = await newNamespace();
  await trust(namespace, { github: { repository: "acme/skills" } });
  const first = await publish(namespace, skill("First"), "", await job({ sha: shas[0] }));
  expect([first.status, sourceIn(first.body)?.commit]).toEqual([201, shas[0]]);
  await publish(namespace, skill("Second"), "", await job({ sha: shas[1] }));
  await seedSkill(namespace, "by-hand");
});

afterAll(() => void vi.unstubAllGlobals());

function sourceIn(body: Record<string, unknown>): Source | null | undefined {
  return (body["release"] as { source?: Source | null }).source;
}

const shown = (sha: string | undefined) => ({
  issuer: "https://token.actions.githubusercontent.com",
  subject: "repo:acme/skills:environment:production",
  repository: "acme/skills",
  commit: sha,
  ref: "refs/heads/main",
  workflow: "acme/skills/.github/workflows/publish.yml@refs/heads/main",
  run: "815",
  run_url: "https://github.com/acme/skills/actions/runs/815",
});

describe("the source of a release", () => {
  it("is shown by the API to whoever may read it, each release's own", async () => {
    const at = `/namespaces/${namespace}/skills/from-ci`;
    expect(sourceIn((await api("GET", at, undefined, null)).body)).toEqual(shown(shas[1]));
    const list = (await api("GET", `${at}/-/releases`, undefined, null)).body["releases"] as { source: Source }[];
    expect(list.map(({ source }) => source)).toEqual([shown(shas[1]), shown(shas[0])]);
    const old = (await api("GET", `${at}/-/releases/1.0.0`, undefined, null)).body;
    expect(old["source"]).toEqual(shown(shas[0]));
    expect(JSON.stringify(old["entry"])).not.toMatch(/acme|octocat|"source"/);
    expect(JSON.stringify(old)).not.toContain("octocat");
  });

  it("stays that of the job that made it when another publishes the same bytes", async () => {
    const again = await publish(namespace, skill("Second"), "", await job({ sha: "c".repeat(40) }));
    expect([again.status, again.body["changed"], sourceIn(again.body)]).toEqual([200, false, shown(shas[1])]);
    const byHand = await publish(namespace, skill("Second"));
    expect(sourceIn(byHand.body)).toEqual(shown(shas[1]));
  });

  it("is nothing for what somebody published with a token of their own", async () => {
    expect(sourceIn((await api("GET", `/namespaces/${namespace}/skills/by-hand`)).body)).toBeNull();
  });

  it("is no part of what a dry run foretells", async () => {
    const dry = await publish(namespace, skill("Third"), "?dry_run=true", await job({ sha: "d".repeat(40) }));
    expect([dry.status, sourceIn(dry.body)]).toEqual([200, undefined]);
  });

  it("outlives the token and the trust", async () => {
    await sweep(env.DB, new Blobs(env.BLOBS), () => Date.now() + 10 * 86_400_000);
    const { results } = await env.DB.prepare("SELECT id FROM tokens WHERE namespace = ?1").bind(namespace).all();
    expect(results).toEqual([]);
    expect(sourceIn((await api("GET", `/namespaces/${namespace}/skills/from-ci`)).body)).toEqual(shown(shas[1]));
  });
});

describe.each(eras)("skills/get in %s", (_, ask) => {
  const get = async (path: string) =>
    (await ask(`/mcp/${namespace}`, "skills/get", { uri: `skill://${path}` })).result!;

  it("has the source beside the entry, by the moving and by the pinned address", async () => {
    const moving = await get(`${namespace}/from-ci/SKILL.md`);
    expect((moving["_meta"] as Record<string, unknown>)["skill-registry/source"]).toEqual(shown(shas[1]));
    const pinned = await get(`${namespace}/@1.0.0/from-ci/SKILL.md`);
    expect((pinned["_meta"] as Record<string, unknown>)["skill-registry/source"]).toEqual(shown(shas[0]));
    expect(JSON.stringify([moving["skill"], pinned["skill"]])).not.toMatch(/"source"|acme/);
  });

  it("has none where there is none, and lists never have any", async () => {
    expect(JSON.stringify(await get(`${namespace}/by-hand/SKILL.md`))).not.toContain("skill-registry/source");
    const list = await ask(`/mcp/${namespace}`, "skills/list");
    expect(JSON.stringify(list.result)).not.toContain("skill-registry/source");
  });
});

describe("what an issuer says of a job", () => {
  const of = (said: Record<string, unknown>) =>
    sourceOf({ kind: "claims", issuer: "https://ci.example", claims: {} }, said);

  it("is kept as far as it is plain text of a sane length", () => {
    expect(of({ sub: "x", sha: "a\nb", ref: "r".repeat(600), repository: ["acme"], run_id: 7 })).toEqual({
      issuer: "https://ci.example",
      subject: "x",
      run: "7",
    });
    expect(of({ sub: "\ud800", ref: "", project_path: "acme/docs" })).toEqual({
      issuer: "https://ci.example",
      repository: "acme/docs",
    });
  });

  it("becomes an address of a run at github.com only, and of a repository only", () => {
    expect(of({ repository: "acme/skills", run_id: "1" })).not.toHaveProperty("run_url");
    const at = (repository: string, run_id: string) =>
      sourceOf(
        { kind: "github", issuer: "https://token.actions.githubusercontent.com", claims: {} },
        { repository, run_id },
      );
    expect(at("acme/skills", "1").run_url).toBe("https://github.com/acme/skills/actions/runs/1");
    for (const [repository, run] of [
      ["acme/skills/../..", "1"],
      ["acme", "1"],
      ["acme/skills", "1?x"],
    ] as const) {
      expect(at(repository, run)).not.toHaveProperty("run_url");
    }
  });
});
