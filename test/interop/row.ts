/** What one suite found out about one program: a line of the README's table. */
export interface Row {
  /** The program or library. */
  client: string;
  version: string;
  /** The generation of the protocol that it spoke: `2025-11-25`, `2026-07-28`, or what it spoke instead. */
  era: string;
  /** What was tried, in a few words. */
  tried: string;
  result: "passed" | "failed" | "client fails";
  /** Of a failure on the client's side the evidence; else what is worth knowing. */
  note?: string;
}

const mark = "interop-row ";

/** A suite says each row as a line of its own on standard output; whatever else it prints is for people. */
export function formatRow(row: Row): string {
  return mark + JSON.stringify(row);
}

export function readRows(output: string): Row[] {
  return output
    .split("\n")
    .filter((line) => line.startsWith(mark))
    .map((line) => JSON.parse(line.slice(mark.length)) as Row);
}
