import { foldersOf, isNamespace, isSkillPath, nameOf } from "./names.ts";
import type { Namespace, SkillPath } from "./names.ts";
import { isVersion } from "./version.ts";
import type { Version } from "./version.ts";

/**
 * `skill://` addresses.
 *
 *   moving  skill://{namespace}/{folder…/}{name}/{file}             the current release
 *   pinned  skill://{namespace}/{folder…/}@{version}/{name}/{file}  one release, whose bytes never change
 *
 * There is one spelling of each, the one the official SDK writes (WHATWG path encoding, plus `%`, `/`, `\`), because
 * some clients compare addresses as plain strings. Any other spelling names nothing.
 */
export const skillScheme = "skill://";
export const skillMd = "SKILL.md";

/** An address taken apart. Where the skill ends and the file begins is known only for pinned addresses. */
export type SkillUri =
  | { kind: "moving"; namespace: Namespace; segments: readonly string[] }
  | { kind: "pinned"; namespace: Namespace; path: SkillPath; version: Version; file: string };

// The path percent-encode set of the URL standard, `^` included, plus `%`, `/` and `\`; as the SDK writes them.
const encoded = /[^\w!$&'()*+,.:;=@[\]|~-]/gu;

export function encodeSegment(segment: string): string {
  if (segment === "." || segment === "..") return segment.replaceAll(".", "%2E");
  return segment.replaceAll(encoded, (char) => encodeURIComponent(char));
}

/** The address of a file of the current release; of the skill's directory when `file` is "". */
export function movingUri(namespace: Namespace, path: SkillPath, file: string = skillMd): string {
  return joinFile(`${skillScheme}${namespace}/${path}`, file);
}

/** The address of a file of one release. */
export function pinnedUri(namespace: Namespace, path: SkillPath, version: Version, file: string = skillMd): string {
  return joinFile(`${skillScheme}${namespace}/${pinnedPath(path, version)}`, file);
}

/** `billing/refunds`, `1.2.0` → `billing/@1.2.0/refunds` */
export function pinnedPath(path: SkillPath, version: Version): string {
  const folders = foldersOf(path);
  return `${folders === "" ? "" : `${folders}/`}@${version}/${nameOf(path)}`;
}

function joinFile(root: string, file: string): string {
  return file === "" ? root : `${root}/${file.split("/").map(encodeSegment).join("/")}`;
}

/** Undefined for anything that is not the one spelling of a skill address. */
export function parseSkillUri(uri: string): SkillUri | undefined {
  if (!uri.startsWith(skillScheme)) return undefined;
  const [authority, ...raw] = uri.slice(skillScheme.length).split("/");
  if (authority === undefined || !isNamespace(authority) || raw.length === 0) return undefined;
  const segments = raw.map(decodeCanonical);
  if (!segments.every((segment) => segment !== undefined)) return undefined;
  const at = segments.findIndex((segment) => segment.startsWith("@"));
  if (at !== -1) {
    const pinned = parsePinned(authority, segments, at);
    if (pinned !== undefined) return pinned;
  }
  return { kind: "moving", namespace: authority, segments };
}

/** The version marker is the first `@` segment; where it marks no version, the `@` is part of a file's name. */
function parsePinned(namespace: Namespace, segments: readonly string[], at: number): SkillUri | undefined {
  const version = segments[at]!.slice(1);
  const name = segments[at + 1];
  if (name === undefined || !isVersion(version)) return undefined;
  const path = [...segments.slice(0, at), name].join("/");
  if (!isSkillPath(path)) return undefined;
  return { kind: "pinned", namespace, path, version, file: segments.slice(at + 2).join("/") };
}

function decodeCanonical(raw: string): string | undefined {
  try {
    const decoded = decodeURIComponent(raw);
    const namesNothing = decoded === "" || decoded === "." || decoded === ".." || decoded.includes("/");
    return !namesNothing && encodeSegment(decoded) === raw ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** The skill paths that a moving address could mean, shortest first, each with the file that would remain. */
export function candidates(segments: readonly string[]): { path: SkillPath; file: string }[] {
  const found: { path: SkillPath; file: string }[] = [];
  for (let length = 1; length <= segments.length; length++) {
    const path = segments.slice(0, length).join("/");
    if (!isSkillPath(path)) break;
    found.push({ path, file: segments.slice(length).join("/") });
  }
  return found;
}

/** The address taken apart when it is that of a SKILL.md, moving or pinned. */
export function skillMdOf(uri: string): SkillUri | undefined {
  const parsed = parseSkillUri(uri);
  if (parsed?.kind === "pinned") return parsed.file === skillMd ? parsed : undefined;
  return parsed !== undefined && candidates(parsed.segments).some(({ file }) => file === skillMd) ? parsed : undefined;
}
