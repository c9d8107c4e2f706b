import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Row } from "./row.ts";

/** The README's table of clients, made of what the last runs said and of nothing else. */
interface Results {
  [suite: string]: { date: string; rows: Row[] };
}

const begin = "<!-- Made by `npm run interop -- table`; do not edit. -->";
const end = "<!-- End of the table. -->";

export async function writeTable(root: string, suites: readonly string[]): Promise<void> {
  const results = JSON.parse(await readFile(join(root, "test/interop/results.json"), "utf8")) as Results;
  const readme = join(root, "README.md");
  const text = await readFile(readme, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error("README.md has no place for the table");
  const lines = suites.flatMap((suite) => {
    const found = results[suite];
    return (found?.rows ?? []).map((row) => lineOf(row, found!.date));
  });
  const table = ["| client | version | era | tried | result | date |", "|---|---|---|---|---|---|", ...lines].join(
    "\n",
  );
  await writeFile(readme, `${text.slice(0, from)}${begin}\n\n${table}\n\n${text.slice(to)}`);
}

function lineOf({ client, version, era, tried, result, note }: Row, date: string): string {
  const cells = [client, version, era, tried, note === undefined ? result : `${result}: ${note}`, date];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}
