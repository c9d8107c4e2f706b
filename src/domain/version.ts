import { maxVersionLength } from "./limits.ts";
import { problem } from "./problem.ts";

/**
 * The label of a release: strict semantic versioning 2.0.0 without build metadata, which would give two labels
 * of equal precedence. https://semver.org/spec/v2.0.0.html
 */
export type Version = string & { readonly version: unique symbol };

const number = "(?:0|[1-9]\\d{0,8})";
const identifier = "(?:0|[1-9]\\d{0,8}|\\d*[A-Za-z-][0-9A-Za-z-]*)";
const pattern = new RegExp(`^${number}\\.${number}\\.${number}(?:-${identifier}(?:\\.${identifier})*)?$`);

export const firstVersion = "1.0.0" as Version;

export function isVersion(text: string): text is Version {
  return text.length <= maxVersionLength && pattern.test(text);
}

/** @throws Problem `invalid_version` */
export function parseVersion(text: string): Version {
  if (isVersion(text)) return text;
  throw problem(
    "invalid_version",
    `"${text}" is not a semantic version such as "1.4.0" or "2.0.0-rc.1" (no leading "v", no build metadata, ` +
      `at most ${maxVersionLength} characters)`,
  );
}

export function isPrerelease(version: Version): boolean {
  return version.includes("-");
}

/** Order by semver precedence (section 11): negative when `a` comes before `b`. */
export function compareVersions(a: Version, b: Version): number {
  const [left, right] = [split(a), split(b)];
  for (let index = 0; index < 3; index++) {
    const difference = left.core[index]! - right.core[index]!;
    if (difference !== 0) return difference;
  }
  if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length;
  return comparePrereleases(left.pre, right.pre);
}

/**
 * The version that follows `current`: its next patch, or 1.0.0 for a first release. Pre-releases are ignored
 * (where `current` is one, the highest full version stands in), and versions already taken are skipped.
 */
export function nextPatch(current: Version | undefined, taken: readonly Version[]): Version {
  const full = taken.filter((version) => !isPrerelease(version));
  const base = current !== undefined && !isPrerelease(current) ? current : full.sort(compareVersions).at(-1);
  if (base === undefined) return firstVersion;
  const [major, minor, patch] = split(base).core as [number, number, number];
  const used = new Set<string>(taken);
  let next = patch + 1;
  while (used.has(`${major}.${minor}.${next}`)) next++;
  return `${major}.${minor}.${next}` as Version;
}

function split(version: Version): { core: number[]; pre: string[] } {
  const dash = version.indexOf("-");
  const core = (dash === -1 ? version : version.slice(0, dash)).split(".").map(Number);
  return { core, pre: dash === -1 ? [] : version.slice(dash + 1).split(".") };
}

function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const order = compareIdentifiers(a[index]!, b[index]!);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareIdentifiers(a: string, b: string): number {
  const [aNumeric, bNumeric] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (aNumeric && bNumeric) return Number(a) - Number(b);
  if (aNumeric !== bNumeric) return aNumeric ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
