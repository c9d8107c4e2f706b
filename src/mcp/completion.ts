import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

import { maxCompletions, maxPageEntries } from "../domain/limits.ts";
import { isNamespace } from "../domain/names.ts";
import type { Namespace } from "../domain/names.ts";
import { withoutSecrets } from "../domain/redact.ts";
import { candidates, movingUri, parseSkillUri, pinnedUri, skillScheme } from "../domain/uri.ts";
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

/** Only the skill can be completed, and only where a prompt asks which; a task is the person's own words. */
async function completePrompt(visit: Visit, name: string, argument: CompleteParams["argument"]): Promise<string[]> {
  const isOurs = name === useSkill.name;
  if (!isOurs && (await findPrompt(visit, name)) === undefined) throw unknown(`prompt "${name}"`);
  if (argument.name === "task") return [];
  if (!isOurs || argument.name !== "skill") throw unknown(`argument "${argument.name}"`);
  const begun = argument.value.toLowerCase();
  const names = (await listed(visit, begun)).map((row) => (isNamespaceAddress(visit) ? row.path : row.name));
  return [...names.filter((one) => one.startsWith(begun)), ...names.filter((one) => one.indexOf(begun) > 0)];
}

/** `{namespace}/{skill}/{file}`, each part as far as it is known. */
async function completePath(visit: Visit, value: string): Promise<string[]> {
  const home = isNamespaceAddress(visit) ? visit.address.namespace! : undefined;
  const prefix = home === undefined ? skillScheme : `${skillScheme}${home}/`;
  const files = await filesBelow(visit, prefix + value);
  if (files.length > 0) return files.map((uri) => uri.slice(prefix.length));
  const skills = (await skillsFor(visit, home, value)).map((uri) => uri.slice(prefix.length));
  if (home !== undefined || value.includes("/")) return skills.filter((path) => path.startsWith(value));
  const groups = visit.address.namespace === undefined ? await listGroups(visit.catalog, maxPageEntries) : [];
  const namespaces = groups.map(({ name }) => `${name}/`);
  return [...new Set([...namespaces, ...skills])].filter((path) => path.startsWith(value));
}

/** The SKILL.md addresses of skills that begin so: of the address's list, or of the namespace that was typed. */
async function skillsFor(visit: Visit, home: Namespace | undefined, value: string): Promise<string[]> {
  const [typed, ...rest] = value.split("/");
  const isElsewhere = home === undefined && visit.address.collection === undefined && rest.length > 0;
  if (isElsewhere && typed !== undefined && isNamespace(typed)) {
    const { items } = await visit.catalog.listSkills(typed, justBefore(rest.join("/")), maxPageEntries);
    return items.map((row) => uriOf({ ...row, namespace: typed, pinned: null }));
  }
  return (await listed(visit, value)).map(uriOf);
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

async function listed(visit: Visit, begun: string) {
  const { namespace } = visit.address;
  if (!isNamespaceAddress(visit)) return (await listListed(visit, "completion", undefined)).items;
  const { items } = await visit.catalog.listSkills(namespace!, justBefore(begun), maxPageEntries);
  return items.map((row) => ({ ...row, pinned: null }));
}

/** What sorts right before everything that begins so; paths are ASCII. */
function justBefore(begun: string): string {
  const last = begun.codePointAt(begun.length - 1);
  return last === undefined ? "" : `${begun.slice(0, -1)}${String.fromCodePoint(last - 1)}~`;
}

function isNamespaceAddress({ address }: Visit): boolean {
  return address.namespace !== undefined && address.collection === undefined;
}

function completionOf(values: readonly string[]) {
  const shown = values.slice(0, maxCompletions);
  return { completion: { values: shown, total: values.length, hasMore: values.length > shown.length } };
}

function unknown(what: string) {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${withoutSecrets(what)}`);
}
