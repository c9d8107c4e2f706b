import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { withTable } from "./table-text.ts";
import type { Results } from "./table-text.ts";

export async function writeTable(root: string, suites: readonly string[]): Promise<void> {
  const results = JSON.parse(await readFile(join(root, "test/interop/results.json"), "utf8")) as Results;
  const readme = join(root, "README.md");
  await writeFile(readme, withTable(await readFile(readme, "utf8"), results, suites));
}
