/** Numbers of several rounds, and tables of them. */
export interface Sample {
  cpuUs: number;
  latencyMs: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/**
 * The median over rounds of the ratio within each round: both sides of it ran within the same seconds, so that what
 * else the machine did meanwhile weighs on both.
 */
export function ratio(samples: readonly Sample[], base: readonly Sample[]): number {
  return median(samples.map((sample, round) => sample.cpuUs / base[round]!.cpuUs));
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!);
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`));
  const line = (cells: readonly string[]) => `| ${cells.map(pad).join(" | ")} |`;
  return [line(head), `|${rule.join("|")}|`, ...rows.map(line)].join("\n");
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}
