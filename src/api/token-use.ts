import { clientPrefixOf } from "../domain/client-address.ts";
import { logFailure } from "../log.ts";
import { useOf } from "../storage/token-use.ts";
import type { Gate } from "../storage/gate.ts";
import type { ApiContext } from "./caller.ts";

/** Writes down that a token was used, after the answer; that this fails is no reason to refuse anything. */
export function noteUse(context: ApiContext, gate: Gate, now: number): void {
  const address = clientPrefixOf(context.req.header("cf-connecting-ip"));
  const agent = context.req.header("user-agent") ?? null;
  const written = useOf(context.env.DB, gate.token, { now, address, agent });
  if (written !== undefined)
    context.executionCtx.waitUntil(written.catch((error: unknown) => logFailure("api", error)));
}
