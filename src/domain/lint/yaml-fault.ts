import type { LintCode } from "../lint-table.ts";
import type { Remark } from "./remark.ts";

/** Where a piece of text stands: `text[i]` is at column `offset + i + 1` of line `line`. */
export interface Place {
  line: number;
  offset: number;
}

/** How each error of syntax is told; `$` stands for the detail, e.g. the offending character. */
const sentences = {
  unquoted_colon: ['An unquoted value cannot contain ": ".', "Put the value in quotes."],
  unquoted_special: ['"$" cannot start an unquoted value.', "Put the value in quotes."],
  unclosed_quote: ["A quoted value must close on the same line.", "Close the quote on this line, or use a block (>-)."],
  unclosed_flow: ["A [list] or {mapping} must close on the same line.", "Write it on one line, or one item a line."],
  flow_syntax: ["This [list] or {mapping} cannot be read: $.", "Quote the values inside it, or the whole value."],
  bad_escape: ['"$" is no escape of a double-quoted value.', "Use single quotes, or write \\\\ for a backslash."],
  text_after_value: ["Text follows the value, which ended before it.", "Put the whole value in quotes."],
  comment_inside_value: ["A comment ends the value, but it goes on after it.", "Put the whole value in quotes."],
  number_not_json: ['"$" is a number that JSON cannot express.', "Put the value in quotes."],
  anchor_or_tag: ["Anchors, aliases and tags (& * !) are not supported.", "Put the value in quotes, or write it out."],
  bad_block_header: [
    "A block value starts with | or >, at most followed by + or -.",
    "Write | or > alone on this line.",
  ],
  not_key_value: ['This line is not "key: value".', "Indent it if it continues the value above; else remove it."],
  bad_key: ['"$" cannot be a key, which must be a plain string.', "Put the key in quotes, or rename it."],
  proto_key: ['The key "__proto__" is not supported.', "Rename or remove the key."],
  duplicate_key: ['The key "$" occurs twice.', "Keep one of the two."],
  tab_indent: ["A tab indents this line; YAML allows only spaces.", "Indent with spaces."],
  bad_indent: ["The indentation of this line fits nothing above it: $.", "Align the line with its neighbours."],
  too_deep: ["Nesting deeper than 32 levels is not supported.", "Flatten the value."],
  bom_in_frontmatter: ["A byte order mark stands inside the frontmatter.", "Remove the character U+FEFF."],
} as const satisfies Partial<Record<LintCode, readonly [string, string]>>;

export type SyntaxCode = keyof typeof sentences;

/**
 * Thrown and caught inside the frontmatter reader only: it unwinds to the entry that cannot be read. No Error, whose
 * stack would cost more than the reading where a hostile file has a fault on every line.
 */
export class YamlFault {
  readonly remark: Remark & { code: SyntaxCode };

  constructor(remark: Remark & { code: SyntaxCode }) {
    this.remark = remark;
  }
}

/** A fault at `text[index]`, where `place` says where `text` stands. */
export function fault(code: SyntaxCode, place: Place, index: number, detail = ""): YamlFault {
  const [message, fix] = sentences[code];
  return new YamlFault({
    code,
    line: place.line,
    column: place.offset + index + 1,
    message: message.replace("$", () => detail),
    fix,
  });
}
