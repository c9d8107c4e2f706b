import { exceedsChatGpt } from "../budget.ts";
import type { SkillFile } from "../entry.ts";
import { skillMd } from "../uri.ts";
import type { Remark } from "./remark.ts";
import { findSecret } from "./secret-rules.ts";

/** Remarks about files other than SKILL.md, and about all of them together. */
export interface FileRemark extends Remark {
  file: string;
  /** Where the severity is not the table's. */
  severity?: "warning";
}

const wholeFile = { line: null, column: null } as const;

export function checkFiles(files: readonly SkillFile[], isSecretAllowed: boolean): FileRemark[] {
  const found: FileRemark[] = [...checkVendored(files), ...checkBudget(files)];
  for (const file of files) {
    const secret = findSecret(file);
    if (secret !== undefined) {
      found.push({ ...secret, file: file.path, ...(isSecretAllowed ? { severity: "warning" as const } : {}) });
    }
    if (file.path.endsWith(`/${skillMd}`)) found.push(nested(file.path));
    if (archives.test(file.path)) found.push(archive(file.path));
  }
  return found;
}

const archives = /\.(?:zip|tar|tgz|gz|bz2|tbz2|xz|txz|zst|7z|rar|skill)$/i;

function archive(file: string): FileRemark {
  const message = "This is an archive; it is published as one file, which hosts do not unpack.";
  return {
    code: "archive_inside",
    file,
    ...wholeFile,
    message,
    fix: "Add its files instead, if agents shall read them.",
  };
}

function nested(file: string): FileRemark {
  const message =
    "This SKILL.md lies in a deeper folder: it is an ordinary file of this skill, not a skill of its own.";
  const fix = "Publish its folder separately if it is a skill of its own.";
  return { code: "nested_skill", file, ...wholeFile, message, fix };
}

const vendored = /^(?:.*?\/)??(?:__pycache__|node_modules|\.venv|\.mypy_cache|\.pytest_cache|\.ruff_cache)(?=\/)/;

/** One remark for each such folder, however many files it holds. */
function checkVendored(files: readonly SkillFile[]): FileRemark[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = vendored.exec(path)?.[0];
    if (folder !== undefined) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].map(([file, count]) => {
    const message = `This folder holds caches or installed packages (${count === 1 ? "1 file" : `${count} files`}).`;
    return { code: "vendored_files", file, ...wholeFile, message, fix: "Leave the folder out of the upload." };
  });
}

function checkBudget(files: readonly SkillFile[]): FileRemark[] {
  const exceeded = exceedsChatGpt(files);
  if (exceeded.length === 0) return [];
  const message = `ChatGPT's import declines this skill: ${exceeded.join("; ")}.`;
  return [
    { code: "budget_chatgpt", file: "", ...wholeFile, message, fix: "Make it smaller if ChatGPT shall import it." },
  ];
}

/** SKILL.md itself, or the file that was meant to be it: `SKILL.md` in another case at the root. */
export function findSkillMd(files: readonly SkillFile[]): { file: SkillFile | undefined; remarks: FileRemark[] } {
  const exact = files.find((file) => file.path === skillMd);
  const others = files.filter((file) => file !== exact && file.path.toLowerCase() === skillMd.toLowerCase());
  const remarks = others.map(({ path }): FileRemark => {
    const at = { code: "skill_md_case", file: path, ...wholeFile } as const;
    if (exact === undefined) {
      return { ...at, message: `The file must be called ${skillMd}, in this case.`, fix: `Rename it to ${skillMd}.` };
    }
    const message = `Beside ${skillMd} this file is ignored, and the two collide on many disks.`;
    return { ...at, severity: "warning", message, fix: "Remove one of the two." };
  });
  if (exact === undefined && others.length === 0) remarks.push(missing(files));
  return { file: exact ?? others[0], remarks };
}

function missing(files: readonly SkillFile[]): FileRemark {
  const deeper = files.find((file) => file.path.toLowerCase().endsWith(`/${skillMd.toLowerCase()}`))?.path;
  const message = `There is no ${skillMd} at the root of the skill${deeper === undefined ? "" : `, only "${deeper}"`}.`;
  const fix =
    deeper === undefined
      ? `Add a ${skillMd} with name and description.`
      : `Upload the folder "${deeper.slice(0, deeper.lastIndexOf("/"))}" itself.`;
  return { code: "skill_md_missing", file: skillMd, ...wholeFile, message, fix };
}
