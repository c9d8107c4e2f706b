import { parseMcpAddress } from "../domain/address.ts";
import { feedsOf } from "../live/settings.ts";
import { logFailure } from "../log.ts";
import type { WebContext } from "./browser.ts";

/**
 * Whoever listens at the address of a sign-in that ended is looked at again, so that a stream does not outlive what
 * allowed it. Those at the root are too many to be asked because of one; each finds out at its own next look.
 */
export function tellListeners(context: WebContext, audience: string): void {
  const address = parseMcpAddress(new URL(audience).pathname);
  const feeds = feedsOf(context.env);
  if (feeds === undefined || address?.namespace === undefined) return;
  const { namespace, collection } = address;
  const told = feeds.recheck({ namespace, collection }, undefined);
  context.executionCtx.waitUntil(told.catch((error: unknown) => logFailure("live", error)));
}
