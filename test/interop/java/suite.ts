import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";

/**
 * Java hosts: the official SDK, a `SkillIndex` as host code would write it, and Spring AI and LangChain4j hosts. All of
 * it is one Maven project beside this file, whose program says the rows; what it downloads comes from Maven Central.
 * It runs twice: with the newest SDK, and with the older one that Spring AI brings.
 */
async function main(): Promise<void> {
  const missing = ["java", "mvn"].find((program) => spawnSync(program, ["-version"]).status !== 0);
  if (missing !== undefined) {
    console.log(`skipped: ${missing} is not installed`);
    return;
  }
  for (const profile of [[], ["-P", "spring"]]) {
    if ((await runMaven(["compile", "exec:exec", ...profile])) !== 0) process.exitCode = 1;
  }
}

function runMaven(goals: string[]): Promise<number | null> {
  const pom = join(import.meta.dirname, "pom.xml");
  const maven = spawn("mvn", ["-q", "-B", "-f", pom, ...goals, ...extraArguments()], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Maven resets the colours of a terminal that is none, in the middle of the first row.
  createInterface(maven.stdout).on("line", (line) => {
    console.log(stripVTControlCharacters(line));
  });
  return new Promise((done, fail) => {
    maven.once("error", fail);
    maven.once("close", done);
  });
}

/** `MAVEN_REPO=/tmp/empty npm run interop -- java` shows how long a fresh machine takes. */
function extraArguments(): string[] {
  const repository = process.env["MAVEN_REPO"];
  return repository === undefined ? [] : [`-Dmaven.repo.local=${repository}`];
}

await main();
