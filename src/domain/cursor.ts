import { maxCursorBytes, maxMcpPages } from "./limits.ts";
import { problem } from "./problem.ts";

/**
 * A position in a list as an opaque string: base64url of `[format, list, page, key]`. It names the list it belongs
 * to, so that a cursor of another list, address or filter is refused instead of being read as a position here. It is
 * not signed: it grants nothing, since rights are asked for again on every page.
 */
export interface Position {
  /** 1 for the page after the first, and so on; ends an MCP list at its last page. */
  page: number;
  /** The last key of the page before, e.g. a skill path. */
  key: string;
}

const format = "1";

export function formatCursor(list: string, position: Position): string {
  const bytes = new TextEncoder().encode(JSON.stringify([format, list, position.page, position.key]));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** @throws Problem `invalid_cursor` for anything that `formatCursor` did not write for this list. */
export function parseCursor(list: string, cursor: string): Position {
  const parts = cursor.length <= maxCursorBytes ? decode(cursor) : undefined;
  if (Array.isArray(parts) && parts.length === 4) {
    const [found, of, page, key] = parts as unknown[];
    const isHere = found === format && of === list && typeof key === "string" && typeof page === "number";
    if (isHere && Number.isSafeInteger(page) && page > 0) {
      const position = { page, key };
      if (formatCursor(list, position) === cursor) return position;
    }
  }
  throw problem("invalid_cursor", "The cursor is not from this list; start again without a cursor");
}

/** The parts of a key that is a JSON array. @throws Problem `invalid_cursor` where it is none of these kinds */
export function readKey(key: string, kinds: readonly ("string" | "number")[]): (string | number)[] {
  const parts = jsonOf(key);
  const isSo = Array.isArray(parts) && parts.length === kinds.length;
  if (isSo && kinds.every((kind, place) => typeof parts[place] === kind)) return parts as (string | number)[];
  throw problem("invalid_cursor", "The cursor is not from this list; start again without a cursor");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether an MCP list ends after this page although more entries exist: clients give up at 50 to 64 pages. */
export function isLastMcpPage(page: number): boolean {
  return page + 1 >= maxMcpPages;
}

function decode(cursor: string): unknown {
  try {
    const binary = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.codePointAt(0)!);
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
