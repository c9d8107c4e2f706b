import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { maxPublishers } from "../../src/domain/limits.ts";
import { githubIssuer } from "../../src/domain/trust.ts";
import { api, newNamespace, newToken, origin } from "../harness.ts";
import { trust } from "./ci.ts";
import { actionsOf, apiOf, refusalsOf, usualRefusals } from "./tenancy.ts";

const github = { repository: "acme/skills" };
const atGithub = "https://token.actions.githubusercontent.com";
const claims = { sub: "project_path:acme/docs" };
const gitlab = "https://gitlab.example.com";
const buildkite = "https://agent.buildkite.com";

const post = async (body: unknown, namespace?: string) =>
  api("POST", `/namespaces/${namespace ?? (await newNamespace())}/publishers`, body);

describe("a trusted publisher", () => {
  it("is a GitHub workflow, as far as its namespace says", async () => {
    const namespace = await newNamespace();
    const all = {
      repository: "acme/skills",
      repository_id: "4711",
      repository_owner_id: "42",
      workflow: "publish.yml",
      environment: "production",
      ref: "refs/heads/main",
    };
    const { status, body, headers } = await post({ github: all, path: "billing", label: "main" }, namespace);
    expect(status).toBe(201);
    const id = body["id"] as string;
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      issuer: githubIssuer,
      github: all,
      path: "billing",
      label: "main",
      audience: origin,
      created_at: expect.any(String) as string,
      created_by: "operator",
      last_used_at: null,
    });
    expect(headers.get("location")).toBe(`/api/v1/namespaces/${namespace}/publishers/${id}`);
    expect((await api("GET", `/namespaces/${namespace}/publishers/${id}`)).body).toEqual(body);
    const other = (await post({ issuer: gitlab, claims }, namespace)).body;
    expect(other).toMatchObject({ issuer: gitlab, claims, path: null, label: "" });
    expect((await api("GET", `/namespaces/${namespace}/publishers`)).body).toEqual({
      publishers: expect.arrayContaining([other, body]) as unknown,
      next_cursor: null,
    });
    expect((await api("DELETE", `/namespaces/${namespace}/publishers/${id}`)).status).toBe(204);
    expect((await api("DELETE", `/namespaces/${namespace}/publishers/${id}`)).status).toBe(404);
    expect((await api("GET", `/namespaces/${namespace}/publishers/${id}`)).status).toBe(404);
    const { events } = (await api("GET", `/namespaces/${namespace}/audit`)).body as { events: object[] };
    const about = { issuer: githubIssuer, claims: all, below: "billing/", label: "main" };
    expect(events[0]).toMatchObject({
      action: "remove-publisher",
      target: `publishers/${id}`,
      before: about,
      after: null,
    });
    expect(events[2]).toMatchObject({
      action: "add-publisher",
      target: `publishers/${id}`,
      before: null,
      after: about,
    });
  });

  it("may be a workflow of a GitHub server of one's own", async () => {
    const issuer = "https://github.acme.example/_services/token";
    expect((await post({ issuer, github })).body).toMatchObject({ issuer, github });
  });

  it.each<[string, unknown]>([
    ["nothing", {}],
    ["both kinds", { github, issuer: gitlab, claims }],
    ["claims of no issuer", { claims }],
    ["an issuer without claims", { issuer: gitlab }],
    ["no claim", { issuer: gitlab, claims: {} }],
    ["claims that everybody's jobs have", { issuer: gitlab, claims: { ref: "main", ref_protected: "true" } }],
    ["claims of everybody at GitHub", { issuer: githubIssuer, claims: { environment: "production", workflow: "x" } }],
    ["whoever calls a workflow", { issuer: githubIssuer, claims: { job_workflow_ref: "acme/ci/.github/x.yml@v1" } }],
    ["a person, wherever they are", { issuer: githubIssuer, claims: { actor: "octocat", actor_id: "583231" } }],
    ["a branch, wherever it is", { issuer: buildkite, claims: { build_branch: "main" } }],
    ["a pipeline that anybody may call so", { issuer: buildkite, claims: { pipeline_slug: "deploy" } }],
    ["a runner, whoever uses it", { issuer: gitlab, claims: { runner_id: "12" } }],
    ["whoever borrows a job's file", { issuer: gitlab, claims: { ci_config_ref_uri: "gitlab.com/a/b//ci.yml@main" } }],
    ["a claim of which we know nothing", { issuer: gitlab, claims: { team: "acme" } }],
    ["a claim that is spelled almost so", { issuer: gitlab, claims: { Sub: "acme", project_ID: "22" } }],
    ["what is checked anyway", { issuer: gitlab, claims: { ...claims, aud: origin } }],
    ["a claim that is no text", { issuer: gitlab, claims: { project_id: 22 } }],
    ["an empty claim", { issuer: gitlab, claims: { sub: "" } }],
    ["a claim of half a character", { issuer: gitlab, claims: { sub: "a\ud800" } }],
    ["a claim with a line's end", { issuer: gitlab, claims: { sub: "a\nb" } }],
    ["a claim without a name", { issuer: gitlab, claims: { "": "x" } }],
    ["a long claim", { issuer: gitlab, claims: { sub: "x".repeat(256) } }],
    ["many claims", { issuer: gitlab, claims: Object.fromEntries([..."abcdefghijk"].map((one) => [one, "x"])) }],
    ["no repository", { github: { workflow: "publish.yml" } }],
    ["a repository without owner", { github: { repository: "skills" } }],
    ["a repository with a pattern", { github: { repository: "acme/*" } }],
    ["a repository as an address", { github: { repository: "https://github.com/acme/skills" } }],
    ["an id that is none", { github: { ...github, repository_id: "acme" } }],
    ["a workflow with its folder", { github: { ...github, workflow: ".github/workflows/publish.yml" } }],
    ["a workflow with its ref", { github: { ...github, workflow: "publish.yml@refs/heads/main" } }],
    ["a workflow's own name", { github: { ...github, workflow: "Publish" } }],
    ["a branch instead of a ref", { github: { ...github, ref: "main" } }],
    ["what it does not know", { github: { ...github, actor: "octocat" } }],
    ["an issuer over http", { issuer: "http://gitlab.example.com", claims }],
    ["an issuer in another spelling", { issuer: "https://GITLAB.example.com", claims }],
    ["an issuer with a query", { issuer: `${gitlab}?x`, claims }],
    ["an issuer at an address", { issuer: "https://10.0.0.1", claims }],
    ["an issuer at a port", { issuer: `${gitlab}:8443`, claims }],
    ["an issuer that only we see", { issuer: "https://ci.internal", claims }],
    ["ourselves", { issuer: origin, claims }],
    ["a subject at GitHub that any owner may choose", { issuer: atGithub, claims: { sub: "environment:production" } }],
  ])("is never %s", async (_, body) => {
    const namespace = await newNamespace();
    const { status, body: said } = await post(body, namespace);
    expect([status, said["code"]]).toEqual([400, "invalid_request"]);
    expect(await actionsOf(namespace)).toEqual(["create-namespace"]);
  });

  it.each<[string, Record<string, string>]>([
    ["a subject", { sub: "organization:acme:pipeline:skills" }],
    ["a repository at GitHub", { repository_id: "4711", ref: "refs/heads/main" }],
    ["an owner at GitHub", { repository_owner_id: "42", environment: "production" }],
    ["a project at GitLab", { project_id: "22", runner_id: "12" }],
    ["a group at GitLab", { namespace_path: "acme" }],
    ["an organization at Buildkite", { organization_slug: "acme", pipeline_slug: "deploy", build_branch: "main" }],
    ["a project at CircleCI", { "oidc.circleci.com/project-id": "4f1e2d3c" }],
    ["a repository at Bitbucket", { repositoryUuid: "{4f1e2d3c}", branchName: "main" }],
  ])("may be whoever has the claims of %s", async (_, its) => {
    const { status, body } = await post({ issuer: "https://ci.example.com", claims: its });
    expect([status, body["claims"]]).toEqual([201, its]);
  });

  it("may be whoever has GitHub's own kind of subject", async () => {
    const its = { sub: "repo:acme/skills:environment:production" };
    expect((await post({ issuer: atGithub, claims: its })).status).toBe(201);
  });

  it("that strangers could be as well is told which claims would do", async () => {
    const { body } = await post({ issuer: buildkite, claims: { pipeline_slug: "deploy" } });
    expect(body["detail"]).toMatch(/^claims: .*add one that says whose the job is.*: sub, repository, .*project_id/);
    expect(body["detail"]).toContain("organization_slug");
  });

  it("is held to a path that is one", async () => {
    expect((await post({ github, path: "../up" })).body["code"]).toBe("invalid_path");
  });

  it("at loopback is for a registry that is there itself", async () => {
    const namespace = await newNamespace();
    const body = { issuer: "http://127.0.0.1:9000", claims };
    expect((await post(body, namespace)).status).toBe(201);
    const hosted = { PUBLIC_ORIGIN: "https://skills.example.com" };
    const path = `/namespaces/${namespace}/publishers`;
    expect((await apiOf({ ...hosted }, { method: "POST", path, body })).status).not.toBe(201);
  });

  it("is an admin's business, who hands on no more than they have", async () => {
    expect(await refusalsOf("POST", "/publishers", { github })).toEqual(usualRefusals);
    expect(await refusalsOf("GET", "/publishers")).toEqual(usualRefusals);
    const namespace = await newNamespace();
    const scopes = ["namespace:admin"];
    const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { scopes });
    const narrow = await api("POST", `/namespaces/${namespace}/publishers`, { github }, body["token"] as string);
    expect([narrow.status, narrow.body["code"]]).toEqual([403, "forbidden"]);
    const admin = await newToken(namespace, "admin");
    expect((await api("POST", `/namespaces/${namespace}/publishers`, { github }, admin)).status).toBe(201);
  });

  it("is one of so many", async () => {
    const namespace = await newNamespace();
    await env.DB.prepare(
      `INSERT INTO trusted_publishers (id, namespace, kind, issuer, claims, path, label, created_at, created_by)
       SELECT value, ?1, 'claims', 'https://x.example', '{}', '', '', 1, 'operator' FROM json_each(?2)`,
    )
      .bind(namespace, JSON.stringify(Array.from({ length: maxPublishers - 1 }, () => crypto.randomUUID())))
      .run();
    const last = await trust(namespace, { github });
    const full = await post({ github }, namespace);
    expect([full.status, full.body["code"], full.body["detail"]]).toEqual([
      403,
      "quota_exceeded",
      `A namespace may have ${maxPublishers} trusted publishers; delete one of them`,
    ]);
    await api("DELETE", `/namespaces/${namespace}/publishers/${last}`);
    expect((await post({ github }, namespace)).status).toBe(201);
  });
});
