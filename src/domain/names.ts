import { maxNameLength, maxNamespaceLength, maxPathDepth, maxSkillPathBytes, minNamespaceLength } from "./limits.ts";
import { problem } from "./problem.ts";

/**
 * Namespaces and skill paths: parsed at the border, trusted inside. Both are lowercase because the first segment
 * is the authority of a skill URI, where clients differ about case.
 */
export type Namespace = string & { readonly namespace: unique symbol };
/** `folder/…/name`: the whole path of a skill inside its namespace; the last segment is the skill's name. */
export type SkillPath = string & { readonly skillPath: unique symbol };

const segment = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** First segments of addresses, present and future: a namespace of that name could never have a page. */
const reserved = new Set(
  (
    "api mcp me blobs authorize token register revoke sign-in sign-out account r assets health status docs search " +
    "admin www well-known featured"
  ).split(" "),
);

const reservedSkeletons = new Set([...reserved].map(skeletonOf));

export function isNamespace(text: string): text is Namespace {
  return (
    text.length >= minNamespaceLength && text.length <= maxNamespaceLength && segment.test(text) && !reserved.has(text)
  );
}

/** @throws Problem `invalid_namespace`, saying which rule and how to mend it. */
export function parseNamespace(text: string): Namespace {
  if (isNamespace(text)) return text;
  const rule = reserved.has(text)
    ? `"${text}" is reserved`
    : `"${text}" must be ${minNamespaceLength} to ${maxNamespaceLength} lowercase letters, digits and single hyphens`;
  throw problem("invalid_namespace", `${rule}; choose another name, e.g. "acme-tools"`);
}

/** Of a name that nobody has yet. @throws Problem `invalid_namespace` also for one that looks like a reserved name. */
export function parseNewNamespace(text: string): Namespace {
  const name = parseNamespace(text);
  if (!reservedSkeletons.has(skeletonOf(name))) return name;
  throw problem("invalid_namespace", `"${text}" looks like a reserved name; choose another name, e.g. "acme-tools"`);
}

/** Names that a reader takes for each other have one skeleton; as the column of that name in D1. */
function skeletonOf(name: string): string {
  return name.replaceAll("-", "").replaceAll("0", "o").replaceAll(/[1i]/g, "l");
}

export function isSkillPath(text: string): text is SkillPath {
  const segments = text.split("/");
  return (
    text.length <= maxSkillPathBytes &&
    segments.length <= maxPathDepth &&
    segments.every((part) => part.length <= maxNameLength && segment.test(part))
  );
}

/** @throws Problem `invalid_path` */
export function parseSkillPath(text: string): SkillPath {
  if (isSkillPath(text)) return text;
  throw problem(
    "invalid_path",
    `"${text}" must be up to ${maxPathDepth} segments joined by "/", each 1 to ${maxNameLength} lowercase letters, ` +
      `digits and single hyphens, together at most ${maxSkillPathBytes} characters; e.g. "billing/refunds"`,
  );
}

/** The skill's name: the last segment of its path. */
export function nameOf(path: SkillPath): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The folders before the name, "" when there are none. */
export function foldersOf(path: SkillPath): string {
  const slash = path.lastIndexOf("/");
  return slash === -1 ? "" : path.slice(0, slash);
}
