import { isEqual, macOf, randomHex } from "./mac.ts";

/**
 * The ids of 2025-era sessions, `<shard>.<random>.<check>`. The shard says which object keeps the session, so that
 * ids stay good when there are more objects. The check is a MAC over all of it and over the address and principal that
 * the session was opened for: junk, a foreign id, and a good id in the wrong place or in wrong hands wake no object.
 * An id proves nothing else: who may read what is asked anew with every request.
 */
export interface SessionPlace {
  shard: number;
  random: string;
}

/** For what and for whom a session was opened. */
export interface SessionHolder {
  /** The path of the address, of a read link with its id instead of its secret. */
  path: string;
  /** As `formatPrincipal` writes it. */
  principal: string;
}

const randomBytes = 16;
const checkHexDigits = 32;
const pattern = new RegExp(`^(0|[1-9][0-9]{0,5})\\.([0-9a-f]{${randomBytes * 2}})\\.([0-9a-f]{${checkHexDigits}})$`);

export function mintPlace(shard: number): SessionPlace {
  return { shard, random: randomHex(randomBytes) };
}

export async function formatSessionId(place: SessionPlace, holder: SessionHolder, signingKey: string): Promise<string> {
  return `${place.shard}.${place.random}.${await checkOf(place, holder, signingKey)}`;
}

/** Undefined for what this registry did not write for this holder. */
export async function parseSessionId(
  text: string,
  holder: SessionHolder,
  signingKey: string,
): Promise<SessionPlace | undefined> {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, shard, random, check] = match;
  const place = { shard: Number(shard), random: random! };
  return isEqual(check!, await checkOf(place, holder, signingKey)) ? place : undefined;
}

/**
 * Which object keeps the sessions of one owner, and under which name it counts them: all in one object, so that a cap
 * is a cap; and under a MAC, so that no address of a person is kept.
 */
export async function placeOwner(
  owner: string,
  shards: number,
  signingKey: string,
): Promise<{ shard: number; key: string }> {
  const mac = await macOf("sessions", `owner\n${owner}`, signingKey);
  return { shard: Number.parseInt(mac.slice(0, 8), 16) % shards, key: mac.slice(8, 40) };
}

async function checkOf({ shard, random }: SessionPlace, { path, principal }: SessionHolder, signingKey: string) {
  const mac = await macOf("sessions", `id\n${shard}\n${random}\n${principal}\n${path}`, signingKey);
  return mac.slice(0, checkHexDigits);
}
