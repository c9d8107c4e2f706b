import { Hono } from "hono";
import type { JWTPayload } from "jose";
import * as z from "zod";

import { requireSecret } from "../auth/credential.ts";
import { IssuerError } from "../auth/issuer-keys.ts";
import { issuerIn, JwtRefused, verifyJwt } from "../auth/jwt.ts";
import { OutboundError } from "../auth/outbound.ts";
import { mintSecret } from "../auth/tokens.ts";
import { digestOfText } from "../domain/digest.ts";
import type { Digest } from "../domain/digest.ts";
import { clockLeewayMs, jobTokenMs, maxJobTokenAgeMs, maxJwtLength, maxTitleLength } from "../domain/limits.ts";
import { isNamespace } from "../domain/names.ts";
import type { Namespace } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { findTrust, sourceOf } from "../domain/trust.ts";
import type { Source } from "../domain/trust.ts";
import { publicOriginOf } from "../env.ts";
import type { AppEnv } from "../env.ts";
import { logEvent } from "../log.ts";
import { actorOf, exchange, findTrusts } from "../storage/publishers.ts";
import type { TrustedPublisher } from "../storage/publishers.ts";
import type { NewToken } from "../storage/tokens.ts";
import { originOf } from "./caller.ts";
import type { ApiContext } from "./caller.ts";
import { readJson } from "./json.ts";
import { jobScopes } from "./publishers.ts";
import { requireKnown } from "./query.ts";
import { formatTime } from "./shapes.ts";

/**
 * `POST /oidc/exchange`: what a CI says of its job becomes a token that publishes for some minutes what the namespace
 * trusts that job with. It is an ordinary token from there on, so every rule of rights is one that tokens have.
 */
export const exchangeApi = new Hono<AppEnv>();

const request = z.strictObject({ namespace: z.string(), token: z.string().min(1).max(maxJwtLength) });

exchangeApi.post("/oidc/exchange", async (context) => {
  requireKnown(context, []);
  const input = await readJson(context, request);
  const now = Date.now();
  const namespace = isNamespace(input.namespace) ? input.namespace : null;
  const issuer = issuerIn(input.token) ?? "";
  const { isKnownIssuer, trusts } = await findTrusts(context.env.DB, namespace, issuer);
  if (!isKnownIssuer) throw untrusted();
  const { said, fault } = await listen(context, input.token, { issuer, now });
  const publisher = findTrust(trusts, said);
  if (publisher === undefined) throw untrusted();
  // Who is trusted may hear what is wrong; it tells nobody else what the namespace trusts.
  if (fault !== undefined)
    throw problem("invalid_token", sentenceOf(fault, publicOriginOf(context.env, context.req.url)));
  const answer = await give(context, { namespace: namespace!, publisher, said, jwt: input.token, now });
  return context.json(answer, 201);
});

/** All that is said of a token that no trust matches, whether or not the namespace is there. */
function untrusted() {
  return problem(
    "invalid_token",
    "The token is from nobody whom this namespace trusts to publish, or its issuer cannot be asked right now. " +
      "Compare its claims with the namespace's publishers, to the letter",
  );
}

function sentenceOf({ fault, message }: JwtRefused, audience: string): string {
  return fault === "audience" ? `${message}; ask the issuer for one with the audience "${audience}"` : message;
}

interface Heard {
  said: JWTPayload;
  /** Why it does not count although the issuer said it. */
  fault: JwtRefused | undefined;
}

/** What the issuer says in the token, by its signature. @throws Problem `invalid_token` for what it did not say */
async function listen(context: ApiContext, token: string, of: { issuer: string; now: number }): Promise<Heard> {
  const ownOrigin = publicOriginOf(context.env, context.req.url);
  const rules = { ...of, ownOrigin, audience: ownOrigin, maxAgeMs: maxJobTokenAgeMs };
  try {
    return { said: await verifyJwt(token, rules), fault: undefined };
  } catch (error) {
    if (error instanceof JwtRefused) {
      if (error.payload === undefined) throw untrusted();
      return { said: error.payload, fault: error };
    }
    if (!(error instanceof OutboundError || error instanceof IssuerError)) throw error;
    logEvent("issuer-failed", { issuer: of.issuer, message: error.message });
    throw untrusted();
  }
}

interface Job {
  namespace: Namespace;
  publisher: TrustedPublisher;
  said: JWTPayload;
  jwt: string;
  now: number;
}

async function give(context: ApiContext, { namespace, publisher, said, jwt, now }: Job) {
  const { DB: db, SIGNING_KEY: key } = context.env;
  const { id, text, secretHash } = await mintSecret("skr", requireSecret("SIGNING_KEY", key));
  const source = sourceOf(publisher, said);
  const expiresAt = now + jobTokenMs;
  const token: NewToken = { ...grant, id, secretHash, below: publisher.path, label: labelOf(source), expiresAt };
  const actor = {
    principal: { kind: "anonymous" },
    namespace,
    now,
    from: originOf(context),
    writtenAs: actorOf(publisher.id),
  } as const;
  const spent = { hash: await hashOf(publisher.issuer, said, jwt), until: endOf(said) };
  await exchange(db, actor, { publisher, source, spent, token }, { replayed, gone: untrusted });
  return {
    token: text,
    token_id: id,
    expires_at: formatTime(expiresAt),
    namespace,
    path: publisher.path === "" ? null : publisher.path.slice(0, -1),
    scopes: jobScopes,
    publisher: publisher.id,
    source,
  };
}

const grant = {
  kind: "token",
  role: "publisher",
  explicitScopes: jobScopes,
  collection: undefined,
  member: undefined,
} as const;

function replayed() {
  return problem("invalid_token", "This token of the job was exchanged already; ask for a new one, for each exchange");
}

function labelOf({ repository, subject = "" }: Source): string {
  return (repository ?? subject).slice(0, maxTitleLength).toWellFormed();
}

/**
 * One name for each token of a job. An issuer that gives them no ids is taken by what it signed: a signature may have
 * several spellings, what it covers has one.
 */
function hashOf(issuer: string, { jti }: JWTPayload, jwt: string): Promise<Digest> {
  const isNamed = typeof jti === "string" && jti !== "";
  return digestOfText(
    JSON.stringify([issuer, isNamed ? jti : null, isNamed ? null : jwt.slice(0, jwt.lastIndexOf("."))]),
  );
}

/** When the token of the job could no longer come again, with a minute to spare. */
function endOf({ exp = 0, iat = 0 }: JWTPayload): number {
  return Math.min(exp * 1_000, iat * 1_000 + maxJobTokenAgeMs) + clockLeewayMs + 60_000;
}
