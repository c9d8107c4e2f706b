import { clientPrefixOf } from "../domain/client-address.ts";
import { minSecretLength } from "../domain/limits.ts";
import { Problem } from "../domain/problem.ts";
import { readCredential } from "./credential.ts";
import type { Credential, Secrets } from "./credential.ts";
import { Meter } from "./rate-limits.ts";
import type { Payer, RateSettings } from "./rate-limits.ts";
import { parseSecret } from "./tokens.ts";

/**
 * Whoever sent a request, as far as the request itself proves it: what it presents is checked once, whoever asks for
 * it afterwards, and what it costs is counted against what the check found. All of it comes before any question to
 * the database, so that no answer to "too many" depends on what is stored.
 */
export interface Asker {
  /** @throws Problem what `readCredential` threw */
  credential(): Credential;
  /** The read link of an address below /r/, when this registry wrote it. */
  link: { kind: "link"; id: string; secretHash: string } | undefined;
  /** Undefined for the operator, whom no limit holds. */
  meter: Meter | undefined;
}

export interface AskerSettings extends Secrets {
  /** Absent: nothing is counted. */
  rates?: RateSettings;
}

/** Kept as long as the request is. */
const askers = new WeakMap<Request, Promise<Asker>>();

/** The first call for a request decides with which settings. */
export function askerOf(request: Request, settings: AskerSettings): Promise<Asker> {
  const known = askers.get(request);
  if (known !== undefined) return known;
  const asker = readAsker(request, settings);
  askers.set(request, asker);
  return asker;
}

async function readAsker(request: Request, settings: AskerSettings): Promise<Asker> {
  const [presented, link] = [await present(request, settings), await readLink(request.url, settings)];
  const credential = () => {
    if (presented instanceof Problem) throw presented;
    return presented;
  };
  const isOperator = !(presented instanceof Problem) && presented.kind === "operator";
  const { rates } = settings;
  if (isOperator || rates === undefined) return { credential, link, meter: undefined };
  return { credential, link, meter: new Meter(rates, payerOf(request, presented, link), Date.now()) };
}

async function present(request: Request, secrets: Secrets): Promise<Credential | Problem> {
  try {
    return await readCredential(request.headers, secrets);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Without a key no link can be checked; the door says so. */
async function readLink(url: string, { signingKey }: Secrets): Promise<Asker["link"]> {
  const secret = /^https?:\/\/[^/]+\/r\/([^/?#]*)/.exec(url)?.[1];
  if (secret === undefined || signingKey === undefined || signingKey.length < minSecretLength) return undefined;
  const parsed = await parseSecret("skl", secret, signingKey);
  return parsed === undefined ? undefined : { kind: "link", ...parsed };
}

/** The id in a text with a right check is one that we gave out, so nobody can make up keys to be counted under. */
function payerOf(request: Request, presented: Credential | Problem, link: Asker["link"]): Payer {
  const address = `address:${clientPrefixOf(request.headers.get("cf-connecting-ip"))}`;
  if (!(presented instanceof Problem)) {
    if (presented.kind === "token") return { key: `token:${presented.id}`, address };
    if (presented.kind === "access") return { key: `user:${presented.userId}`, address };
  }
  return { key: link === undefined ? address : `link:${link.id}`, address };
}
