import { maxFindings } from "./limits.ts";

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

const gravity: Record<Severity, number> = { error: 0, warning: 1, notice: 2 };

/**
 * At most `maxFindings` of them, in the order of file, line and column. An error is never pushed out by warnings that
 * stand above it, and the last finding says how many are missing (`uncounted`: those that were left out before).
 */
export function gravestFindings(all: readonly Finding[], uncounted = 0): Finding[] {
  if (all.length + uncounted <= maxFindings) return [...all].sort(byPlace);
  const gravest = [...all].sort((a, b) => gravity[a.severity] - gravity[b.severity] || byPlace(a, b));
  const kept = gravest.slice(0, maxFindings - 1).sort(byPlace);
  const more = fileFinding("notice", "more_findings", "", {
    message: `${all.length + uncounted - kept.length} more findings are not shown.`,
    fix: "Mend these and try again.",
  });
  return [...kept, more];
}

function byPlace(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0) || (a.code < b.code ? -1 : 1);
}
