import type { SkillFile } from "../domain/entry.ts";
import { fileFinding } from "../domain/finding.ts";
import type { Finding } from "../domain/finding.ts";
import { maxFilesPerSkill, maxSkillsPerUpload } from "../domain/limits.ts";
import { skillMd } from "../domain/uri.ts";
import type { Upload } from "./archive.ts";

/**
 * An upload with a SKILL.md at its root is one skill. Without one, each topmost folder that has a SKILL.md is a
 * skill of its own, and what lies outside all of them belongs to none.
 */
export interface Part {
  /** Where the skill lies in the upload, with a closing slash; "" for the root. */
  root: string;
  /** The folder's own name, where there is one. */
  folder: string | undefined;
  files: SkillFile[];
}

export interface Split {
  isSingle: boolean;
  parts: Part[];
  findings: Finding[];
}

/** `isFolderOfSkills`: the request says so, and a folder that shrank to one skill looks like a wrapped skill. */
export function splitUpload(upload: Upload, isFolderOfSkills: boolean): Split {
  const roots = hasRootSkill(upload.files) ? [] : topmostRoots(upload.files);
  if (roots.length === 0) {
    const parts = [{ root: "", folder: upload.folder, files: upload.files }];
    const isSingle = !(isFolderOfSkills && upload.folder !== undefined);
    return { isSingle, parts, findings: tooManyFiles("", upload.files) };
  }
  const parts = roots.map((root) => partOf(root, upload.files));
  const findings = [
    ...(roots.length > maxSkillsPerUpload ? [tooManySkills(roots.length)] : []),
    ...parts.flatMap((part) => tooManyFiles(part.root, part.files)),
    ...outside(upload.files, roots),
  ];
  return { isSingle: false, parts, findings };
}

/** In any case: a `skill.md` at the root is one skill with a misspelt file, not a folder of skills. */
function hasRootSkill(files: readonly SkillFile[]): boolean {
  return files.some((file) => file.path.toLowerCase() === skillMd.toLowerCase());
}

/** The folders that hold a SKILL.md and lie in no other such folder, in path order, each with a closing slash. */
function topmostRoots(files: readonly SkillFile[]): string[] {
  const holders = files
    .filter((file) => file.path.endsWith(`/${skillMd}`))
    .map((file) => file.path.slice(0, -skillMd.length))
    .sort();
  const topmost: string[] = [];
  for (const root of holders) {
    // In order, a folder comes before what lies in it, so only the last one kept can hold this one.
    const last = topmost.at(-1);
    if (last === undefined || !root.startsWith(last)) topmost.push(root);
  }
  return topmost;
}

function partOf(root: string, files: readonly SkillFile[]): Part {
  const inside = files.filter((file) => file.path.startsWith(root));
  const folder = root.slice(0, -1).split("/").at(-1);
  return { root, folder, files: inside.map((file) => ({ ...file, path: file.path.slice(root.length) })) };
}

function outside(files: readonly SkillFile[], roots: readonly string[]): Finding[] {
  const strays = files.filter((file) => !roots.some((root) => file.path.startsWith(root)));
  if (strays.length === 0) return [];
  return [
    fileFinding("notice", "outside_skills", strays[0]!.path, {
      message: `${strays.length} ${strays.length === 1 ? "file lies" : "files lie"} in no skill's folder and ${strays.length === 1 ? "is" : "are"} not published.`,
      fix: "Move what a skill needs into its folder; leave the rest out of the upload.",
    }),
  ];
}

function tooManySkills(count: number): Finding {
  return fileFinding("error", "too_many_skills", "", {
    message: `The upload holds ${count} skills; at most ${maxSkillsPerUpload} (maxSkillsPerUpload) are published at once.`,
    fix: "Send them in several uploads.",
  });
}

function tooManyFiles(root: string, files: readonly SkillFile[]): Finding[] {
  if (files.length <= maxFilesPerSkill) return [];
  return [
    fileFinding("error", "too_many_files", root, {
      message: `The skill holds ${files.length} files; at most ${maxFilesPerSkill} (maxFilesPerSkill) are published.`,
      fix: "Leave out generated and vendored files, or split the skill.",
    }),
  ];
}
