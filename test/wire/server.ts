import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestProject } from "vitest/node";

import { ApiClient } from "../../src/cli/client.ts";
import { seed } from "../../src/cli/seed.ts";
import { limitsForTests } from "../limits-for-tests.ts";
import { generatedSkills } from "./generated-skills.ts";
import type { HostOptions } from "./host.ts";
import { largeSkill } from "./large-skill.ts";
import { inPool } from "./pool.ts";
import { RegistryClient } from "./registry-client.ts";
import type { UploadForm } from "./registry-client.ts";

/**
 * One started registry for all tests on the wire, on a free port, with a state of its own. It holds what `npm start`
 * publishes, in `registry`; three hundred generated skills, in `generated`; and the largest one there can be, in
 * `large`. The secrets come as vars, so that neither a .dev.vars is needed nor one that is there is used.
 */
export interface Registry {
  origin: string;
  operatorToken: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    registry: Registry;
  }
}

const operatorToken = "operator-token-for-tests-on-the-wire-0123456789";
const publishers = 6;
const forms: readonly UploadForm[] = ["zip", "tar.gz", "form"];

/** Called by vitest before all tests; it calls what is returned after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const vars = {
    ADMIN_TOKEN: operatorToken,
    SIGNING_KEY: "signing-key-for-tests-on-the-wire-0123456789",
    ...limitsForTests,
  };
  const { origin, stop } = await startHost({ vars });
  try {
    await publishAll(origin);
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide("registry", { origin, operatorToken });
  return stop;
}

export async function startHost(options: HostOptions): Promise<{ origin: string; stop: () => Promise<void> }> {
  // In a group of its own, so that it outlives a kill of ours for as long as it takes to clean up.
  const host = spawn(process.execPath, [join(import.meta.dirname, "host.ts"), JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const ended = new Promise<never>((_, fail) => {
    host.once("exit", (code) => fail(new Error(`The server's host ended with ${code}`)));
  });
  const stop = async () => {
    host.stdin.end();
    await ended.catch(() => {});
  };
  const lines = createInterface(host.stdout);
  const origin = await Promise.race([new Promise<string>((done) => lines.once("line", done)), ended]);
  return { origin, stop };
}

async function publishAll(origin: string): Promise<void> {
  await seed(new ApiClient(origin, operatorToken), () => {});
  const client = new RegistryClient(origin, operatorToken);
  for (const name of ["generated", "large"]) await client.createNamespace(name);
  await client.publish("large", largeSkill());
  await inPool(generatedSkills().entries(), publishers, ([index, skill]) =>
    client.publish("generated", skill, forms[index % forms.length]),
  );
}
