import { clientAddressOf } from "../domain/client-address.ts";
import { maxUserAgentLength } from "../domain/limits.ts";
import { withoutSecrets } from "../domain/redact.ts";
import type { Origin } from "../storage/rights.ts";

/** Where a request came from, for the audit log. */
export function requestOrigin(headers: Headers): Origin {
  return {
    address: clientAddressOf(headers.get("cf-connecting-ip") ?? undefined),
    agent: withoutSecrets(headers.get("user-agent") ?? "").slice(0, maxUserAgentLength),
  };
}
