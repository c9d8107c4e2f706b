import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { exportJWK, generateKeyPair, SignJWT } from "jose";

/** A CI on loopback: an issuer with its documents, and the address at which a job of GitHub asks for a token. */
export interface CiIssuer {
  origin: string;
  /** What GitHub puts into the environment of a job. */
  environment: Record<string, string>;
  stop(): Promise<void>;
}

const secret = "of-this-job";

export async function startCiIssuer(claims: Record<string, unknown>): Promise<CiIssuer> {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(publicKey)), kid: "ci-1", alg: "RS256", use: "sig" };
  let made = 0;
  const sign = (audience: string) =>
    new SignJWT({ ...claims, jti: `job-${++made}` })
      .setProtectedHeader({ alg: "RS256", kid: "ci-1", typ: "JWT" })
      .setIssuer(origin)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime("5 minutes")
      .sign(privateKey);
  const answer = async ({ url, headers }: IncomingMessage): Promise<unknown> => {
    const { pathname, searchParams } = new URL(url!, origin);
    if (pathname === "/keys") return { keys: [key] };
    if (pathname === "/.well-known/openid-configuration") return { issuer: origin, jwks_uri: `${origin}/keys` };
    const isJob = pathname === "/token" && headers.authorization === `bearer ${secret}`;
    return isJob ? { value: await sign(searchParams.get("audience")!) } : undefined;
  };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void answer(request).then((body) => {
      response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(body ?? {}));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const environment = {
    ACTIONS_ID_TOKEN_REQUEST_URL: `${origin}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret,
  };
  const stop = () => new Promise<void>((done) => void server.close(() => done()));
  return { origin, environment, stop };
}
