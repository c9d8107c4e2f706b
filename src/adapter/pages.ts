import type { Skill } from "@modelcontextprotocol/server/ext/skills";

const maxEntries = 100;
/** As large as the registry's own pages: an entry with 512 files has some 70 KiB. */
const maxLength = 1024 * 1024;

/**
 * One page of entries. A cursor says behind which skill to go on and where that stood, so that a refresh between two
 * pages neither ends the list nor begins it again.
 */
export function cutPage(
  entries: readonly Skill[],
  cursor: string | undefined,
): { skills: Skill[]; nextCursor?: string } {
  const start = cursor === undefined ? 0 : startAfter(entries, cursor);
  let [end, length] = [start, 0];
  while (end < entries.length && end - start < maxEntries) {
    length += JSON.stringify(entries[end]).length;
    if (length > maxLength && end > start) break;
    end++;
  }
  const skills = entries.slice(start, end);
  return end < entries.length ? { skills, nextCursor: `${end}:${entries[end - 1]!.uri}` } : { skills };
}

function startAfter(entries: readonly Skill[], cursor: string): number {
  const colon = cursor.indexOf(":");
  const found = entries.findIndex(({ uri }) => uri === cursor.slice(colon + 1));
  if (found !== -1) return found + 1;
  const stood = Number(cursor.slice(0, colon));
  return Number.isSafeInteger(stood) && stood >= 0 ? Math.min(stood, entries.length) : entries.length;
}
