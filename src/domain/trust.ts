import { maxClaimLength, maxClaimNameLength, maxSourceLength, maxTrustClaims } from "./limits.ts";
import { problem } from "./problem.ts";

/**
 * Whom a namespace lets publish without a stored secret: a job of a CI, by what its issuer says of it. Claims are
 * compared to the letter; a pattern that somebody writes a little too wide would let strangers in.
 */
export interface Trust {
  /** `github`: the claims have the names that a workflow's settings have; `claims`: those of the token. */
  kind: "github" | "claims";
  issuer: string;
  claims: Claims;
}

export type Claims = Readonly<Record<string, string>>;

/** Of github.com. Servers of companies have issuers of their own, with the same claims. */
export const githubIssuer = "https://token.actions.githubusercontent.com";

/** What a trust in a GitHub workflow may ask for, and in which form. */
export const githubClaims = {
  repository: /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,99})\/[A-Za-z0-9._-]{1,100}$/,
  /** Numbers that stay when a name is given up, and that whoever takes the name next does not get. */
  repository_id: /^[1-9]\d{0,19}$/,
  repository_owner_id: /^[1-9]\d{0,19}$/,
  /** The name of its file in .github/workflows. */
  workflow: /^[^/@\s]{1,100}\.ya?ml$/,
  environment: /^[^\p{Cc}]{1,255}$/u,
  ref: /^refs\/[^\p{Cc}\s]{1,250}$/u,
} as const satisfies Record<string, RegExp>;

/** What is checked of every token anyway, or is another one each time. */
const claimsOfToken = new Set(["iss", "aud", "exp", "nbf", "iat", "jti"]);

/**
 * What says whose a job is, so that no stranger's job at the same issuer has it. Of everything else one cannot know:
 * branches, pipelines and runners are called alike everywhere, strangers take the file that tells their job what to do
 * from somebody's public repository (`job_workflow_ref`, `ci_config_ref_uri`), and have somebody's push start a
 * workflow of their own.
 */
const claimsOfOwner = [
  "sub",
  // GitHub.
  "repository",
  "repository_id",
  "repository_owner",
  "repository_owner_id",
  // GitLab.
  "project_path",
  "project_id",
  "namespace_path",
  "namespace_id",
  // Buildkite.
  "organization_slug",
  "organization_id",
  // CircleCI, Bitbucket, Semaphore, Codefresh.
  "oidc.circleci.com/project-id",
  "repositoryUuid",
  "workspaceUuid",
  "prj_id",
  "account_id",
];

/** @throws Problem `invalid_request` for a trust that would let in more than one could mean */
export function refuseVague({ kind, issuer, claims }: Trust): void {
  if (kind === "github") return;
  const names = Object.keys(claims);
  const own = names.find((name) => claimsOfToken.has(name));
  if (own !== undefined) throw problem("invalid_request", `claims: "${own}" is checked of every token; leave it out`);
  if (names.length > maxTrustClaims) {
    throw problem("invalid_request", `claims: at most ${maxTrustClaims} are compared, not ${names.length}`);
  }
  if (!names.some((name) => claimsOfOwner.includes(name) && (name !== "sub" || saysWhose(issuer, claims[name]!)))) {
    throw problem(
      "invalid_request",
      "claims: jobs of strangers at this issuer may have all of these; add one that says whose the job is, as the " +
        `token of your job has it: ${claimsOfOwner.join(", ")}`,
    );
  }
}

/** At GitHub an owner chooses of which claims the subject is made, which strangers may choose as well. */
function saysWhose(issuer: string, subject: string): boolean {
  return issuer !== githubIssuer || /^repo:[^/:]+\/[^/:]+:/.test(subject);
}

export function isClaimName(text: string): boolean {
  return text.length <= maxClaimNameLength && /^[\x21-\x7e]+$/.test(text);
}

export function isClaimValue(text: string): boolean {
  return text !== "" && text.length <= maxClaimLength && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

/** Of several that match, the one that asks for the most; of equals the first that is given. */
export function findTrust<T extends Trust>(trusts: readonly T[], said: Readonly<Record<string, unknown>>) {
  const size = ({ claims }: T) => Object.keys(claims).length;
  return trusts.filter((trust) => isMet(trust, said)).toSorted((a, b) => size(b) - size(a))[0];
}

/** Whether the issuer, whose word `said` is, says all that the trust asks for. */
export function isMet({ kind, claims }: Trust, said: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(claims).every(([name, wanted]) => {
    if (kind !== "github" || name !== "workflow") return Object.hasOwn(said, name) && said[name] === wanted;
    // The file and not the name that it gives itself, and of this repository: what it calls may lie in another.
    const file = said["workflow_ref"];
    return typeof file === "string" && file.startsWith(`${claims["repository"]}/.github/workflows/${wanted}@`);
  });
}

/** Where a release came from, by the word of the issuer. It names repositories and no people. */
export interface Source {
  issuer: string;
  subject?: string;
  repository?: string;
  commit?: string;
  ref?: string;
  /** The file that told the job what to do, with its own ref. */
  workflow?: string;
  run?: string;
  run_url?: string;
}

/** The names are those of GitHub, else those of GitLab; what an issuer does not say is left out. */
const sourceClaims = {
  subject: ["sub"],
  repository: ["repository", "project_path"],
  commit: ["sha"],
  ref: ["ref_path", "ref"],
  workflow: ["workflow_ref", "ci_config_ref_uri"],
  run: ["run_id", "pipeline_id"],
} as const;

export function sourceOf({ issuer }: Trust, said: Readonly<Record<string, unknown>>): Source {
  const found = Object.entries(sourceClaims).flatMap(([member, names]) => {
    const text = names.map((name) => textIn(said, name)).find((one) => one !== undefined);
    return text === undefined ? [] : [[member, text] as const];
  });
  const source: Source = { issuer, ...Object.fromEntries(found) };
  const { repository = "", run = "" } = source;
  const isAtGithub = issuer === githubIssuer && githubClaims.repository.test(repository) && /^\d+$/.test(run);
  return isAtGithub ? { ...source, run_url: `https://github.com/${repository}/actions/runs/${run}` } : source;
}

function textIn(said: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(said, name) ? said[name] : undefined;
  const text = typeof value === "number" ? String(value) : value;
  const isPlain = typeof text === "string" && text !== "" && text.isWellFormed() && !/\p{Cc}/u.test(text);
  return isPlain && text.length <= maxSourceLength ? text : undefined;
}
