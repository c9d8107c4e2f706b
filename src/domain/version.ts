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
  const [left, right] = [splitVersion(a), splitVersion(b)];
  const core = left.major - right.major || left.minor - right.minor || left.patch - right.patch;
  if (core !== 0) return core;
  if (left.pre === "" || right.pre === "") return right.pre.length - left.pre.length;
  return comparePrereleases(left.pre.split("."), right.pre.split("."));
}

/**
 * The version after `highest`, the highest patch of its line; 1.0.0 for a first release.
 * @throws Problem `invalid_version` when the line has no further patch number
 */
export function nextPatch(highest: Version | undefined): Version {
  if (highest === undefined) return firstVersion;
  const { major, minor, patch } = splitVersion(highest);
  const next = `${major}.${minor}.${patch + 1}`;
  if (isVersion(next)) return next;
  throw problem("invalid_version", `There is no patch after ${highest}; name the next version with ?version=`);
}

/** The parts by which releases are stored and ordered; `pre` is "" for a full version. */
export function splitVersion(version: Version): { major: number; minor: number; patch: number; pre: string } {
  const dash = version.indexOf("-");
  const core = dash === -1 ? version : version.slice(0, dash);
  const [major, minor, patch] = core.split(".").map(Number) as [number, number, number];
  return { major, minor, patch, pre: dash === -1 ? "" : version.slice(dash + 1) };
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
