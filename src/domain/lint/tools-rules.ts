import { findPair } from "../frontmatter.ts";
import { isText, kindOfValue, placeOfPair, withSpan } from "./field.ts";
import type { Fields } from "./field.ts";
import type { YamlNode } from "./yaml-node.ts";

/** `allowed-tools` is a string with spaces between tools; other spellings are common, and pass as they are. */
export function checkTools(fields: Fields): void {
  const { skill, remarks } = fields;
  const pair = findPair(skill.pairs, "allowed-tools");
  if (pair === undefined || pair.value.kind === "unreadable") return;
  const node = pair.value;
  const at = placeOfPair(pair);
  if (!isText(node)) {
    fields.told.add(node);
    const message = `allowed-tools is ${kindOfValue(node)}; the format wants text with spaces between the tools.`;
    const fix = 'Write "allowed-tools: Read Grep".';
    const written = skill.lines[pair.keySpan.line - 1]!.slice(0, pair.keySpan.end);
    const tools = toolsOf(node);
    const fixed = tools === undefined ? undefined : `${written}: ${tools.join(" ")}`;
    const lines =
      pair.lastLine > pair.keySpan.line ? ` It replaces the lines ${pair.keySpan.line} to ${pair.lastLine}.` : "";
    remarks.add({ code: "allowed_tools_not_string", ...at, message, fix: fix + lines, fixed });
    return;
  }
  if (!splitTools(node.value).hasCommas) return;
  const message = "allowed-tools is separated by commas; the format wants spaces.";
  const source = skill.lines[node.span.line - 1]!.slice(node.span.start, node.span.end);
  const fixed = node.isOneLine ? withSpan(skill, node.span, splitTools(source).text) : undefined;
  remarks.add({ code: "allowed_tools_commas", ...at, message, fix: "Write spaces between the tools.", fixed });
}

/** Commas between tools become spaces; those inside `Bash(a:*, b:*)` belong to the tool. */
function splitTools(text: string): { text: string; hasCommas: boolean } {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === "(") depth++;
    else if (text[index] === ")") depth = Math.max(0, depth - 1);
    else if (text[index] === "," && depth === 0) {
      parts.push(text.slice(from, index).trim());
      from = index + 1;
    }
  }
  parts.push(text.slice(from).trim());
  return { text: parts.filter((part) => part !== "").join(" "), hasCommas: parts.length > 1 };
}

/** The tools of a list, where each can stand in plain text between spaces. */
function toolsOf(node: YamlNode): string[] | undefined {
  if (node.kind !== "sequence" || node.items.length === 0) return undefined;
  const texts = node.items.map((item) => (isText(item) ? item.value : ""));
  return texts.every((text) => /^[A-Za-z](?:[\w.:*()/-]*[\w*()/-])?$/.test(text)) ? texts : undefined;
}
