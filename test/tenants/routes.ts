import { formatCursor } from "../../src/domain/cursor.ts";
import { packZip } from "../../src/publish/pack.ts";
import { skillMdOf, toFiles } from "../harness.ts";
import type { Attempt } from "./answers.ts";
import { at, both, get, sent, time } from "./attempts.ts";
import type { Table } from "./attempts.ts";
import { publishers } from "./publisher-routes.ts";
import { den } from "./seed.ts";
import { signIn } from "./sign-in-routes.ts";
import type { Target } from "./seed.ts";

function upload(t: Target, query: string): Attempt {
  const zip = packZip(toFiles({ "SKILL.md": skillMdOf("new-plan") }));
  const headers = { "content-type": "application/zip", "idempotency-key": "again" };
  return { method: "POST", path: `${at(t.namespace)}/skills${query}`, headers, body: zip };
}

const namespaces: Table = {
  "POST /api/v1/namespaces": (t) => [sent("POST", "/api/v1/namespaces", { name: t.namespace })],
  "GET /api/v1/namespaces": (t) => [
    get("/api/v1/namespaces"),
    get(`/api/v1/namespaces?cursor=${formatCursor("namespaces", { page: 1, key: "alpha-a" })}`),
    get(`/api/v1/namespaces?cursor=${formatCursor("namespaces", { page: 1, key: t.namespace })}`),
  ],
  "GET /api/v1/namespaces/:namespace": (t) => [get(at(t.namespace))],
  "PATCH /api/v1/namespaces/:namespace": (t) => [
    sent("PATCH", at(t.namespace), { visibility: "public" }),
    sent("PATCH", `${at(t.namespace)}?dry_run=true`, { visibility: "public" }),
    sent("PATCH", at(t.namespace), { wrong: 1 }),
  ],
  "DELETE /api/v1/namespaces/:namespace": (t) =>
    ["", "?dry_run=true", "?dry_rum=true"].map((query) => ({ method: "DELETE", path: at(t.namespace) + query })),
  "GET /api/v1/namespaces/:namespace/quotas": (t) => [get(`${at(t.namespace)}/quotas`)],
  "PUT /api/v1/namespaces/:namespace/quotas": (t) =>
    both(t).map((base) => sent("PUT", `${base}/quotas`, { skills: 1, bytes: 1, publishes_a_day: 1 })),
  "GET /api/v1/namespaces/:namespace/audit": (t) => [
    get(`${at(t.namespace)}/audit`),
    get(`${at(t.namespace)}/audit?action=publish&before=2099-01-01`),
    get(
      `${at(t.namespace)}/audit?cursor=${formatCursor(`audit:${JSON.stringify([true, t.namespace, null, null, null])}`, { page: 1, key: "999" })}`,
    ),
    get(
      `${at(den)}/audit?cursor=${formatCursor(`audit:${JSON.stringify([true, t.namespace, null, null, null])}`, { page: 1, key: "999" })}`,
    ),
  ],
  "GET /api/v1/namespaces/:namespace/audit.jsonl": (t) => [get(`${at(t.namespace)}/audit.jsonl`)],
  "GET /api/v1/audit": (t) => [get("/api/v1/audit"), get(`/api/v1/audit?namespace=${t.namespace}`)],
  "GET /api/v1/namespaces/:namespace/searches": (t) =>
    both(t).map((base) => get(`${base}/searches?days=${base === at(den) ? 400 : 7}`)),
  "GET /api/v1/namespaces/:namespace/reads": (t) => [
    get(`${at(t.namespace)}/reads`),
    ...both(t).map((base) => get(`${base}/reads?path=${t.skill}`)),
    ...both(t).map((base) =>
      get(
        `${base}/reads?cursor=${formatCursor(`reads:${t.namespace}::30`, { page: 1, key: `20000\n${t.skill}\n${t.version}\nx\n\n2026\n1` })}`,
      ),
    ),
  ],
  "POST /api/v1/search-index/rebuild": () => [
    sent("POST", "/api/v1/search-index/rebuild", {}),
    sent("POST", "/api/v1/search-index/rebuild", { cursor: formatCursor("search-index", { page: 1, key: "{}" }) }),
  ],
  "GET /api/v1/searches": () => [get("/api/v1/searches")],
  "GET /api/v1/me": () => [get("/api/v1/me")],
};

const rights: Table = {
  "POST /api/v1/namespaces/:namespace/tokens": (t) => [
    sent("POST", `${at(t.namespace)}/tokens`, { role: "admin" }),
    sent("POST", `${at(t.namespace)}/tokens`, { role: "owner" }),
  ],
  "GET /api/v1/namespaces/:namespace/tokens": (t) => [
    get(`${at(t.namespace)}/tokens`),
    ...both(t).map((base) =>
      get(`${base}/tokens?cursor=${formatCursor(`tokens:${t.namespace}`, { page: 1, key: `${time} ${t.tokenId}` })}`),
    ),
  ],
  "GET /api/v1/namespaces/:namespace/tokens/:id": (t) =>
    both(t).flatMap((base) => [get(`${base}/tokens/${t.tokenId}`), get(`${base}/tokens/${t.linkId}`)]),
  "DELETE /api/v1/namespaces/:namespace/tokens/:id": (t) =>
    both(t).flatMap((base) => [t.tokenId, t.linkId].map((id) => ({ method: "DELETE", path: `${base}/tokens/${id}` }))),
  "POST /api/v1/namespaces/:namespace/tokens/:id/rotate": (t) =>
    both(t).flatMap((base) => [
      sent("POST", `${base}/tokens/${t.tokenId}/rotate`, { overlap_hours: 0 }),
      { method: "POST", path: `${base}/tokens/${t.linkId}/rotate` },
    ]),
  "GET /api/v1/namespaces/:namespace/members": (t) => [
    get(`${at(t.namespace)}/members`),
    ...both(t).map((base) =>
      get(`${base}/members?cursor=${formatCursor(`members:${t.namespace}`, { page: 1, key: `1 ${t.memberId}` })}`),
    ),
  ],
  "PATCH /api/v1/namespaces/:namespace/members/:id": (t) =>
    both(t).map((base) => sent("PATCH", `${base}/members/${t.memberId}`, { role: "reader" })),
  "DELETE /api/v1/namespaces/:namespace/members/:id": (t) =>
    both(t).map((base) => ({ method: "DELETE", path: `${base}/members/${t.memberId}` })),
  "POST /api/v1/namespaces/:namespace/invitations": (t) => [
    sent("POST", `${at(t.namespace)}/invitations`, { role: "admin" }),
  ],
  "GET /api/v1/namespaces/:namespace/invitations": (t) => [
    get(`${at(t.namespace)}/invitations`),
    ...both(t).map((base) =>
      get(
        `${base}/invitations?cursor=${formatCursor(`invitations:${t.namespace}`, { page: 1, key: `${time} ${t.invitationId}` })}`,
      ),
    ),
  ],
  "DELETE /api/v1/namespaces/:namespace/invitations/:id": (t) =>
    both(t).map((base) => ({ method: "DELETE", path: `${base}/invitations/${t.invitationId}` })),
  "GET /api/v1/invitations/:secret": (t) => [
    get(`/api/v1/invitations/${t.invitation}`),
    get(`/api/v1/invitations/${t.link}`),
  ],
  "POST /api/v1/invitations/:secret": (t) =>
    [t.invitation, t.link, t.invitationId].map((secret) =>
      sent("POST", `/api/v1/invitations/${secret}`, { issuer: "https://id.example", subject: "mallory" }),
    ),
  "POST /api/v1/namespaces/:namespace/links": (t) => [
    sent("POST", `${at(t.namespace)}/links`, {}),
    ...both(t).map((base) => sent("POST", `${base}/links`, { collection: t.collection })),
  ],
  "GET /api/v1/namespaces/:namespace/links": (t) => [
    get(`${at(t.namespace)}/links`),
    get(`${at(den)}/links?cursor=${formatCursor(`links:${t.namespace}`, { page: 1, key: `${time} ${t.linkId}` })}`),
  ],
  "DELETE /api/v1/namespaces/:namespace/links/:id": (t) =>
    both(t).flatMap((base) => [t.linkId, t.tokenId].map((id) => ({ method: "DELETE", path: `${base}/links/${id}` }))),
};

const skills: Table = {
  "POST /api/v1/namespaces/:namespace/skills": (t) =>
    ["", `?path=${t.skill}`, `?path=${t.skill}&dry_run=true`, "?wrong=1"].map((query) => upload(t, query)),
  "GET /api/v1/namespaces/:namespace/skills": (t) => [
    get(`${at(t.namespace)}/skills`),
    get(`${at(t.namespace)}/skills?cursor=${formatCursor(`api-skills:${t.namespace}`, { page: 1, key: t.skill })}`),
    get(`${at(t.namespace)}/skills?cursor=wrong`),
    get(`${at(den)}/skills?cursor=${formatCursor("api-skills:alpha-closed", { page: 1, key: "v" })}`),
  ],
  "GET /api/v1/namespaces/:namespace/skills/:rest{.+}": (t) => {
    const releases = "/-/releases";
    const one = `${releases}/${t.version}`;
    const rest = [
      "",
      releases,
      one,
      `${releases}/current`,
      `${releases}/current/manifest`,
      `${one}/manifest`,
      `${one}/fit`,
    ];
    const files = [`${one}/files/${t.file}`, `${releases}/current/files/SKILL.md`, `${one}/files/`];
    const archives = [`${one}/archive.zip`, `${one}/archive.tar.gz`, `${one}/archive.rar`, "/-/nothing"];
    return [...rest, ...files, ...archives].flatMap((part) =>
      both(t).map((base) => get(`${base}/skills/${t.skill}${part}`)),
    );
  },
  "PATCH /api/v1/namespaces/:namespace/skills/:rest{.+}": (t) =>
    both(t).flatMap((base) => [
      sent("PATCH", `${base}/skills/${t.skill}`, { visibility: "public" }),
      sent("PATCH", `${base}/skills/${t.skill}?dry_run=true`, { visibility: "public" }),
      sent("PATCH", `${base}/skills/${t.skill}`, { current: t.version }),
      sent("PATCH", `${base}/skills/${t.skill}/-/releases/${t.version}`, { yanked: true }),
    ]),
  "DELETE /api/v1/namespaces/:namespace/skills/:rest{.+}": (t) =>
    both(t).flatMap((base) =>
      ["", "?dry_run=true"].map((query) => ({ method: "DELETE", path: `${base}/skills/${t.skill}${query}` })),
    ),
};

const address = "/api/v1/namespaces/:namespace/collections";

const collections: Table = {
  [`GET ${address}`]: (t) => [
    get(`${at(t.namespace)}/collections`),
    get(`${at(t.namespace)}/collections?cursor=${formatCursor(`collections:${t.namespace}`, { page: 1, key: "a" })}`),
  ],
  [`GET ${address}/:name`]: (t) => both(t).map((base) => get(`${base}/collections/${t.collection}`)),
  [`GET ${address}/:name/fit`]: (t) => both(t).map((base) => get(`${base}/collections/${t.collection}/fit`)),
  [`PUT ${address}/:name`]: (t) =>
    both(t).flatMap((base) => [
      sent("PUT", `${base}/collections/${t.collection}`, {
        skills: [{ namespace: t.namespace, path: t.skill, version: t.version }],
      }),
      sent("PUT", `${base}/collections/${t.collection}?dry_run=true`, {
        skills: [{ namespace: t.namespace, path: t.skill }],
      }),
      sent("PUT", `${base}/collections/bravo-desk`, { skills: [`skill://${t.namespace}/${t.skill}/SKILL.md`] }),
    ]),
  [`DELETE ${address}/:name`]: (t) =>
    both(t).flatMap((base) =>
      ["", "?dry_run=true"].map((query) => ({ method: "DELETE", path: `${base}/collections/${t.collection}${query}` })),
    ),
  [`GET ${address}/:name/editions`]: (t) => [
    ...both(t).map((base) => get(`${base}/collections/${t.collection}/editions`)),
    get(
      `${at(t.namespace)}/collections/${t.collection}/editions?cursor=${formatCursor(`editions:${t.namespace}/${t.collection}`, { page: 1, key: "9" })}`,
    ),
  ],
  [`POST ${address}/:name/return`]: (t) =>
    both(t).flatMap((base) =>
      ["", "?dry_run=true"].map((query) =>
        sent("POST", `${base}/collections/${t.collection}/return${query}`, { edition: 1 }),
      ),
    ),
};

const serverAddress = "/api/v1/namespaces/:namespace/servers";
const listedTools = [{ name: "find_jobs", description: "Find jobs", inputSchema: { type: "object" } }];

const servers: Table = {
  [`GET ${serverAddress}`]: (t) => [
    get(`${at(t.namespace)}/servers`),
    get(`${at(t.namespace)}/servers?cursor=${formatCursor(`servers:${t.namespace}`, { page: 1, key: "a" })}`),
  ],
  [`GET ${serverAddress}/:server`]: (t) => [
    ...both(t).map((base) => get(`${base}/servers/${t.server}`)),
    // What strangers may read, which tells nothing of the private skills that name its tools.
    get(`${at(t.namespace)}/servers/alpha-jobs`),
    get(
      `${at(t.namespace)}/servers/${t.server}?cursor=${formatCursor(`tools:${t.namespace}/${t.server}`, { page: 1, key: "0" })}`,
    ),
  ],
  [`GET ${serverAddress}/:server/tools/:tool{.+}`]: (t) =>
    both(t).map((base) => get(`${base}/servers/${t.server}/tools/${t.tool}`)),
  // In a namespace of one's own any name may be registered, so that is only asked about.
  [`PUT ${serverAddress}/:server`]: (t) =>
    [
      `${at(t.namespace)}/servers/${t.server}`,
      ...both(t).map((base) => `${base}/servers/${t.server}?dry_run=true`),
    ].map((path) => sent("PUT", path, { url: "https://mcp.example", tools: listedTools })),
  [`DELETE ${serverAddress}/:server`]: (t) =>
    both(t).flatMap((base) =>
      ["", "?dry_run=true"].map((query) => ({ method: "DELETE", path: `${base}/servers/${t.server}${query}` })),
    ),
};

const index = ".well-known/agent-skills/index.json";
const older = ".well-known/skills";
const nameOf = (t: Target) => t.skill.slice(t.skill.lastIndexOf("/") + 1);

const plain: Table = {
  "GET /blobs/sha256/:hex": (t) => [
    get(`/blobs/sha256/${t.hex}`),
    get(`/blobs/sha256/${t.hex}`, { "if-none-match": `"sha256:${t.hex}"` }),
  ],
  "GET /.well-known/agent-skills/index.json": () => [get(`/${index}`)],
  "GET /:namespace/.well-known/agent-skills/index.json": (t) => [get(`/${t.namespace}/${index}`)],
  "GET /r/:secret/.well-known/agent-skills/index.json": (t, link) =>
    [t.link, link].map((one) => get(`/r/${one}/${index}`)),
  "GET /r/:secret/archives/:namespace/:rest{.+}": (t, link) =>
    [t.link, link].map((one) => get(`/r/${one}/archives/${t.namespace}/${t.skill}/${t.version}.tar.gz`)),
  "GET /.well-known/skills/index.json": () => [get(`/${older}/index.json`)],
  "GET /:namespace/.well-known/skills/index.json": (t) => [get(`/${t.namespace}/${older}/index.json`)],
  "GET /r/:secret/.well-known/skills/index.json": (t, link) =>
    [t.link, link].map((one) => get(`/r/${one}/${older}/index.json`)),
  "GET /.well-known/skills/:name/:file{.+}": (t) => [get(`/${older}/${nameOf(t)}/${t.file}`)],
  "GET /:namespace/.well-known/skills/:name/:file{.+}": (t) =>
    [t.file, "SKILL.md"].map((file) => get(`/${t.namespace}/${older}/${nameOf(t)}/${file}`)),
  "GET /r/:secret/.well-known/skills/:name/:file{.+}": (t, link) =>
    [t.link, link].map((one) => get(`/r/${one}/${older}/${nameOf(t)}/${t.file}`)),
  "GET /.well-known/oauth-protected-resource/*": (t) =>
    [`/mcp/${t.namespace}`, `/mcp/${t.namespace}/${t.collection}`, `/me/mcp/${t.namespace}`, `/r/${t.link}/mcp`].map(
      (path) => get(`/.well-known/oauth-protected-resource${path}`),
    ),
  "GET /.well-known/security.txt": () => [get("/.well-known/security.txt")],
};

/**
 * For every route what is tried at it, aimed at a target. `coverage.test.ts` fails for a route that is not here.
 * Where a name could be looked for inside the caller's own namespace, that is tried too.
 */
export const routes: Table = {
  ...namespaces,
  ...rights,
  ...publishers,
  ...signIn,
  ...skills,
  ...collections,
  ...servers,
  ...plain,
};

const verbs = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Everything that is tried at a route; HEAD wherever there is GET. */
export function attemptsAt(route: string, target: Target, link: string): Attempt[] {
  const attempts = routes[route]!(target, link);
  return attempts.flatMap((one) => (one.method === "GET" ? [one, { ...one, method: "HEAD" }] : [one]));
}

/** The methods that an address does not have. */
export function otherAttemptsAt(pattern: string, target: Target, link: string): Attempt[] {
  const here = Object.keys(routes).filter((route) => route.endsWith(` ${pattern}`));
  const known = new Set(here.map((route) => route.split(" ")[0]));
  const paths = new Set(here.flatMap((route) => routes[route]!(target, link).map(({ path }) => path)));
  return [...paths].flatMap((path) => verbs.filter((verb) => !known.has(verb)).map((method) => ({ method, path })));
}
