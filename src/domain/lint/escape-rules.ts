import type { SkillMd } from "../frontmatter.ts";
import { placeOfSpan } from "./field.ts";
import { findInvisible } from "./invisible-rules.ts";
import type { Remarks } from "./remark.ts";
import type { Pair, ScalarNode, Span, YamlNode } from "./yaml-node.ts";

/**
 * What a quoted value says only once its escapes are read: half a character, which no UTF-8 text can hold and which a
 * careful reader of our JSON may refuse, and invisible characters, which no reviewer sees in "\u202e".
 */
export function checkEscapes(skill: SkillMd, remarks: Remarks): void {
  for (const { text, span } of textsIn(skill.pairs)) {
    if (!text.isWellFormed()) {
      const message = "An escape makes half a character (a lone surrogate), which no text can hold.";
      const fix = "Write the character itself, or both halves of it.";
      remarks.add({ code: "half_character", ...placeOfSpan(span), message, fix });
    }
    const written = findInvisible(skill.lines[span.line - 1]!.slice(span.start, span.end));
    for (const code of findInvisible(text)) {
      // A character that stands in the line itself has its remark already.
      if (written.has(code)) continue;
      const name = code.toString(16).toUpperCase().padStart(4, "0");
      const message = `An escape makes the invisible character U+${name}; reviewers cannot see it, but models read it.`;
      remarks.add({ code: "invisible_character", ...placeOfSpan(span), message, fix: "Remove the escape." });
    }
  }
}

/** Quoted texts alone can hold escapes; keys may be quoted as well. */
function* textsIn(pairs: readonly Pair[]): Generator<{ text: string; span: Span }> {
  for (const { key, keySpan, isPlainKey, value } of pairs) {
    if (!isPlainKey) yield { text: key, span: keySpan };
    yield* textsOf(value);
  }
}

function* textsOf(node: YamlNode): Generator<{ text: string; span: Span }> {
  if (node.kind === "mapping") yield* textsIn(node.pairs);
  else if (node.kind === "sequence") for (const item of node.items) yield* textsOf(item);
  else if (node.kind === "scalar" && isQuotedText(node)) yield { text: node.value, span: node.span };
}

function isQuotedText(node: ScalarNode): node is ScalarNode & { value: string } {
  return node.style === "quoted" && typeof node.value === "string";
}
