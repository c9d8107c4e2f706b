import { accessSync, constants } from "node:fs";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";

/**
 * What we publish and print calls curl. A machine with nothing but Node may lack it; there, this file stands in, with
 * no more than the options that we use, so that the tests of what surrounds it run everywhere.
 */
export async function pathWithCurl(path: string): Promise<string> {
  if (path.split(delimiter).some((folder) => isProgram(join(folder, "curl")))) return path;
  const folder = await mkdtemp(join(tmpdir(), "curl-"));
  const script = `#!/bin/sh\nexec '${process.execPath}' '${import.meta.filename}' "$@"\n`;
  await writeFile(join(folder, "curl"), script, { mode: 0o755 });
  return `${folder}${delimiter}${path}`;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const options = {
  config: { type: "string" },
  silent: { type: "boolean", short: "s" },
  "show-error": { type: "boolean" },
  retry: { type: "string" },
  "max-time": { type: "string" },
  output: { type: "string" },
  "write-out": { type: "string" },
  header: { type: "string", short: "H", multiple: true },
  data: { type: "string", short: "d" },
  "data-binary": { type: "string" },
} as const;

async function curl(): Promise<void> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [, configured] = /^header = "(.*)"$/m.exec(values.config === "-" ? await text(process.stdin) : "") ?? [];
  const lines = [...(values.header ?? []), ...(configured === undefined ? [] : [configured])];
  const headers = lines.map((line) => line.split(/: */, 2)).filter(([, value]) => value !== "");
  const file = values["data-binary"];
  const body = file === undefined ? values.data : await readFile(file.slice("@".length));
  const response = await fetch(positionals[0]!, {
    method: body === undefined ? "GET" : "POST",
    headers: headers as [string, string][],
    ...(body === undefined ? {} : { body }),
  });
  const answer = new Uint8Array(await response.arrayBuffer());
  if (values.output === undefined) process.stdout.write(answer);
  else await writeFile(values.output, answer);
  process.stdout.write((values["write-out"] ?? "").replace("%{http_code}", String(response.status)));
}

if (process.argv[1] === import.meta.filename) await curl();
