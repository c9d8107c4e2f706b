import { formatRow } from "../row.ts";
import type { Row } from "../row.ts";

/** Tries something and says its row, with what it returns as the note. A failure ends no other attempt. */
export async function attempt(row: Omit<Row, "result" | "note">, work: () => Promise<string | void>): Promise<void> {
  try {
    const note = await work();
    console.log(formatRow({ ...row, result: "passed", ...(note === undefined ? {} : { note }) }));
  } catch (error) {
    console.error(error);
    console.log(formatRow({ ...row, result: "failed", note: String(error).slice(0, 300) }));
  }
}
