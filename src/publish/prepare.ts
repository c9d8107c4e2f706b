import { buildEntry } from "../domain/entry.ts";
import { gravestFindings, hasErrors } from "../domain/finding.ts";
import type { Finding } from "../domain/finding.ts";
import { findPair, readSkillMd } from "../domain/frontmatter.ts";
import { lintRelease } from "../domain/lint.ts";
import { Remarks } from "../domain/lint/remark.ts";
import { maxSkillMdBytes } from "../domain/limits.ts";
import { isSkillPath } from "../domain/names.ts";
import type { Namespace, SkillPath } from "../domain/names.ts";
import { problem } from "../domain/problem.ts";
import { skillMd } from "../domain/uri.ts";
import type { Upload } from "./archive.ts";
import { draftOf } from "./release.ts";
import type { Draft } from "./release.ts";

/**
 * An upload becomes a draft, or is refused with everything that is wrong with it. The official SDK decides
 * acceptance; our own scanner finds what the SDK stops short of, each with its line.
 */
export interface PrepareOptions {
  namespace: Namespace;
  /** The whole path of the skill; by default its name. */
  path: SkillPath | undefined;
  allowSecrets: boolean;
}

/** What cannot be said while part of the upload is unreadable. */
const needsAllFiles = new Set(["broken_link", "skill_md_missing"]);

/** @throws Problem `invalid_release` with all findings */
export async function prepare(
  upload: Upload,
  options: PrepareOptions,
): Promise<{ draft: Draft; findings: readonly Finding[] }> {
  const { namespace, allowSecrets } = options;
  const { files, folder } = upload;
  const path = options.path ?? defaultPath(upload);
  const built = await buildEntry(namespace, path, files);
  const refusals = "refusals" in built ? built.refusals : [];
  const linted = lintRelease({ path, folder, files, refusals, allowSecrets }).filter(
    (finding) => upload.isComplete || !needsAllFiles.has(finding.code),
  );
  const findings = gravestFindings([...upload.findings, ...linted]);
  if ("refusals" in built || hasErrors(findings)) throw refusalOf(findings);
  return { draft: await draftOf(namespace, path, built.entry, files), findings };
}

function refusalOf(findings: readonly Finding[]): Error {
  const errors = findings.filter((finding) => finding.severity === "error").length;
  const detail = `The upload has ${errors} ${errors === 1 ? "error" : "errors"}; each is among the findings`;
  return problem("invalid_release", detail, { findings });
}

/** The skill's name; where that is no name, its folder's, so that the other findings are still about this skill. */
function defaultPath({ files, folder }: Upload): SkillPath {
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
