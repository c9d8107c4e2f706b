import type { Meter } from "../auth/rate-limits.ts";
import { maxBatchRequests } from "../domain/limits.ts";

/** What a message costs: a read for each request in it, the first of which was counted on arrival, and each search. */
const searches = new Set(["search_skills", "search_tools", "use-skill"]);

/** An array past its own limit is refused right after this, whatever it holds. @throws Problem `rate_limited` */
export async function chargeMessage(meter: Meter, message: unknown): Promise<void> {
  const requests: unknown[] = Array.isArray(message) ? message.slice(0, maxBatchRequests) : [message];
  if (requests.length > 1) await meter.spend("reads", requests.length - 1);
  const count = requests.filter(isSearch).length;
  if (count > 0) await meter.spend("searches", count);
}

function isSearch(request: unknown): boolean {
  const { method, params } = (request ?? {}) as {
    method?: unknown;
    params?: { name?: unknown; query?: unknown } | null;
  };
  if (method === "tools/list" || method === "skills/list") return typeof params?.query === "string";
  return (method === "tools/call" || method === "prompts/get") && searches.has(String(params?.name));
}
