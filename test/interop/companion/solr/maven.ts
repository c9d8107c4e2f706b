import { spawn, spawnSync } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** The project beside this file, in a folder of its own, as its build runs it. */
export interface Build {
  version: string;
  /** `mvn deploy`. */
  deploy(registry: string, namespace: string, token: string): Promise<Ended>;
  change(file: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

interface Ended {
  code: number | null;
  output: string;
}

export const project = join(import.meta.dirname, "project");
export const skillFolder = join(project, "skills/query-solr");

/** What of Maven is missing here, if anything. */
export function missingOfMaven(): string | undefined {
  return ["java", "mvn"].find((program) => spawnSync(program, ["-version"]).status !== 0);
}

export async function openBuild(): Promise<Build> {
  const folder = await mkdtemp(join(tmpdir(), "solr-"));
  await cp(project, folder, { recursive: true });
  const repository = process.env["MAVEN_REPO"];
  const local = repository === undefined ? [] : [`-Dmaven.repo.local=${repository}`];
  return {
    version: /Apache Maven ([\d.]+)/.exec(spawnSync("mvn", ["-version"], { encoding: "utf8" }).stdout)?.[1] ?? "",
    deploy: (registry, namespace, token) => {
      const env = { ...process.env, REGISTRY: registry, SKILL_NAMESPACE: namespace, SKILL_TOKEN: token };
      return runMaven(["-q", "-B", ...local, "deploy"], folder, env);
    },
    change: (file, text) => writeFile(join(folder, "skills/query-solr", file), text),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Without blocking: the registry closes idle connections meanwhile, which has to be noticed. */
function runMaven(parameters: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = spawn("mvn", parameters, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => (output += bytes.toString()));
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => done({ code, output: stripVTControlCharacters(output) }));
  });
}
