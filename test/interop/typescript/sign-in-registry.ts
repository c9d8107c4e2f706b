import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { build, migrate, operator, start } from "../../bench/machine.ts";
import type { Machine } from "../../bench/machine.ts";
import { RegistryClient } from "../../wire/registry-client.ts";
import { withdrawAll } from "../open-address.ts";
import { innerSkill } from "../stage.ts";

/**
 * A registry at which programs sign in by themselves. It is built and started apart from the stage, because some
 * programs are known by a document on their vendor's host, which is answered here as their code expects it.
 */
export interface SignInRegistry {
  /** Private, with one skill. */
  address: string;
  /** A reader's token of its own for each program, so that what it allowed is what that program was allowed. */
  mintToken(): Promise<string>;
  /** As if the hour were over: no access token is good any more; refresh tokens are. */
  endAccessTokens(): Promise<void>;
  /** At the account page, by whoever holds the token: each button "Withdraw" once. */
  withdrawAll(token: string): Promise<number>;
  close(): Promise<void>;
}

const namespace = "inner-desk";

/** What these two vendors say of their programs: which redirect addresses their code uses is what counts. */
const documents: Record<string, object> = {
  "https://claude.ai/oauth/claude-code-client-metadata": {
    client_name: "Claude Code",
    redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
  },
  "https://chatgpt.com/oauth/codex/client.json": {
    client_name: "Codex",
    redirect_uris: ["http://127.0.0.1/callback", "http://localhost/callback"],
  },
};

export async function openSignInRegistry(): Promise<SignInRegistry> {
  const state = await mkdtemp(join(tmpdir(), "interop-sign-in-"));
  let machine: Machine | undefined;
  const close = async () => {
    await machine?.stop();
    await rm(state, { recursive: true, force: true });
  };
  try {
    machine = await start(await build("src/index.ts"), state, { outside });
    const { origin, database } = machine;
    await migrate(database);
    const registry = new RegistryClient(origin, operator);
    await registry.createNamespace(namespace, "private");
    await registry.publish(namespace, innerSkill);
    return {
      address: `${origin}/mcp/${namespace}`,
      mintToken: () => registry.mintToken(namespace, "reader"),
      endAccessTokens: async () => {
        await database.prepare("DELETE FROM oauth_records WHERE key LIKE 'token:%'").bind().run();
      },
      withdrawAll: (token) => withdrawAll(origin, token),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function outside({ url }: Request): Promise<Response> {
  const document = documents[url];
  if (document === undefined) return new Response(null, { status: 404 });
  const usual = { grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };
  return Response.json({ client_id: url, ...usual, token_endpoint_auth_method: "none", ...document });
}
