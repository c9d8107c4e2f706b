import { beforeAll, describe, expect, it } from "vitest";

import type { Finding } from "../../src/domain/finding.ts";
import { packZip } from "../../src/publish/pack.ts";
import { newNamespace, toFiles, upload } from "../harness.ts";
import type { Answer } from "../harness.ts";
import { textOf } from "../publish/bytes.ts";
import { marker, oddities, renderOddities } from "./oddities.ts";
import type { Oddity } from "./oddities.ts";

let namespace: string;

beforeAll(async () => {
  namespace = await newNamespace();
});

function send({ files, zip, folder, query = "" }: Oddity): Promise<Answer> {
  const prefix = folder === undefined ? "" : `${folder}/`;
  const body = zip?.() ?? packZip(toFiles(files!).map((file) => ({ ...file, path: prefix + file.path })));
  return upload(namespace, body, "application/zip", { query: `?dry_run=true${query}` });
}

const findingsOf = ({ body }: Answer) => body["findings"] as Finding[];
const order = ["error", "warning", "notice"] as const;
const gravest = (findings: readonly Finding[]) =>
  order.find((severity) => findings.some((finding) => finding.severity === severity)) ?? "accepted";

/** The name first: vitest shortens what it takes out of an object. */
const named = (rows: readonly Oddity[]) => rows.map((row) => [row.what, row.verdict, row] as const);

describe.each(oddities.map(({ title, rows }) => [title, rows] as const))("%s", (_, rows) => {
  it.each(named(rows))("%s: %s", async (_what, _verdict, row) => {
    const answer = await send(row);
    const findings = findingsOf(answer);
    expect(answer.status).toBe(row.verdict === "error" ? 422 : 200);
    expect(gravest(findings), JSON.stringify(findings)).toBe(row.verdict);
    if (row.verdict === "accepted") return expect(findings).toEqual([]);
    const found = findings.find(({ code }) => code === row.code);
    expect(found, JSON.stringify(findings)).toMatchObject({ code: row.code, severity: row.verdict, line: row.line });
    expect(found!.fix).not.toBe("");
    expect(found!.fixed !== undefined, "whether there is mended text").toBe(row.fixedLines !== undefined);
  });

  const mendable = rows.filter(({ fixedLines }) => fixedLines !== undefined);
  it.each(named(mendable))("%s (%s): the mended text mends it", async (_what, _verdict, row) => {
    const found = findingsOf(await send(row)).find(({ code }) => code === row.code)!;
    const mended = await send({ ...row, files: mend(row, found) });
    expect(findingsOf(mended).filter(({ code }) => code === row.code)).toEqual([]);
    expect(mended.status).toBe(200);
  });
});

/** Puts the mended text where the finding points to: in place of lines, or of a file's name. */
function mend({ files, fixedLines }: Oddity, { file, line, fixed }: Finding): Oddity["files"] & object {
  const { [file]: content, ...others } = files!;
  if (line === null) return { ...others, [fixed!]: content! };
  const lines = (typeof content === "string" ? content : textOf(content!)).split("\n");
  lines.splice(line - 1, fixedLines!, fixed!);
  return { ...others, [file]: lines.join("\n") };
}

describe("the table of oddities", () => {
  it("names each oddity once", () => {
    const all = oddities.flatMap(({ rows }) => rows.map(({ what }) => what));
    expect(new Set(all).size).toBe(all.length);
  });

  it("is rendered with a line for each, and stands in the README where it has a place there", () => {
    const table = renderOddities();
    const lines = table.split("\n").filter((line) => line.startsWith("| "));
    expect(lines.length).toBe(oddities.reduce((sum, { rows }) => sum + rows.length + 2, 0));
    const readme = Object.values(
      import.meta.glob<string>("../../README.md", { query: "?raw", import: "default", eager: true }),
    ).join("");
    const missing = table.split("\n").filter((line) => !readme.split("\n").includes(line));
    // `npm run campaign -- --table` prints it.
    if (readme.includes(marker)) expect(missing).toEqual([]);
  });
});
