import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";

import { mintSecret } from "../../src/auth/tokens.ts";
import worker from "../../src/index.ts";
import { api, newNamespace, newToken, read } from "../harness.ts";
import type { Answer } from "../harness.ts";

/** What tests of namespaces, tokens, members, invitations, links and the audit log share. */
export interface Member {
  id: string;
  token: string;
  tokenId: string;
  person: { issuer: string; subject: string };
}

const issuer = "https://id.example.com";
let people = 0;

/** A person who came by invitation, as everybody does. */
export async function newMember(namespace: string, role: "reader" | "publisher" | "admin"): Promise<Member> {
  const { body } = await api("POST", `/namespaces/${namespace}/invitations`, { role });
  const person = { issuer, subject: `person-${++people}` };
  const accepted = await api("POST", `/invitations/${body["secret"] as string}`, person, null);
  if (accepted.status !== 201) throw new Error(`invitation: ${accepted.status} ${JSON.stringify(accepted.body)}`);
  const { id } = accepted.body["member"] as { id: string };
  return { id, token: accepted.body["token"] as string, tokenId: accepted.body["token_id"] as string, person };
}

/** A well-formed secret that this registry wrote and no longer knows. */
export async function forgotten(kind: "skr" | "skl" | "ski"): Promise<string> {
  return (await mintSecret(kind, env.SIGNING_KEY!)).text;
}

/** How many lines the audit log has of a namespace, newest action first. */
export async function actionsOf(namespace: string): Promise<string[]> {
  const { body } = await api("GET", `/audit?namespace=${namespace}`);
  return (body["events"] as { action: string }[]).map(({ action }) => action);
}

/** The API of a deployment with other variables or bindings. */
export async function apiOf(
  bindings: Partial<typeof env>,
  request: { method: string; path: string; body?: unknown; token?: string | null },
): Promise<Answer> {
  const context = createExecutionContext();
  const { method, path, body, token } = request;
  const response = await worker.fetch(
    new Request(`http://localhost/api/v1${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token ?? env.ADMIN_TOKEN}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
    { ...env, ...bindings },
    context,
  );
  await waitOnExecutionContext(context);
  return read(response);
}

/**
 * Who is refused in the same way by everything that only an admin may do, as `[who, status, code]`. The token of
 * another namespace is told the same about one that is private, public or not there.
 */
export async function refusalsOf(
  method: string,
  path: string,
  body?: unknown,
): Promise<(readonly [string, number, unknown])[]> {
  const namespace = await newNamespace();
  const others = await newToken(await newNamespace(), "admin");
  const ask = async (who: string, name: string, token: string | null | undefined) => {
    const answer = await api(method, `/namespaces/${name}${path}`, body, token);
    return [who, answer.status, answer.body["code"]] as const;
  };
  return [
    await ask("nobody", namespace, null),
    await ask("junk", namespace, "junk"),
    await ask("forgotten token", namespace, await forgotten("skr")),
    await ask("reader", namespace, await newToken(namespace, "reader")),
    await ask("publisher", namespace, await newToken(namespace, "publisher")),
    await ask("admin of another", namespace, others),
    await ask("admin of another, private", await newNamespace("private"), others),
    await ask("admin of another, absent", "never-created", others),
    await ask("operator, absent", "never-created", undefined),
  ];
}

export const usualRefusals = [
  ["nobody", 401, "unauthorized"],
  ["junk", 401, "invalid_token"],
  ["forgotten token", 401, "invalid_token"],
  ["reader", 403, "forbidden"],
  ["publisher", 403, "forbidden"],
  ["admin of another", 403, "forbidden"],
  ["admin of another, private", 403, "forbidden"],
  ["admin of another, absent", 403, "forbidden"],
  ["operator, absent", 404, "not_found"],
] as const;
