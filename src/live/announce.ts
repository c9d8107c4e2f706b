import type { Announcement, SkillChange } from "../domain/announcement.ts";
import { featured } from "../domain/address.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import type { CollectionNews, News, Reachable, SkillFacts } from "../storage/news.ts";
import type { Address, Feeds } from "./feeds.ts";

const root: Address = { namespace: undefined, collection: undefined };

/**
 * Who is told of a change: the listeners of its namespace, of every collection that holds one of its skills, and of
 * /mcp. What each of them may know is decided by the Feed, from what stands in the announcement.
 */
export async function announce(feeds: Feeds, news: News): Promise<void> {
  await Promise.all(announcementsOf(news).map(([address, told]) => feeds.announce(address, told)));
}

export function announcementsOf(news: News): [Address, Announcement][] {
  const { name: namespace, revision, publicRevision } = news.namespace;
  const changes = changesOf(news);
  if (changes.length === 0) return [];
  const home: Announcement = { home: namespace, revisions: { [namespace]: revision }, publicRevision, changes };
  return [
    [{ namespace, collection: undefined }, home],
    [root, { ...home, home: undefined, publicRevision: news.registryRevision }],
    ...collectionsOf(news, changes),
  ];
}

/** What differs between before and after; a publish that moved nothing tells nobody anything. */
export function changesOf({ namespace, skills }: News): SkillChange[] {
  return skills.flatMap(({ path, before, after }) => {
    const isShown = before?.visibility !== after?.visibility;
    const pinned = isShown ? ("all" as const) : yanksBetween(before, after);
    const isMoved = isShown || before?.current !== after?.current;
    const isListed = listedAs(before) !== listedAs(after);
    if (!isMoved && !isListed && pinned.length === 0) return [];
    const isPublic = namespace.visibility === "public" && (isSeen(before) || isSeen(after));
    return [{ namespace: namespace.name, path, isPublic, isListed, isMoved, pinned }];
  });
}

function collectionsOf(news: News, changes: readonly SkillChange[]): [Address, Announcement][] {
  const grouped = new Map<string, [Address, Announcement]>();
  for (const holder of news.collections) {
    const { namespace, name, revision, publicRevision, path, version } = holder;
    const held = changes.flatMap((change) => (path === null || change.path === path ? [asHeld(change, version)] : []));
    const key = `${namespace}/${name}`;
    const known = grouped.get(key)?.[1].changes ?? [];
    const all = [...known, ...held.filter((change) => change.isListed || change.isMoved || change.pinned.length > 0)];
    // People of the skills' namespace count by that, those of the collection's by the collection.
    const revisions = { [news.namespace.name]: news.namespace.revision, [namespace]: revision };
    const announcement = { home: namespace, revisions, publicRevision, changes: all };
    if (all.length > 0) grouped.set(key, [{ namespace, collection: name }, announcement]);
  }
  return [...grouped.values()];
}

/** A collection that pins a release stays as it is when current moves, and changes when that release is yanked. */
function asHeld(change: SkillChange, version: string | null): SkillChange {
  if (version === null || change.pinned === "all") return change;
  const isYanked = (change.pinned as readonly string[]).includes(version);
  return { ...change, isListed: isYanked, isMoved: false, pinned: isYanked ? change.pinned : [] };
}

/**
 * Rights changed in a namespace: a token or a membership ended, a namespace was hidden or deleted. Whoever listens with
 * a right from there asks again whether it still holds; awaited before the change is answered, so that the caller
 * knows that nothing more is told to whom it was taken from.
 */
export async function announceRights(feeds: Feeds, { namespace: { name }, collections }: Reachable): Promise<void> {
  const addresses = [{ namespace: name, collection: undefined }, ...collections.map(addressOf), root];
  await Promise.all(addresses.map((address) => feeds.recheck(address, address.namespace === name ? undefined : name)));
}

/** All of a namespace was shown, hidden or deleted: whoever could see it has another list now. */
export async function announceNamespace(feeds: Feeds, reachable: Reachable, wasPublic: boolean): Promise<void> {
  const { namespace, registryRevision, collections } = reachable;
  const { name, revision: own, publicRevision: ownPublic } = namespace;
  const home = { home: name, revisions: { [name]: own }, publicRevision: ownPublic };
  const changes = [listChange(namespace.name, wasPublic || namespace.visibility === "public")];
  await announceRights(feeds, reachable);
  await Promise.all([
    feeds.announce({ namespace: namespace.name, collection: undefined }, { ...home, changes }),
    feeds.announce(root, { ...home, home: undefined, publicRevision: registryRevision, changes }),
    ...collections.map((collection) => {
      const { revision, publicRevision } = collection;
      const revisions = { [name]: own, [collection.namespace]: revision };
      const told = { home: collection.namespace, revisions, publicRevision, changes };
      return feeds.announce(addressOf(collection), told);
    }),
  ]);
}

/** A collection was replaced or deleted; /mcp lists one of them, and is told of that one. */
export async function announceCollection(
  feeds: Feeds,
  { namespace, name }: { namespace: Namespace; name: string },
  news: CollectionNews,
): Promise<void> {
  const { revision, publicRevision, registryRevision } = news;
  const address = { namespace, collection: name };
  // Strangers lost what was hidden from them; the recheck ends their streams.
  await feeds.recheck(address, undefined);
  const changes = [listChange(namespace, news.isPublic)];
  await feeds.announce(address, { home: namespace, revisions: { [namespace]: revision }, publicRevision, changes });
  if (!isFeatured(namespace, name)) return;
  await feeds.announce(root, { home: undefined, revisions: {}, publicRevision: registryRevision, changes });
}

function isFeatured(namespace: Namespace, name: string): boolean {
  return namespace === featured.namespace && name === featured.collection;
}

function addressOf({ namespace, name }: { namespace: Namespace; name: string }): Address {
  return { namespace, collection: name };
}

/** Something about a list as a whole: no skill of its own stands behind it. */
function listChange(namespace: Namespace, isPublic: boolean): SkillChange {
  return { namespace, path: "" as SkillPath, isPublic, isListed: true, isMoved: false, pinned: [] };
}

function isSeen(facts: SkillFacts | undefined): boolean {
  return facts !== undefined && facts.visibility !== "private";
}

function listedAs(facts: SkillFacts | undefined): string | undefined {
  if (facts === undefined || facts.current === null || facts.visibility === "unlisted") return undefined;
  return `${facts.visibility} ${facts.current}`;
}

function yanksBetween(before: SkillFacts | undefined, after: SkillFacts | undefined) {
  const [was, is] = [new Set(before?.yanked), new Set(after?.yanked)];
  return [...new Set([...was, ...is])].filter((version) => was.has(version) !== is.has(version));
}
