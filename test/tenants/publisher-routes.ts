import { formatCursor } from "../../src/domain/cursor.ts";
import { at, both, get, sent, time } from "./attempts.ts";
import type { Table } from "./attempts.ts";

/** As a CI writes it, but signed by nobody. */
const jobToken = ["ES256", { iss: "https://ci.bravo.example", sub: "xylo-job", project_id: "4242", exp: 9_999_999_999 }]
  .map((part) => btoa(JSON.stringify(typeof part === "string" ? { alg: part } : part)).replaceAll("=", ""))
  .concat("AAAA")
  .join(".");

/** Trusted publishers, and the exchange of their jobs' tokens. */
export const publishers: Table = {
  "POST /api/v1/namespaces/:namespace/publishers": (t) => [
    sent("POST", `${at(t.namespace)}/publishers`, { github: { repository: "bravo/den" } }),
    sent("POST", `${at(t.namespace)}/publishers`, { github: { repository: "bravo" } }),
  ],
  "GET /api/v1/namespaces/:namespace/publishers": (t) => [
    get(`${at(t.namespace)}/publishers`),
    ...both(t).map((base) =>
      get(
        `${base}/publishers?cursor=${formatCursor(`publishers:${t.namespace}`, { page: 1, key: `${time} ${t.publisherId}` })}`,
      ),
    ),
  ],
  "GET /api/v1/namespaces/:namespace/publishers/:id": (t) =>
    both(t).map((base) => get(`${base}/publishers/${t.publisherId}`)),
  "DELETE /api/v1/namespaces/:namespace/publishers/:id": (t) =>
    both(t).map((base) => ({ method: "DELETE", path: `${base}/publishers/${t.publisherId}` })),
  // Of an issuer that nobody trusts, so nobody is asked; exchange.test.ts has those that somebody does.
  "POST /api/v1/oidc/exchange": (t) => [
    sent("POST", "/api/v1/oidc/exchange", { namespace: t.namespace, token: jobToken }),
    sent("POST", "/api/v1/oidc/exchange", { namespace: t.namespace, token: t.publisherId }),
    sent("POST", "/api/v1/oidc/exchange", { namespace: t.namespace }),
  ],
};
