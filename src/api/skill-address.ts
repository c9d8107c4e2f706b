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
  const raw = new URL(context.req.url).pathname.replace(/^\/api\/v1\/namespaces\/[^/]*\/skills\//, "");
  // No segment of a path is "-", but a folder in a skill may be: the first one ends the path.
  const end = raw.indexOf("/-/");
  const path = end === -1 ? raw : raw.slice(0, end);
  if (!isSkillPath(path)) throw noSuchAddress();
  return { path, rest: end === -1 ? undefined : raw.slice(end + "/-/".length) };
}

export function noSuchAddress() {
  return problem("not_found", "There is nothing at this address, or it needs a token of its namespace");
}

/** The path of a file from its spelling in an address; undefined where that is none. */
export function decodePath(file: string): string | undefined {
  try {
    return file.split("/").map(decodeURIComponent).join("/");
  } catch {
    return undefined;
  }
}
