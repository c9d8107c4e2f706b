import type { Namespace } from "../domain/names.ts";
import { announce, announceCollection, announceNamespace, announceRights } from "../live/announce.ts";
import { feedsOf } from "../live/settings.ts";
import { logFailure } from "../log.ts";
import { findCollectionNews, findReachable } from "../storage/news.ts";
import type { News } from "../storage/news.ts";
import type { GateNamespace } from "../storage/gate.ts";
import type { ApiContext } from "./caller.ts";

/**
 * Telling listeners of what the API changed. The change is made by then and nothing here may undo or refuse it: what
 * fails is logged, and every open stream finds out at its next recheck.
 */
export function tell(context: ApiContext, news: News | undefined): void {
  const feeds = feedsOf(context.env);
  if (feeds === undefined || news === undefined) return;
  context.executionCtx.waitUntil(logged(announce(feeds, news)));
}

/** Resolves once everybody who listens with a right from this namespace was told to ask again. */
export async function tellRights(context: ApiContext, namespace: Namespace): Promise<void> {
  const feeds = feedsOf(context.env);
  if (feeds === undefined) return;
  await logged(
    findReachable(context.env.DB, namespace).then((found) =>
      found === undefined ? undefined : announceRights(feeds, found),
    ),
  );
}

/** The namespace was shown, hidden or deleted. */
export async function tellNamespace(context: ApiContext, before: GateNamespace): Promise<void> {
  const feeds = feedsOf(context.env);
  if (feeds === undefined) return;
  await logged(
    findReachable(context.env.DB, before.name).then((found) =>
      found === undefined ? undefined : announceNamespace(feeds, found, before.visibility === "public"),
    ),
  );
}

export function tellCollection(context: ApiContext, namespace: Namespace, name: string): void {
  const feeds = feedsOf(context.env);
  if (feeds === undefined) return;
  const news = findCollectionNews(context.env.DB, namespace, name);
  context.executionCtx.waitUntil(logged(news.then((found) => announceCollection(feeds, { namespace, name }, found))));
}

async function logged(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    logFailure("live", error);
  }
}
