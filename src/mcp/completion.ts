import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

import { maxCompletions, maxPageEntries } from "../domain/limits.ts";
import { isNamespace } from "../domain/names.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { withoutSecrets } from "../domain/redact.ts";
import { candidates, movingUri, parseSkillUri, pinnedUri, skillScheme } from "../domain/uri.ts";
import type { Version } from "../domain/version.ts";
import { listGroups } from "../storage/finding.ts";
import { listListed } from "./lists.ts";
import { findPrompt, useSkill } from "./prompts.ts";
import { templateAt } from "./resources.ts";
import { uriOf } from "./visit.ts";
import type { Visit } from "./visit.ts";

/**
 * `completion/complete`: what a person may mean who has begun to type. The SDK would answer its own template with an
 * empty list, so both kinds are ours.
 */
export interface CompleteParams {
  ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };
  argument: { name: string; value: string };
}

export async function complete(visit: Visit, { ref, argument }: CompleteParams) {
  if (ref.type === "ref/prompt") return completionOf(await completePrompt(visit, ref.name, argument));
  if (ref.uri !== templateAt(visit).uriTemplate) throw unknown(`resource template "${ref.uri}"`);
  if (argument.name !== "path") throw unknown(`argument "${argument.name}"`);
  return completionOf(await completePath(visit, argument.value));
}

/** What may be meant; `hasMore` where the catalogue has further ones that nobody looked at. */
interface Offer {
  values: string[];
  hasMore: boolean;
}

const nothing: Offer = { values: [], hasMore: false };

/** Only the skill can be completed, and only where a prompt asks which; a task is the person's own words. */
async function completePrompt(visit: Visit, name: string, argument: CompleteParams["argument"]): Promise<Offer> {
  const isOurs = name === useSkill.name;
  if (!isOurs && !(await hasPrompt(visit, name))) throw unknown(`prompt "${name}"`);
  if (argument.name === "task") return nothing;
  if (!isOurs || argument.name !== "skill") throw unknown(`argument "${argument.name}"`);
  const begun = argument.value.toLowerCase();
  const { items, hasMore } = await listed(visit, begun);
  const beginning = namesIn(visit, items).filter((one) => one.startsWith(begun));
  if (begun === "" || hasMore) return { values: beginning, hasMore };
  // Of a large namespace only its first page: who looks for a word anywhere in a name has search.
  const first = await listed(visit, "");
  return { values: [...beginning, ...namesIn(visit, first.items).filter((one) => one.indexOf(begun) > 0)], hasMore };
}

async function hasPrompt(visit: Visit, name: string): Promise<boolean> {
  const key = await findPrompt(visit, name);
  return (
    key !== undefined &&
    (await visit.catalog.findRelease(key.namespace, key.path, key.pinned ?? undefined)) !== undefined
  );
}

/** Whereby a skill is asked for here. */
function namesIn(visit: Visit, skills: readonly { path: string; name: string }[]): string[] {
  return skills.map(({ path, name }) => (isNamespaceAddress(visit) ? path : name));
}

/** `{namespace}/{skill}/{file}`, each part as far as it is known. */
async function completePath(visit: Visit, value: string): Promise<Offer> {
  const home = isNamespaceAddress(visit) ? visit.address.namespace! : undefined;
  const prefix = home === undefined ? skillScheme : `${skillScheme}${home}/`;
  const files = await filesBelow(visit, prefix + value);
  if (files.length > 0) return { values: files.map((uri) => uri.slice(prefix.length)), hasMore: false };
  const { items, hasMore } = await skillsFor(visit, home, value);
  const skills = items.map((row) => uriOf(row).slice(prefix.length));
  const asksForNamespace = home === undefined && visit.address.namespace === undefined && !value.includes("/");
  const groups = asksForNamespace ? await listGroups(visit.catalog, maxPageEntries) : [];
  const all = [...new Set([...groups.map(({ name }) => `${name}/`), ...skills])];
  return { values: all.filter((path) => path.startsWith(value)), hasMore };
}

/** Skills that begin so: of the address's list, or of the namespace that was typed. */
async function skillsFor(visit: Visit, home: Namespace | undefined, value: string): Promise<Listed> {
  const [typed, ...rest] = value.split("/");
  const isElsewhere = home === undefined && visit.address.collection === undefined && rest.length > 0;
  if (isElsewhere && typed !== undefined && isNamespace(typed)) return listedIn(visit, typed, rest.join("/"));
  return listed(visit, value);
}

/** The files of the skill that the address names, where it names one already. */
async function filesBelow(visit: Visit, typed: string): Promise<string[]> {
  const parsed = parseSkillUri(typed.slice(0, typed.lastIndexOf("/")));
  if (parsed === undefined) return [];
  const { namespace } = parsed;
  const version = parsed.kind === "pinned" ? parsed.version : undefined;
  const keys = parsed.kind === "pinned" ? [parsed] : candidates(parsed.segments);
  for (const { path } of keys) {
    const found = await visit.catalog.findRelease(namespace, path, version);
    if (found === undefined) continue;
    const uris = found.files.map(({ file }) =>
      version === undefined ? movingUri(namespace, path, file) : pinnedUri(namespace, path, version, file),
    );
    return uris.filter((uri) => uri.startsWith(typed));
  }
  return [];
}

interface Listed {
  items: { namespace: Namespace; path: SkillPath; name: string; pinned: Version | null }[];
  hasMore: boolean;
}

/** In a namespace, which may be large, from where those are that begin so; elsewhere all, which are few. */
async function listed(visit: Visit, begun: string): Promise<Listed> {
  if (isNamespaceAddress(visit)) return listedIn(visit, visit.address.namespace!, begun);
  return { items: (await listListed(visit, "completion", undefined)).items, hasMore: false };
}

async function listedIn(visit: Visit, namespace: Namespace, begun: string): Promise<Listed> {
  if (!/^[a-z0-9/-]*$/.test(begun)) return { items: [], hasMore: false };
  const { items, hasMore } = await visit.catalog.listSkills(namespace, justBefore(begun), maxPageEntries);
  return {
    items: items.map((row) => ({ ...row, namespace, pinned: null })),
    hasMore: hasMore && items.at(-1)!.path.startsWith(begun),
  };
}

/** What sorts right before everything that begins so, which has only characters of a path. */
function justBefore(begun: string): string {
  const last = begun.charCodeAt(begun.length - 1);
  return begun === "" ? "" : `${begun.slice(0, -1)}${String.fromCharCode(last - 1)}~`;
}

function isNamespaceAddress({ address }: Visit): boolean {
  return address.namespace !== undefined && address.collection === undefined;
}

/** No total where nobody counted to the end. */
function completionOf({ values, hasMore }: Offer) {
  const shown = values.slice(0, maxCompletions);
  const total = hasMore ? {} : { total: values.length };
  return { completion: { values: shown, ...total, hasMore: hasMore || values.length > shown.length } };
}

function unknown(what: string) {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${withoutSecrets(what)}`);
}
