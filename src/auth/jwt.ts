import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from "jose";
import type { JWTPayload, JWTVerifyOptions } from "jose";

import { clockLeewayMs, maxJwtLength } from "../domain/limits.ts";
import { keysOf } from "./issuer-keys.ts";
import type { Asking } from "./issuer-keys.ts";

/**
 * Tokens that other issuers signed: a CI's for its job, an OpenID provider's for a person. Only signatures that the
 * issuer alone can make are looked at; what a token says before its signature is checked decides nothing here.
 */
export interface JwtRules extends Asking {
  /** To the letter; the only host that is asked for keys. */
  issuer: string;
  /** The one audience: a token that counts for others too could be shown to us by one of them. */
  audience: string;
  /** Since it was issued, whatever it says of its own end; absent: until that. */
  maxAgeMs?: number;
}

export type JwtFault = "malformed" | "algorithm" | "key" | "signature" | "issuer" | "audience" | "expired" | "not_yet";

/** The token is no good. `payload` is there once the signature was: then it is the issuer's word, only not for here. */
export class JwtRefused extends Error {
  readonly fault: JwtFault;
  readonly payload: JWTPayload | undefined;

  constructor(fault: JwtFault, payload?: JWTPayload) {
    super(sentences[fault]);
    this.name = "JwtRefused";
    this.fault = fault;
    this.payload = payload;
  }
}

const sentences: Readonly<Record<JwtFault, string>> = {
  malformed: "The token is not a signed JWT with the claims iss, aud, exp and iat",
  algorithm: "The token is not signed with an algorithm that only its issuer could use",
  key: "The token names no key that its issuer shows",
  signature: "The signature of the token is not its issuer's",
  issuer: "The token is another issuer's",
  audience: "The token is meant for another audience, or not for ours alone",
  expired: "The token has run out, or was issued too long ago",
  not_yet: "The token does not count yet",
};

const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

/** What other kinds of JWT call themselves (RFC 8725, 3.11): an access token or a logout token names nobody here. */
const typ = /^(?:application\/)?jwt$/i;

/** Whom the token says it is from, for choosing whom to ask; nothing has been checked. */
export function issuerIn(token: string): string | undefined {
  try {
    const { iss } = token.length > maxJwtLength ? {} : decodeJwt(token);
    return typeof iss === "string" ? iss : undefined;
  } catch {
    return undefined;
  }
}

/** @throws JwtRefused; OutboundError and IssuerError while the issuer's keys cannot be had */
export async function verifyJwt(token: string, rules: JwtRules): Promise<JWTPayload> {
  refuseUnlooked(token);
  if (issuerIn(token) !== rules.issuer) throw new JwtRefused("issuer");
  try {
    return await verifyWith(token, rules, false);
  } catch (error) {
    // A key that we have not seen: the issuer may have a new one.
    if (!(error instanceof JwtRefused && error.fault === "key")) throw error;
    return verifyWith(token, rules, true);
  }
}

/** What needs no key to be refused, so that nobody is asked for one. */
function refuseUnlooked(token: string): void {
  if (token.length > maxJwtLength) throw new JwtRefused("malformed");
  const header = headerOf(token);
  if (header === undefined || (header.typ !== undefined && !typ.test(String(header.typ)))) {
    throw new JwtRefused("malformed");
  }
  if (!algorithms.includes(String(header.alg))) throw new JwtRefused("algorithm");
}

function headerOf(token: string) {
  try {
    return decodeProtectedHeader(token);
  } catch {
    return undefined;
  }
}

async function verifyWith(token: string, rules: JwtRules, isOutdated: boolean): Promise<JWTPayload> {
  const { issuer, audience, maxAgeMs, now } = rules;
  const keys = await keysOf(issuer, rules, isOutdated);
  const options: JWTVerifyOptions = {
    algorithms,
    issuer,
    audience,
    requiredClaims: ["exp", "iat"],
    clockTolerance: clockLeewayMs / 1_000,
    currentDate: new Date(now),
    ...(maxAgeMs === undefined ? {} : { maxTokenAge: maxAgeMs / 1_000 }),
  };
  const { payload } = await jwtVerify(token, keys, options).catch((error: unknown) => {
    throw refusalOf(error) ?? error;
  });
  if (Array.isArray(payload.aud) && payload.aud.length !== 1) throw new JwtRefused("audience", payload);
  return payload;
}

const faultOfClaim: Readonly<Record<string, JwtFault>> = {
  iss: "issuer",
  aud: "audience",
  nbf: "not_yet",
  iat: "not_yet",
};

/** What jose says, in our words; undefined: it says something else than that the token is no good. */
function refusalOf(error: unknown): JwtRefused | undefined {
  if (error instanceof errors.JWTExpired) return new JwtRefused("expired", error.payload);
  if (error instanceof errors.JWTClaimValidationFailed) {
    const isMissing = error.reason !== "check_failed";
    return new JwtRefused(isMissing ? "malformed" : (faultOfClaim[error.claim] ?? "malformed"), error.payload);
  }
  const isKeyless = error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys;
  // jose throws a TypeError for a key that is too weak to prove anything.
  if (isKeyless || error instanceof TypeError) return new JwtRefused("key");
  if (error instanceof errors.JWSSignatureVerificationFailed) return new JwtRefused("signature");
  if (error instanceof errors.JOSEAlgNotAllowed) return new JwtRefused("algorithm");
  return error instanceof errors.JOSEError ? new JwtRefused("malformed") : undefined;
}
