import { fileFinding, hasErrors } from "../../src/domain/finding.ts";
import type { Finding } from "../../src/domain/finding.ts";
import { pathFindings, pathSetFindings } from "../../src/domain/file-path.ts";
import { findingTable } from "../../src/domain/lint-table.ts";
import { maxFilesPerUpload, maxFindings, maxSkillBytes } from "../../src/domain/limits.ts";
import { Problem } from "../../src/domain/problem.ts";
import type { Upload } from "../../src/publish/archive.ts";

/** What must hold of every answer to an upload, whatever was uploaded. A breach is thrown, with the sample's words. */
export function must(condition: boolean, breach: () => string): asserts condition {
  if (!condition) throw new Error(breach());
}

/** The codes of the intake and of the rules about paths; those of the scanner are in its own table. */
const intakeCodes = (
  "archive_broken archive_encrypted archive_method duplicate_skill entry_too_large file_damaged file_too_large form_field " +
  "junk_dropped link_refused multipart_encoding multipart_name outside_skills path_absolute path_backslash path_collision " +
  "path_control_character path_device_name path_dot_segment path_duplicate path_empty_segment path_file_and_folder " +
  "path_not_nfc path_not_unicode path_quote path_reads_as_version path_too_deep path_too_long path_trailing_dot_or_space " +
  "skill_too_large too_many_files too_many_skills tool_unknown type_refused"
).split(" ");
const knownCodes = new Set<string>([...Object.keys(findingTable), ...intakeCodes]);

/** An answer carries up to 200 findings, so each is bounded whatever the upload holds. */
const maxTextLength = 4_500;

export function checkFindings(findings: readonly Finding[]): void {
  must(findings.length <= maxFindings, () => `${findings.length} findings`);
  for (const finding of findings) {
    const shown = () => JSON.stringify({ ...fileFinding("error", "", "", { message: "", fix: "" }), ...finding });
    const { code, file, line, column, severity, message, fix, fixed } = finding;
    must(knownCodes.has(code), () => `a code that no table lists: ${shown()}`);
    must(["error", "warning", "notice"].includes(severity), () => `a severity that does not exist: ${shown()}`);
    must(message !== "" && fix !== "", () => `a finding without message or fix: ${shown()}`);
    must(line === null || (Number.isInteger(line) && line > 0), () => `a line that does not exist: ${shown()}`);
    must(column === null || (line !== null && Number.isInteger(column) && column > 0), () => `a column: ${shown()}`);
    for (const text of [file, message, fix, fixed ?? ""]) {
      must(text.length <= maxTextLength, () => `a finding of ${text.length} characters: ${shown().slice(0, 500)}`);
      must(text.isWellFormed(), () => `half a character in a finding: ${shown()}`);
    }
  }
}

export function checkUpload(upload: Upload): void {
  checkFindings(upload.findings.slice(0, maxFindings));
  const { files, findings, isComplete } = upload;
  const paths = files.map(({ path }) => path);
  for (const path of paths) must(pathFindings(path).length === 0, () => `an unlawful path: ${JSON.stringify(path)}`);
  must(new Set(paths).size === paths.length, () => `a path twice: ${JSON.stringify(paths)}`);
  must(files.length <= maxFilesPerUpload, () => `${files.length} files`);
  const total = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  must(total <= maxSkillBytes, () => `${total} bytes unpacked`);
  must(isComplete || hasErrors(findings), () => "something is missing, and no error says so");
  must(
    hasErrors(findings) || pathSetFindings(paths).length === 0,
    () => `paths that collide: ${JSON.stringify(paths)}`,
  );
}

/** A refusal of a release: at least one error, and everything about it that holds of findings. */
export function checkRefusal(error: Problem): void {
  must(error.code === "invalid_release", () => `refused as ${error.code}: ${error.message}`);
  const findings = error.details.findings ?? [];
  checkFindings(findings);
  must(hasErrors(findings), () => `refused without an error: ${error.message}`);
}

/** The value of a promise, or the Problem that it ends with; anything else that is thrown is a bug and goes on. */
export async function orProblem<T>(work: Promise<T>): Promise<T | Problem> {
  return work.catch((error: unknown) => {
    if (error instanceof Problem) return error;
    throw error;
  });
}
