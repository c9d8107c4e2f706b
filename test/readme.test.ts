import { expect, it } from "vitest";

import results from "./interop/results.json";
import { withTable } from "./interop/table-text.ts";
import type { Results } from "./interop/table-text.ts";

const texts = import.meta.glob<string>("../README.md", { query: "?raw", import: "default", eager: true });
const readme = texts["../README.md"]!;

it("The README's table of clients is what the last runs said, and nobody wrote into it", () => {
  const suites = ["java", "python", "go", "typescript", "companion", "browser"];
  expect(Object.keys(results).sort()).toEqual([...suites].sort());
  expect(withTable(readme, results as Results, suites)).toBe(readme);
});
