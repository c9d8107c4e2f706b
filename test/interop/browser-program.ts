import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Stage } from "./stage.ts";

/**
 * Puts open-address.ts into a folder as the program that opens addresses, under the names that others look for. It ends
 * at once, as one does that hands over to a browser which is open already; what came of it is in `browser.log`.
 */
export async function installBrowser(folder: string): Promise<string> {
  const program = `'${process.execPath}' '${join(import.meta.dirname, "open-address.ts")}'`;
  const log = `'${join(folder, "browser.log")}'`;
  const script = `#!/bin/sh
if [ "$1" = --withdraw ]; then exec ${program} "$@"; fi
${program} "$1" </dev/null >>${log} 2>&1 &
`;
  for (const name of ["xdg-open", "browser"]) {
    await writeFile(join(folder, name), script);
    await chmod(join(folder, name), 0o755);
  }
  return join(folder, "browser");
}

/** For a suite whose programs are other processes: what they need in their environment, while `act` runs. */
export async function withBrowser(act: (env: Record<string, string>) => number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "interop-browser-"));
  try {
    const { readerToken } = JSON.parse(process.env["REGISTRY"]!) as Stage;
    return act({ BROWSER: await installBrowser(folder), PERSON_TOKEN: readerToken });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
