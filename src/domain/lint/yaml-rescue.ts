import { maxFixedLength } from "./remark.ts";
import { YamlFault } from "./yaml-fault.ts";
import type { SyntaxCode } from "./yaml-fault.ts";
import { readFlow } from "./yaml-flow.ts";
import { isSkippable, placeOf } from "./yaml-line.ts";
import type { YamlLine } from "./yaml-line.ts";
import { expectOnlyComment, quote, readQuoted, trimWhiteEnd } from "./yaml-scalar.ts";

/**
 * The mechanical fix of a value that cannot be read: take everything after the key as its text and quote it. On real
 * skills this mends 67 of 68 broken frontmatters. A collection or a quote that merely spans lines is joined instead.
 *
 * `below` are the lines under `line` that belong to the value.
 */
export function rescueValue(found: YamlFault, line: YamlLine, rest: string, below: readonly YamlLine[]): YamlFault {
  const { remark } = found;
  const content = below.filter((one) => !isSkippable(one));
  const length = content.reduce((sum, one) => sum + one.text.length + 1, line.raw.length);
  if (length > maxFixedLength || remark.code === "too_deep" || remark.code === "duplicate_key") return found;
  const joined = [rest, ...content.map((one) => one.text)].map(trimWhiteEnd).join(" ");
  const value = mend(remark.code, joined, below.length > content.length);
  if (value === undefined) return found;
  const fixed = line.raw.slice(0, placeOf(line, rest).offset) + value;
  const last = content.at(-1)?.no ?? line.no;
  if (last === line.no) return new YamlFault({ ...remark, fixed });
  const fix = `${remark.fix} The fixed text replaces the lines ${line.no} to ${last}.`;
  return new YamlFault({ ...remark, fix, fixed });
}

/** `hasGaps`: blank or comment lines stood between the lines, which joining would lose. */
function mend(code: SyntaxCode, joined: string, hasGaps: boolean): string | undefined {
  if (code === "unclosed_flow") return !hasGaps && isReadable(joined) ? joined : undefined;
  if (code === "unclosed_quote") {
    if (!hasGaps && isReadable(joined)) return joined;
    return joined.startsWith('"') ? quote(joined.slice(1)) : quote(joined);
  }
  if (code !== "bad_escape") return quote(joined);
  const isWhole = joined.length > 1 && joined.startsWith('"') && joined.endsWith('"');
  return isWhole ? quote(joined.slice(1, -1).replaceAll('\\"', '"')) : quote(joined);
}

function isReadable(text: string): boolean {
  const place = { line: 1, offset: 0 };
  try {
    const isQuoted = text.startsWith('"') || text.startsWith("'");
    const { end } = isQuoted ? readQuoted(text, 0, place) : readFlow(text, 0, place, 0);
    expectOnlyComment(text, end, place);
    return true;
  } catch (error) {
    if (error instanceof YamlFault) return false;
    throw error;
  }
}
