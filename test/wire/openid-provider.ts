import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

import { exportJWK, generateKeyPair, SignJWT } from "jose";

/**
 * An OpenID provider on loopback: authorization code with PKCE and a client secret, RS256, and one button for each
 * person it knows. It refuses whatever a strict provider would, so that a sign-in that succeeds was asked for properly.
 */
export interface OpenIdProvider {
  issuer: string;
  /** For the registry. */
  vars: Record<string, string>;
  /** By name, with the groups that the next sign-in tells; changed by tests. */
  people: Map<string, string[]>;
  stop(): Promise<void>;
}

const clientId = "the registry/1";
const clientSecret = "secret of the registry: %+&";

interface Code {
  person: string;
  parameters: URLSearchParams;
}

export async function startOpenIdProvider(): Promise<OpenIdProvider> {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(publicKey)), kid: "openid-1", alg: "RS256", use: "sig" };
  const people = new Map<string, string[]>();
  const codes = new Map<string, Code>();

  const sign = (person: string, nonce: string) =>
    new SignJWT({ nonce, email: `${person}@example.com`, groups: people.get(person)! })
      .setProtectedHeader({ alg: "RS256", kid: "openid-1" })
      .setIssuer(issuer)
      .setSubject(`subject-of-${person}`)
      .setAudience(clientId)
      .setIssuedAt()
      .setExpirationTime("5 minutes")
      .sign(privateKey);

  const handlers: Record<string, (request: Asked) => Answer | Promise<Answer>> = {
    "GET /.well-known/openid-configuration": () => ({
      json: {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        authorization_response_iss_parameter_supported: true,
      },
    }),
    "GET /keys": () => ({ json: { keys: [key] } }),
    "GET /authorize": ({ parameters }) => {
      const fault = faultOf(parameters);
      return fault === undefined ? { html: choiceOf([...people.keys()], parameters) } : { status: 400, html: fault };
    },
    "POST /authorize": ({ body }) => {
      const parameters = new URLSearchParams(body.get("asked")!);
      const code = randomUUID();
      codes.set(code, { person: body.get("person")!, parameters });
      const answer = new URL(parameters.get("redirect_uri")!);
      for (const [name, value] of [
        ["code", code],
        ["state", parameters.get("state")!],
        ["iss", issuer],
      ] as const) {
        answer.searchParams.set(name, value);
      }
      return { location: answer.href };
    },
    "POST /token": async ({ body, authorization }) => {
      const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString(
        "base64",
      );
      if (authorization !== `Basic ${basic}`) return { status: 401, json: { error: "invalid_client" } };
      const code = codes.get(body.get("code") ?? "");
      codes.delete(body.get("code") ?? "");
      const challenge = createHash("sha256")
        .update(body.get("code_verifier") ?? "")
        .digest("base64url");
      const isGood =
        code?.parameters.get("code_challenge") === challenge &&
        code.parameters.get("redirect_uri") === body.get("redirect_uri") &&
        body.get("grant_type") === "authorization_code";
      if (!isGood) return { status: 400, json: { error: "invalid_grant" } };
      const id_token = await sign(code.person, code.parameters.get("nonce")!);
      return { json: { token_type: "Bearer", access_token: randomUUID(), id_token } };
    },
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const { pathname, searchParams } = new URL(request.url!, issuer);
    const body = new URLSearchParams(await text(request));
    const asked = { parameters: searchParams, body, authorization: request.headers.authorization };
    return (await handlers[`${request.method} ${pathname}`]?.(asked)) ?? { status: 404, html: "Nothing is here" };
  };
  const server = createServer((request, response) => void answer(request).then((given) => send(response, given)));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const vars = {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_NAME: "Example Accounts",
  };
  const stop = () => new Promise<void>((done) => void server.close(() => done()).closeAllConnections());
  return { issuer, vars, people, stop };
}

interface Asked {
  parameters: URLSearchParams;
  body: URLSearchParams;
  authorization: string | undefined;
}

interface Answer {
  status?: number;
  json?: unknown;
  html?: string;
  location?: string;
}

function faultOf(parameters: URLSearchParams): string | undefined {
  const isOurs =
    parameters.get("client_id") === clientId &&
    /^http:.*\/sign-in\/callback$/.test(parameters.get("redirect_uri") ?? "");
  if (!isOurs) return "Nobody that this provider knows asks for this";
  if (parameters.get("response_type") !== "code" || parameters.get("code_challenge_method") !== "S256") {
    return "This is not an authorization code with PKCE";
  }
  const needed = ["code_challenge", "nonce", "state"].find((name) => !parameters.get(name));
  if (needed !== undefined) return `${needed} is missing`;
  return parameters.get("scope")!.split(" ").includes("openid") ? undefined : "The scope openid is missing";
}

function choiceOf(people: readonly string[], parameters: URLSearchParams): string {
  const asked = parameters.toString().replaceAll("&", "&amp;");
  const buttons = people.map((one) => `<button name="person" value="${one}">Go on as ${one}</button>`);
  return `<form method="post" action="/authorize"><input type="hidden" name="asked" value="${asked}" />${buttons.join("")}</form>`;
}

function send(response: ServerResponse, { status = 200, json, html, location }: Answer): void {
  if (location !== undefined) response.writeHead(303, { location }).end();
  else if (json !== undefined)
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
  else response.writeHead(status, { "content-type": "text/html" }).end(html);
}
