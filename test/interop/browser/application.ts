import { equal } from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** An application on the person's machine: it registers itself, listens on loopback, and asks for tokens with PKCE. */
export interface Application {
  redirectUri: string;
  /** What came to its listener, in order. */
  arrived: Arrival[];
  /** Where the application would send the person, for an address of the registry. `changed`: parameters, as it gets them wrong. */
  ask(resource: string, changed?: Record<string, string>): Asked;
  stop(): Promise<void>;
}

export interface Arrival {
  url: URL;
  headers: IncomingHttpHeaders;
}

export interface Asked {
  resource: string;
  address: string;
  state: string;
  /** The code of an answer, for tokens. */
  redeem(answer: URL): Promise<Tokens>;
  refresh(tokens: Tokens): Promise<Response>;
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
}

interface Endpoints {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  registration_endpoint: string;
}

export const userAgent = "a-host/1.0";

/** `host`: by which of its names it calls this machine. */
export async function startApplication(origin: string, name: string, host = "127.0.0.1"): Promise<Application> {
  const arrived: Arrival[] = [];
  const server = createServer(({ url, headers }, response) => {
    // A browser asks for an icon by itself.
    if (url!.startsWith("/callback")) arrived.push({ url: new URL(url!, redirectUri), headers });
    response.writeHead(200, { "content-type": "text/html" }).end("<p>You may close this window</p>");
  });
  await new Promise<void>((done) => server.listen(0, host === "[::1]" ? "::1" : "127.0.0.1", done));
  const redirectUri = `http://${host}:${(server.address() as AddressInfo).port}/callback`;
  const endpoints = await answerOf<Endpoints>(await fetch(`${origin}/.well-known/oauth-authorization-server`));
  const registered = await fetch(endpoints.registration_endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: name, redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
  });
  const { client_id } = await answerOf<{ client_id: string }>(registered);
  return {
    redirectUri,
    arrived,
    ask: (resource, changed = {}) => newQuestion(endpoints, { client_id, redirectUri, resource, changed }),
    stop: () => new Promise<void>((done) => void server.close(() => done()).closeAllConnections()),
  };
}

interface Question {
  client_id: string;
  redirectUri: string;
  resource: string;
  changed: Record<string, string>;
}

function newQuestion(endpoints: Endpoints, { client_id, redirectUri, resource, changed }: Question): Asked {
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(8).toString("hex");
  const address = new URL(endpoints.authorization_endpoint);
  address.search = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: redirectUri,
    resource,
    scope: "skills:read",
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...changed,
  }).toString();
  const post = (fields: Record<string, string>) =>
    fetch(endpoints.token_endpoint, { method: "POST", body: new URLSearchParams({ client_id, resource, ...fields }) });
  return {
    resource,
    address: address.href,
    state,
    redeem: async (answer) => {
      equal(answer.searchParams.get("state"), state);
      equal(answer.searchParams.get("iss"), endpoints.issuer);
      const code = answer.searchParams.get("code") ?? "";
      const grant = { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: redirectUri };
      return answerOf<Tokens>(await post(grant));
    },
    refresh: ({ refresh_token }) => post({ grant_type: "refresh_token", refresh_token }),
  };
}

/** The skills that a token shows at an address; or the status with which it is refused. */
export async function skillsAt(resource: string, { access_token }: Tokens): Promise<string[] | number> {
  const response = await fetch(resource, {
    method: "POST",
    headers: {
      authorization: `Bearer ${access_token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
      "user-agent": userAgent,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "skills/list" }),
  });
  if (!response.ok) return response.status;
  const { result } = (await response.json()) as { result: { skills: { uri: string }[] } };
  return result.skills.map(({ uri }) => uri).sort();
}

async function answerOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status} ${text}`);
  return JSON.parse(text) as T;
}
