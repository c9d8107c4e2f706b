import { Hono } from "hono";
import * as z from "zod";

import { maxHoldersShown } from "../domain/limits.ts";
import type { SkillPath } from "../domain/names.ts";
import { isVersion, parseVersion } from "../domain/version.ts";
import type { Version } from "../domain/version.ts";
import type { AppEnv } from "../env.ts";
import { orNotFound } from "../storage/catalog.ts";
import type { SkillStateRow } from "../storage/catalog.ts";
import { Collections } from "../storage/collections.ts";
import { Lifecycle } from "../storage/lifecycle.ts";
import { requireCaller, requireSkill } from "./caller.ts";
import type { ApiContext, Caller } from "./caller.ts";
import { readJson } from "./json.ts";
import { tell } from "./news.ts";
import { dryRun, isDryRun } from "./query.ts";
import { formatHolders, formatRelease, formatSkillState } from "./shapes.ts";
import { noSuchAddress, readSkillAddress } from "./skill-address.ts";

/**
 * Changes of what was published: visibility, current, yank and delete. Saying what is already so changes nothing.
 * With `?dry_run=true` nothing changes either, and the answer names the collections that hold the skill.
 */
export const lifecycleApi = new Hono<AppEnv>();

const skillChange = z
  .strictObject({ visibility: z.enum(["public", "unlisted", "private"]).optional(), current: z.string().optional() })
  .refine((change) => Object.keys(change).length > 0, "name visibility, current, or both");

const releaseChange = z.strictObject({ yanked: z.boolean() });

lifecycleApi.patch("/namespaces/:namespace/skills/:rest{.+}", async (context) => {
  const caller = await requireCaller(context, "publish", dryRun);
  const { path, rest } = readSkillAddress(context);
  requireSkill(caller, "publish", path);
  if (rest === undefined) return changeSkill(context, caller, path);
  const [noun, version, ...more] = rest.split("/");
  if (noun !== "releases" || version === undefined || !isVersion(version) || more.length > 0) throw noSuchAddress();
  return changeRelease(context, caller, { path, version });
});

lifecycleApi.delete("/namespaces/:namespace/skills/:rest{.+}", async (context) => {
  const caller = await requireCaller(context, "delete-skill", dryRun);
  const { path, rest } = readSkillAddress(context);
  if (rest !== undefined) throw noSuchAddress();
  const skill = orNotFound(await caller.catalog.findSkill(caller.namespace.name, path), path);
  if (isDryRun(context)) return context.json(await foretell(context, caller, skill));
  tell(context, await lifecycleOf(context, caller).delete(path));
  return context.body(null, 204);
});

async function changeSkill(context: ApiContext, caller: Caller, path: SkillPath): Promise<Response> {
  const change = await readJson(context, skillChange);
  const namespace = caller.namespace.name;
  const before = orNotFound(await caller.catalog.findSkill(namespace, path), path);
  const current = change.current === undefined ? undefined : parseVersion(change.current);
  if (current !== undefined)
    orNotFound(await caller.catalog.findRelease(namespace, path, current), `${path} ${current}`);
  const wanted = {
    ...(current === undefined || current === before.current ? {} : { current }),
    ...(change.visibility === undefined || change.visibility === before.visibility
      ? {}
      : { visibility: change.visibility }),
  };
  if (isDryRun(context)) return context.json(await foretell(context, caller, { ...before, ...wanted }));
  if (Object.keys(wanted).length > 0) tell(context, await lifecycleOf(context, caller).changeSkill(path, wanted));
  return context.json(formatSkillState(orNotFound(await caller.catalog.findSkill(namespace, path), path)));
}

async function changeRelease(
  context: ApiContext,
  caller: Caller,
  { path, version }: { path: SkillPath; version: Version },
): Promise<Response> {
  const { yanked } = await readJson(context, releaseChange);
  const namespace = caller.namespace.name;
  const find = async () => orNotFound(await caller.catalog.findRelease(namespace, path, version), path).release;
  const before = await find();
  if (isDryRun(context)) {
    const skill = orNotFound(await caller.catalog.findSkill(namespace, path), path);
    return context.json(await foretell(context, caller, skill));
  }
  if (yanked !== (before.yanked_at !== null)) {
    const lifecycle = lifecycleOf(context, caller);
    tell(context, await (yanked ? lifecycle.yank(path, version) : lifecycle.unyank(path, version)));
  }
  const skill = orNotFound(await caller.catalog.findSkill(namespace, path), path);
  return context.json({ ...formatRelease(namespace, await find(), true), current: skill.current });
}

/** What a change would touch: the skill as it would be, and the collections that hold it and that the caller may read. */
async function foretell(context: ApiContext, caller: Caller, skill: SkillStateRow) {
  const collections = new Collections(context.env.DB, caller.viewer);
  const holders = await collections.listHolders(skill.namespace, skill.path, maxHoldersShown);
  return { dry_run: true, ...formatSkillState(skill), ...formatHolders(holders) };
}

function lifecycleOf(context: ApiContext, caller: Caller): Lifecycle {
  return new Lifecycle(context.env.DB, caller.actor);
}
