import { Hono } from "hono";
import * as z from "zod";

import { numberOf } from "../domain/setting.ts";
import type { AppEnv, Env } from "../env.ts";
import { liveSettings } from "../live/settings.ts";
import { defaultQuotas, findQuotaState, setQuotas } from "../storage/quotas.ts";
import type { Quotas, QuotaState } from "../storage/quotas.ts";
import { requireCaller } from "./caller.ts";
import type { ApiContext, Caller } from "./caller.ts";
import { readJson } from "./json.ts";
import { formatTime } from "./shapes.ts";

/** What a namespace may hold and publish, and what it does. Whoever publishes sees it; the operator sets it. */
export const quotasApi = new Hono<AppEnv>();

/** A whole number, or null for the default. All three have to be named, so that raising one resets no other. */
const quota = z.int().min(0).nullable();
const newQuotas = z.strictObject({ skills: quota, bytes: quota, publishes_a_day: quota });

quotasApi.get("/namespaces/:namespace/quotas", async (context) => {
  const caller = await requireCaller(context, "publish");
  return answer(context, caller);
});

quotasApi.put("/namespaces/:namespace/quotas", async (context) => {
  const caller = await requireCaller(context, "set-quotas");
  const { skills, bytes, publishes_a_day: publishesADay } = await readJson(context, newQuotas);
  await setQuotas(context.env.DB, caller.actor, { skills, bytes, publishesADay });
  return answer(context, caller);
});

/** Of a namespace for which the operator has set none. */
export function quotasOf(env: Env): Quotas {
  return {
    skills: numberOf(env.QUOTA_SKILLS, defaultQuotas.skills),
    bytes: numberOf(env.QUOTA_BYTES, defaultQuotas.bytes),
    publishesADay: numberOf(env.QUOTA_PUBLISHES_A_DAY, defaultQuotas.publishesADay),
  };
}

async function answer(context: ApiContext, { namespace, now }: Caller): Promise<Response> {
  const live = liveSettings(context.env);
  const address = { namespace: namespace.name, collection: undefined };
  const [state, listeners] = await Promise.all([
    findQuotaState(context.env.DB, namespace.name, { defaults: quotasOf(context.env), now }),
    live?.feeds.countListeners(address) ?? 0,
  ]);
  return context.json({
    skills: formatQuota(state, "skills"),
    bytes: formatQuota(state, "bytes"),
    publishes_a_day: formatQuota(state, "publishesADay"),
    /** Open streams at `/mcp/{namespace}`; the limit is that of the deployment. */
    listeners: { limit: live?.caps.listeners ?? 0, is_default: true, used: listeners },
    day_ends_at: formatTime(state.dayEndsAt),
  });
}

function formatQuota({ own, limits, used }: QuotaState, name: keyof Quotas) {
  return { limit: limits[name], is_default: own[name] === null, used: used[name] };
}
