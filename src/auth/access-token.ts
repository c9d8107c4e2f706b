import { toHex } from "../domain/digest.ts";
import type { Person } from "../domain/principal.ts";
import { isEqual, macOf } from "./mac.ts";

/**
 * Access tokens of a sign-in, `<user>:<grant>:<secret>` as the OAuth library writes them, and so are its codes and
 * refresh tokens. The user is ours: a MAC that stands for a token or a person, and a check of it, so that what this
 * registry did not write is refused without a question to the database, and requests can be counted by user.
 */
export interface AccessToken {
  userId: string;
  grantId: string;
  /** Under which the library's record of it is kept: it holds the hash of the token only. */
  key: string;
}

/** Who signed in: with a registry token, whose rights they then have, or as whom the OpenID provider named. */
export type Account = { tokenId: string } | { person: Person };

const userDigits = 32;
const checkDigits = 16;
const pattern = new RegExp(
  `^([0-9a-f]{${userDigits}}-[0-9a-f]{${checkDigits}}):([A-Za-z0-9_-]{16}):([A-Za-z0-9_-]{32})$`,
);

/** The same for the same account, so that their grants are found by it; it tells nobody who they are. */
export async function userIdOf(account: Account, signingKey: string): Promise<string> {
  const name = "tokenId" in account ? ["token", account.tokenId] : ["person", ...Object.values(plain(account.person))];
  const user = (await macOf("users", JSON.stringify(name), signingKey)).slice(0, userDigits);
  return `${user}-${await checkOf(user, signingKey)}`;
}

/** Whether the text has the form of an access token, a code or a refresh token. */
export function isOfGrant(text: string): boolean {
  return pattern.test(text);
}

/** Undefined for what this registry did not write. */
export async function parseAccessToken(text: string, signingKey: string): Promise<AccessToken | undefined> {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, userId, grantId] = match;
  const [user, check] = userId!.split("-");
  if (!isEqual(check!, await checkOf(user!, signingKey))) return undefined;
  return { userId: userId!, grantId: grantId!, key: `token:${userId}:${grantId}:${await hashOf(text)}` };
}

/** As the library names a token, a code and a refresh token in its records. */
export async function hashOf(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

function plain({ issuer, subject }: Person): { issuer: string; subject: string } {
  return { issuer, subject };
}

async function checkOf(user: string, signingKey: string): Promise<string> {
  return (await macOf("users", `check\n${user}`, signingKey)).slice(0, checkDigits);
}
