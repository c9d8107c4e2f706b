import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";

/**
 * Java hosts: the official SDK, a `SkillIndex` as host code would write it, and Spring AI and LangChain4j hosts. All of
 * it is one Maven project beside this file, whose program says the rows; what it downloads comes from Maven Central.
 */
function main(): void {
  const missing = ["java", "mvn"].find((program) => spawnSync(program, ["-version"]).status !== 0);
  if (missing !== undefined) {
    console.log(`skipped: ${missing} is not installed`);
    return;
  }
  const pom = join(import.meta.dirname, "pom.xml");
  const maven = spawn("mvn", ["-q", "-B", "-f", pom, "compile", "exec:exec", ...extraArguments()], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Maven resets the colours of a terminal that is none, in the middle of the first row.
  createInterface(maven.stdout).on("line", (line) => {
    console.log(stripVTControlCharacters(line));
  });
  maven.once("close", (code) => {
    process.exitCode = code ?? 1;
  });
}

/** `MAVEN_REPO=/tmp/empty npm run interop -- java` shows how long a fresh machine takes. */
function extraArguments(): string[] {
  const repository = process.env["MAVEN_REPO"];
  return repository === undefined ? [] : [`-Dmaven.repo.local=${repository}`];
}

main();
