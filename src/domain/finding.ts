/**
 * One remark about a release. Every problem of an upload becomes a finding, and all of them are reported at once.
 * `error` refuses the release, `warning` says that some hosts will trip, `notice` tells what we did or skipped.
 */
export type Severity = "error" | "warning" | "notice";

export interface Finding {
  /** Stable, snake_case; the README lists them. */
  code: string;
  /** The path inside the skill's folder, "" for the upload as a whole. */
  file: string;
  /** 1-based, in the file as sent; null where the finding is about the file as a whole. */
  line: number | null;
  /** 1-based, in UTF-16 code units; null where the finding is about the whole line or file. */
  column: number | null;
  severity: Severity;
  message: string;
  /** What the author should do, as a sentence. */
  fix: string;
  /** The line (or lines) as they should be, where the fix is mechanical. */
  fixed?: string;
}

export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some((finding) => finding.severity === "error");
}

/** A finding about a whole file, or about the upload when `file` is "". */
export function fileFinding(
  severity: Severity,
  code: string,
  file: string,
  text: { message: string; fix: string },
): Finding {
  return { code, file, line: null, column: null, severity, ...text };
}
