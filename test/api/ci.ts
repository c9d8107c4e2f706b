import { githubIssuer } from "../../src/domain/trust.ts";
import { FakeIssuer } from "../auth/fake-issuer.ts";
import { api, origin } from "../harness.ts";
import type { Answer } from "../harness.ts";

/** What tests of trusted publishers share: issuers of their own, and what those say of a job. */
let ids = 0;

/** What GitHub says of a job, in its words; a token of it counts for five minutes. */
export function githubClaims(more: Record<string, unknown> = {}): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1_000);
  const repository = typeof more["repository"] === "string" ? more["repository"] : "acme/skills";
  return {
    aud: origin,
    jti: `job-${++ids}`,
    sub: `repo:${repository}:environment:production`,
    repository,
    repository_id: "4711",
    repository_owner: repository.split("/")[0],
    repository_owner_id: "42",
    ref: "refs/heads/main",
    sha: "0123456789abcdef0123456789abcdef01234567",
    workflow: "Publish",
    workflow_ref: `${repository}/.github/workflows/publish.yml@refs/heads/main`,
    environment: "production",
    run_id: "815",
    actor: "octocat",
    iat: now - 5,
    nbf: now - 5,
    exp: now + 300,
    ...more,
  };
}

export async function newGithub(): Promise<FakeIssuer> {
  const github = new FakeIssuer(githubIssuer);
  await github.addKey("github-1", { alg: "RS256" });
  return github;
}

/** Fails the test where the namespace does not take the trust. */
export async function trust(namespace: string, body: Record<string, unknown>): Promise<string> {
  const answer = await api("POST", `/namespaces/${namespace}/publishers`, body);
  if (answer.status !== 201) throw new Error(`publisher: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body["id"] as string;
}

export async function exchange(namespace: string, token: string): Promise<Answer> {
  return api("POST", "/oidc/exchange", { namespace, token }, null);
}
