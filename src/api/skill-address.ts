import { isSkillPath } from "../domain/names.ts";
import type { SkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import type { ApiContext } from "./caller.ts";

/**
 * `…/skills/{path}` and `…/skills/{path}/-/{rest}`: a skill's path may hold slashes, so `/-/` ends it.
 * @throws Problem `not_found` for anything else
 */
export function readSkillAddress(context: ApiContext): { path: SkillPath; rest: string | undefined } {
  // The raw path: the router's own decoding would lose the difference between "%" and "%25" in a file's name.
  const [, raw] = new URL(context.req.url).pathname.split(/\/skills\/(.*)/s);
  const [path, rest, ...more] = raw!.split("/-/");
  if (path === undefined || !isSkillPath(path) || more.length > 0) throw noSuchAddress();
  return { path, rest };
}

export function noSuchAddress() {
  return problem("not_found", "There is nothing at this address, or it needs a token of its namespace");
}
