import { buildEntry } from "../domain/entry.ts";
import type { SkillFile } from "../domain/entry.ts";
import { fileFinding, gravestFindings, hasErrors } from "../domain/finding.ts";
import type { Finding } from "../domain/finding.ts";
import { findPair, readSkillMd } from "../domain/frontmatter.ts";
import { lintRelease } from "../domain/lint.ts";
import { Remarks } from "../domain/lint/remark.ts";
import { maxSkillMdBytes } from "../domain/limits.ts";
import { isSkillPath, parseSkillPath } from "../domain/names.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { skillMd } from "../domain/uri.ts";
import type { Upload } from "./archive.ts";
import { draftOf } from "./release.ts";
import type { Draft } from "./release.ts";
import { splitUpload } from "./split.ts";
import type { Part } from "./split.ts";
import type { NamingSkill } from "./tool-findings.ts";

/**
 * An upload becomes drafts, or is refused with everything that is wrong with it. The official SDK decides
 * acceptance; our own scanner finds what the SDK stops short of, each with its line.
 */
export interface PrepareOptions {
  namespace: Namespace;
  /** For one skill its whole path (by default its name), for several what their paths begin with. */
  path: SkillPath | undefined;
  allowSecrets: boolean;
  /** Whether the request speaks of several skills, however many the upload holds. */
  isFolderOfSkills: boolean;
  /** Remarks that need to know more than the upload; absent: none. */
  findMore?: (skills: readonly NamingSkill[]) => Promise<Finding[]>;
}

export interface Prepared {
  drafts: Draft[];
  /** Whether the upload was one skill, with its SKILL.md at the root. */
  isSingle: boolean;
  findings: Finding[];
}

/** What cannot be said while part of the upload is unreadable. */
const needsAllFiles = new Set(["broken_link", "skill_md_missing"]);

/** @throws Problem `invalid_release` with all findings, of all skills of the upload */
export async function prepare(upload: Upload, options: PrepareOptions): Promise<Prepared> {
  const { isSingle, parts, findings: ofSplit } = splitUpload(upload, options.isFolderOfSkills);
  const drafts: Draft[] = [];
  const described: NamingSkill[] = [];
  const found = [...upload.findings, ...ofSplit];
  for (const part of parts) {
    const { draft, findings } = await prepareOne(part, isSingle, options);
    found.push(...findings.filter((finding) => upload.isComplete || !needsAllFiles.has(finding.code)));
    if (draft === undefined) continue;
    drafts.push(draft);
    described.push({ root: part.root, frontmatter: draft.entry.frontmatter, files: part.files });
  }
  found.push(...sharedPaths(drafts), ...((await options.findMore?.(described)) ?? []));
  const findings = gravestFindings(found);
  if (drafts.length < parts.length || hasErrors(findings)) throw refusalOf(findings);
  return { drafts, isSingle, findings };
}

async function prepareOne(part: Part, isSingle: boolean, options: PrepareOptions) {
  const { files, folder, root } = part;
  const path = isSingle
    ? (options.path ?? defaultPath(files, folder))
    : pathBelow(options.path, defaultPath(files, folder));
  const built = await buildEntry(options.namespace, path, files);
  const refusals = "refusals" in built ? built.refusals : [];
  const findings = lintRelease({ path, folder, files, refusals, allowSecrets: options.allowSecrets }).map((finding) =>
    // Within an upload of several skills a file is named from the upload's root.
    root === "" ? finding : { ...finding, file: root + finding.file },
  );
  const draft = "refusals" in built ? undefined : await draftOf(options.namespace, path, built.entry, files);
  return { draft, findings };
}

function pathBelow(prefix: SkillPath | undefined, name: SkillPath): SkillPath {
  return prefix === undefined ? name : parseSkillPath(`${prefix}/${name}`);
}

/** Two folders of one upload whose skills have one name would be two releases of one skill. */
function sharedPaths(drafts: readonly Draft[]): Finding[] {
  const seen = new Set<string>();
  const twice = drafts.filter((draft) => seen.has(draft.path) || !seen.add(draft.path));
  return twice.map((draft) =>
    fileFinding("error", "duplicate_skill", "", {
      message: `Two folders of the upload hold a skill named "${draft.path}".`,
      fix: "Give each skill a name of its own, or send them in two uploads with different ?path=.",
    }),
  );
}

function refusalOf(findings: readonly Finding[]): Error {
  const errors = findings.filter((finding) => finding.severity === "error").length;
  const detail = `The upload has ${errors} ${errors === 1 ? "error" : "errors"}; each is among the findings`;
  return problem("invalid_release", detail, { findings });
}

/** The skill's name; where that is no name, its folder's, so that the other findings are still about this skill. */
function defaultPath(files: readonly SkillFile[], folder: string | undefined): SkillPath {
  const main = files.find((file) => file.path === skillMd);
  const choices = [main === undefined ? undefined : nameIn(main.bytes), folder, "skill"];
  return choices.find((choice): choice is SkillPath => choice !== undefined && isSegment(choice))!;
}

/** What the frontmatter says, wherever it can be read at all. */
function nameIn(bytes: Uint8Array): string | undefined {
  if (bytes.byteLength > maxSkillMdBytes) return undefined;
  const value = findPair(readSkillMd(bytes, new Remarks()).pairs, "name")?.value;
  return value?.kind === "scalar" && typeof value.value === "string" ? value.value : undefined;
}

function isSegment(text: string): boolean {
  return !text.includes("/") && isSkillPath(text);
}
