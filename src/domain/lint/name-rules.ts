import { findPair } from "../frontmatter.ts";
import { maxNameLength } from "../limits.ts";
import { isSkillPath, nameOf } from "../names.ts";
import { skillMd } from "../uri.ts";
import { readings } from "./ambiguity-rules.ts";
import { isText, kindOfValue, placeOfPair, withValue } from "./field.ts";
import type { Fields } from "./field.ts";
import { excerpt } from "./remark.ts";
import type { Pair } from "./yaml-node.ts";
import { quote } from "./yaml-scalar.ts";

/** Lowercase, without accents, hyphens for everything else: the name that the author most likely meant, or "". */
export function slugOf(text: string): string {
  const plain = text
    .slice(0, 4 * maxNameLength)
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase();
  const slug = plain.replaceAll(/[^a-z0-9]+/g, "-").replace(/^-/, "");
  return slug.slice(0, maxNameLength).replace(/-$/, "");
}

/** A name as YAML that every reader takes for text: one like 2024, 1e9, null or yes needs quotes. */
function nameAsYaml(name: string): string {
  const isWord = /^[a-z]|-/.test(name) && !["true", "false", "null"].includes(name);
  return isWord && readings(name) === undefined ? name : quote(name);
}

export function checkName(fields: Fields): void {
  const pair = findPair(fields.skill.pairs, "name");
  const node = pair?.value;
  if (node?.kind === "unreadable") return;
  if (pair === undefined || node === undefined) {
    tellMissing(fields);
    return;
  }
  const { skill, remarks, path } = fields;
  const at = placeOfPair(pair);
  const isNull = node.kind === "scalar" && (node.value === null || node.value === "");
  if (isNull) {
    const fixed = withValue(skill, node, nameAsYaml(nameOf(path)));
    const fix = `Write "name: ${nameOf(path)}".`;
    remarks.add({ code: "name_missing", ...at, message: "The name is empty.", fix, fixed });
  } else if (!isText(node)) {
    const slug = node.kind === "scalar" && isSkillPath(node.source) ? node.source : slugOf(sourceOf(pair));
    const message = `The name is ${kindOfValue(node)}, not text.`;
    const fixed = slug === "" ? undefined : withValue(skill, node, nameAsYaml(slug));
    remarks.add({ code: "name_not_string", ...at, message, fix: "Put the name in quotes.", fixed });
    if (slug !== "") checkAgainst(fields, pair, slug, false);
  } else if (isName(node.value)) {
    checkAgainst(fields, pair, node.value, true);
  } else {
    const slug = slugOf(node.value) || nameOf(path);
    const message = `The name "${excerpt(node.value)}" must be 1 to ${maxNameLength} lowercase letters, digits and single hyphens.`;
    const fixed = withValue(skill, node, nameAsYaml(slug));
    remarks.add({ code: "name_invalid", ...at, message, fix: `Write "name: ${slug}".`, fixed });
    checkAgainst(fields, pair, slug, false);
  }
  if (!isText(node) || !isName(node.value)) fields.told.add(node);
}

const isName = (text: string) => text.length <= maxNameLength && !text.includes("/") && isSkillPath(text);
const sourceOf = ({ value }: Pair) => (value.kind === "scalar" ? value.source : "");

/** `isExact`: the name is valid as it stands, so that only this rule has a fixed line to offer. */
function checkAgainst(fields: Fields, pair: Pair, name: string, isExact: boolean): void {
  const { skill, remarks, path, folder } = fields;
  const at = placeOfPair(pair);
  const expected = nameOf(path);
  if (name !== expected) {
    const message = `The name "${name}" differs from "${expected}", the last segment of the skill's path "${path}".`;
    const fix = `Write "name: ${expected}", or publish under a path that ends in "${name}".`;
    const fixed = isExact ? withValue(skill, pair.value, nameAsYaml(expected)) : undefined;
    remarks.add({ code: "name_mismatch", ...at, message, fix, fixed });
  }
  if (folder !== undefined && folder !== name) {
    const message = `The folder is called "${excerpt(folder)}", the skill "${name}"; some hosts want them to be equal.`;
    remarks.add({ code: "folder_mismatch", ...at, message, fix: `Rename the folder to "${name}".` });
  }
}

function tellMissing({ skill, path, remarks }: Fields): void {
  const name = nameOf(path);
  const opening = skill.lines[skill.openLine - 1]!;
  const fixed = opening.trim() === "---" ? `${opening}\nname: ${nameAsYaml(name)}` : undefined;
  const message = `${skillMd} has no name.`;
  const fix = `Add the line "name: ${name}" to the frontmatter.`;
  remarks.add({ code: "name_missing", line: skill.openLine, column: 1, message, fix, fixed });
}
