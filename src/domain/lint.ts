import type { SkillFile } from "./entry.ts";
import { gravestFindings } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { readSkillMd } from "./frontmatter.ts";
import { findingTable } from "./lint-table.ts";
import { adviseSkillMdBytes, adviseSkillMdLines, maxSkillMdBytes } from "./limits.ts";
import type { SkillPath } from "./names.ts";
import { checkEscapes } from "./lint/escape-rules.ts";
import { checkFiles, findSkillMd } from "./lint/file-rules.ts";
import type { FileRemark } from "./lint/file-rules.ts";
import { checkFields } from "./lint/frontmatter-rules.ts";
import { checkInvisible } from "./lint/invisible-rules.ts";
import { checkLinks } from "./lint/link-rules.ts";
import { Remarks } from "./lint/remark.ts";
import { skillMd } from "./uri.ts";

export interface LintInput {
  path: SkillPath;
  /** The uploaded folder's own name, where the upload had one. */
  folder?: string | undefined;
  files: readonly SkillFile[];
  /** What the official SDK said against the release (entry.ts); empty when it accepts it. */
  refusals: readonly string[];
  /** The request takes responsibility for files that look like secrets: they are warnings then. */
  allowSecrets?: boolean | undefined;
}

/**
 * Every finding about a release, in the order of file, line and column; at most `maxFindings`, the gravest kept.
 * Where the SDK refuses, at least one of them is an error: its own sentence, if no rule here knows better.
 */
export function lintRelease(input: LintInput): Finding[] {
  const main = findSkillMd(input.files);
  const remarks = new Remarks();
  const file = main.file?.path ?? skillMd;
  if (main.file !== undefined) scan(main.file, input, remarks);
  const all: Finding[] = [
    ...main.remarks.map(toFinding),
    ...remarks.kept.map((remark) => toFinding({ ...remark, file })),
    ...checkFiles(input.files, input.allowSecrets === true).map(toFinding),
  ];
  const isExplained = all.some(({ code, severity }) => severity === "error" && isOfSdk(code));
  if (!isExplained) all.push(...input.refusals.map((refusal) => toFinding(refused(refusal, file))));
  return gravestFindings(all, remarks.leftOut);
}

function scan(file: SkillFile, input: LintInput, remarks: Remarks): void {
  const size = file.bytes.length;
  if (size > maxSkillMdBytes) {
    const message = `SKILL.md has ${size} bytes; hosts load at most ${maxSkillMdBytes}. It was not read any further.`;
    const fix = "Move parts of it into files of their own, which agents read when they need them.";
    remarks.add({ code: "skill_md_too_large", line: null, column: null, message, fix });
    return;
  }
  if (size > adviseSkillMdBytes) {
    const message = `SKILL.md has ${size} bytes; ChatGPT imports at most ${adviseSkillMdBytes}.`;
    const fix = "Move parts of it into files of their own.";
    remarks.add({ code: "skill_md_large", line: null, column: null, message, fix });
  }
  const skill = readSkillMd(file.bytes, remarks);
  const { path, folder, files } = input;
  checkFields({ skill, path, folder, remarks, told: new Set() });
  checkEscapes(skill, remarks);
  checkInvisible(skill, remarks);
  const paths = files.map((one) => one.path);
  checkLinks(skill, paths, remarks);
  const lines = skill.lines.at(-1) === "" ? skill.lines.length - 1 : skill.lines.length;
  if (lines > adviseSkillMdLines) {
    const message = `SKILL.md has ${lines} lines; Agent Skills recommends at most ${adviseSkillMdLines}.`;
    const fix = "Move details into files of their own, which agents read when they need them.";
    remarks.add({ code: "skill_md_long", line: null, column: null, message, fix });
  }
}

/** The SDK's own sentence, for what no rule of ours explains. */
function refused(refusal: string, file: string): FileRemark {
  const line = /\bline (\d{1,9}):/.exec(refusal)?.[1];
  const message = `The official SDK refuses this skill: ${refusal}.`;
  const fix = "Mend what the sentence names; every client of the SDK would refuse the skill as well.";
  return {
    code: "frontmatter_refused",
    file,
    line: line === undefined ? null : Number(line),
    column: null,
    message,
    fix,
  };
}

const isOfSdk = (code: string) =>
  Object.hasOwn(findingTable, code) && (findingTable[code as "bom"].by as string) === "sdk";

function toFinding({ fixed, severity, ...remark }: FileRemark): Finding {
  const told = { ...remark, severity: severity ?? findingTable[remark.code].severity };
  return fixed === undefined ? told : { ...told, fixed };
}
