import type { Row } from "./row.ts";

/** The README's table of clients, made of what the last runs said and of nothing else. */
export interface Results {
  [suite: string]: { date: string; rows: Row[] };
}

const begin = "<!-- Made by `npm run interop -- table`; do not edit. -->";
const end = "<!-- End of the table. -->";

/** The README with the table of these results in its place. */
export function withTable(readme: string, results: Results, suites: readonly string[]): string {
  const [from, to] = [readme.indexOf(begin), readme.indexOf(end)];
  if (from < 0 || to < from) throw new Error("README.md has no place for the table");
  const lines = suites.flatMap((suite) => {
    const found = results[suite];
    return (found?.rows ?? []).map((row) => lineOf(row, found!.date));
  });
  const head = ["| client | version | era | tried | result | date |", "|---|---|---|---|---|---|"];
  return `${readme.slice(0, from)}${begin}\n\n${[...head, ...lines].join("\n")}\n\n${readme.slice(to)}`;
}

function lineOf({ client, version, era, tried, result, note }: Row, date: string): string {
  const cells = [client, version, era, tried, note === undefined ? result : `${result}: ${note}`, date];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}
