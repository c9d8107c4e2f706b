/** What the frontmatter reader found, with places, so that rules can point at it and rewrite it. */

/** A stretch of one line: 1-based line, 0-based offsets into the line as sent. */
export interface Span {
  line: number;
  start: number;
  end: number;
}

export interface ScalarNode {
  kind: "scalar";
  /** `empty`: nothing after the colon, which is null. */
  style: "plain" | "quoted" | "block" | "empty";
  /** As the official SDK reads it. */
  value: unknown;
  /** The text of a plain scalar; "" for the other styles. */
  source: string;
  span: Span;
  /** Whether all of the value stands in `span`. */
  isOneLine: boolean;
  /** Where a comment cut a plain value, the offset of its `#` in the line of `span`; else -1. */
  commentAt: number;
}

export type YamlNode =
  | ScalarNode
  | { kind: "mapping"; pairs: Pair[]; span: Span }
  | { kind: "sequence"; items: YamlNode[]; span: Span }
  /** Its fault is already reported. */
  | { kind: "unreadable"; span: Span };

export interface Pair {
  key: string;
  keySpan: Span;
  isPlainKey: boolean;
  value: YamlNode;
  /** The last line that belongs to the value. */
  lastLine: number;
}
