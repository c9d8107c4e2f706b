import type { SkillFile } from "./entry.ts";
import { adviseSkillMdBytes } from "./limits.ts";
import { skillMd } from "./uri.ts";

/**
 * What each known client accepts below our own limits: a release may pass them, and its publisher is told whose.
 * Numbers as the vendors publish them (OpenAI, "Import skills from the MCP server").
 */
const MiB = 1024 * 1024;

/** ChatGPT's import takes a static snapshot; one skill beyond these and it updates none of the catalogue. */
export const chatGptBudget = {
  maxFiles: 100,
  maxSkillMdBytes: adviseSkillMdBytes,
  maxOtherFileBytes: 1 * MiB,
  maxSkillBytes: 5 * MiB,
} as const;

/** What of ChatGPT's budget the files exceed, each as a phrase with the number and the limit; empty when they fit. */
export function exceedsChatGpt(files: readonly SkillFile[]): string[] {
  const budget = chatGptBudget;
  const total = files.reduce((sum, file) => sum + file.bytes.length, 0);
  const main = files.find((file) => file.path === skillMd)?.bytes.length ?? 0;
  const others = files.filter((file) => file.path !== skillMd && file.bytes.length > budget.maxOtherFileBytes);
  const exceeded: string[] = [];
  if (files.length > budget.maxFiles) exceeded.push(`${files.length} files (at most ${budget.maxFiles})`);
  if (main > budget.maxSkillMdBytes) {
    exceeded.push(`a SKILL.md of ${main} bytes (at most ${budget.maxSkillMdBytes})`);
  }
  if (others.length > 0) {
    const largest = others.reduce((a, b) => (b.bytes.length > a.bytes.length ? b : a));
    const what = `"${largest.path}" of ${largest.bytes.length} bytes (at most ${budget.maxOtherFileBytes})`;
    exceeded.push(others.length === 1 ? what : `${others.length} large files, the largest ${what}`);
  }
  if (total > budget.maxSkillBytes) exceeded.push(`${total} bytes together (at most ${budget.maxSkillBytes})`);
  return exceeded;
}
