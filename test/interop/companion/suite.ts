import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { registrySkills } from "../../../src/adapter/skill-source.ts";
import { hiring, publishDepartment, put, skill } from "../../wire/library.ts";
import { RegistryClient } from "../../wire/registry-client.ts";
import type { Stage } from "../stage.ts";
import { clientVersion, connect, findJobs, listSkills, readEverything } from "./journey.ts";
import type { Mode } from "./journey.ts";
import { openOwnRegistry } from "./own-registry.ts";
import type { OwnRegistry } from "./own-registry.ts";
import { installProject } from "./project.ts";
import type { Companion, Project } from "./project.ts";
import { attempt } from "./say.ts";
import { runSolr } from "./solr/solr.ts";

/**
 * One connection for all: a tool server of somebody else re-serves its collection beside its hundred tools, with and
 * without the registry. And the project whose build publishes its skill: solr/.
 */
const stage = JSON.parse(process.env["REGISTRY"]!) as Stage;
const adapter = { client: "skill-registry/skill-source", version: "0.1.0", era: "2026-07-28" };
const official = { client: "@modelcontextprotocol/client", version: clientVersion };
const changed = "Match a candidate with open positions. Second edition.";
const hearWithinMs = 10_000;

async function main(): Promise<void> {
  const project = await installProject();
  const registry = await openOwnRegistry();
  try {
    await isRecipe(project);
    await besideTheStage(project);
    await ofWhatIsPrivate();
    await project.forget();
    await withoutRegistry(project, registry);
    await runSolr(registry);
  } finally {
    await registry.remove();
    await project.remove();
  }
}

/** What the README shows is what runs here. */
async function isRecipe(project: Project): Promise<void> {
  const tried = "the README's server in another project: npm pack, npm install, tsc against its types";
  await attempt({ ...adapter, tried }, async () => {
    const [readme, program] = await Promise.all(
      ["../../../README.md", "server/server.ts"].map((file) => readFile(join(import.meta.dirname, file), "utf8")),
    );
    ok(readme!.includes(program!), "the README shows another program than server/server.ts");
    return `the server runs on Node ${project.node}`;
  });
}

async function besideTheStage(project: Project): Promise<void> {
  const companion = await project.start(stage.origin);
  const eras: [Mode, string][] = [
    ["auto", "2026-07-28"],
    ["legacy", "2025-11-25"],
  ];
  for (const [mode, era] of eras) {
    const tried =
      "on one connection with 101 tools: finds the skill, loads it verified, takes its one schema, calls it";
    await attempt({ ...official, era, tried }, async () => {
      const client = await connect(companion.address, mode);
      equal(client.getNegotiatedProtocolVersion(), era);
      await findJobs(client);
      await client.close();
    });
  }
  const tried = "every entry and every file of the collection equals the registry's, and the client verifies all of it";
  await attempt({ ...adapter, tried }, () => isSameAs(companion, `${stage.origin}/mcp/${stage.namespace}/desk`));
  await companion.stop();
}

/** Straight from its sources, since the server of the README opens what is public. */
async function ofWhatIsPrivate(): Promise<void> {
  const { origin, operatorToken, privateNamespace: namespace, readLink: link, readerToken: token } = stage;
  const operator = new RegistryClient(origin, operatorToken);
  await put(operator, `/namespaces/${namespace}/collections/desk`, { skills: "all" });
  const there = await connect(new URL(`${link}/mcp`));
  const listed = await listSkills(there);
  await there.close();
  const tried = "a private collection with a bearer token, and by a read link; refused without";
  await attempt({ ...adapter, tried }, async () => {
    const address = { origin, namespace, collection: "desk", refreshMs: 0 };
    await rejects(registrySkills(address), /answered 404/);
    for (const skills of [await registrySkills({ ...address, token }), await registrySkills({ link, refreshMs: 0 })]) {
      deepEqual(skills.entries, listed);
      ok(await skills.read(listed[0]!.uri));
    }
  });
}

async function isSameAs(companion: Companion, address: string): Promise<string> {
  const [here, there] = await Promise.all([connect(companion.address), connect(new URL(address))]);
  deepEqual(await listSkills(here), await listSkills(there));
  const files = await readEverything(here);
  deepEqual(files, await readEverything(there));
  await Promise.all([here.close(), there.close()]);
  return `${files.size} files`;
}

async function withoutRegistry(project: Project, registry: OwnRegistry): Promise<void> {
  await publishDepartment(registry.operator, hiring);
  const desk = { skills: hiring.skills.slice(0, 2).map(({ path }) => ({ path })) };
  await put(registry.operator, `/namespaces/${hiring.namespace}/collections/desk`, desk);
  const companion = await project.start(registry.origin);
  const client = await connect(companion.address);
  await attempt(
    { ...adapter, tried: "the registry is stopped: the same connection finds, loads and calls" },
    async () => {
      const before = await readEverything(client);
      await registry.stop();
      await findJobs(client);
      deepEqual(await readEverything(client), before);
    },
  );
  await client.close();
  await companion.stop();
  await afterRestart(project, registry);
}

async function afterRestart(project: Project, registry: OwnRegistry): Promise<void> {
  const companion = await project.start(registry.origin);
  const client = await connect(companion.address);
  await attempt(
    { ...adapter, tried: "the companion restarts without the registry, from its cache folder" },
    async () => {
      await findJobs(client);
      ok((await readEverything(client)).size > 1);
      ok(companion.complaints().includes("did not answer"), "it did not say that the registry is away");
    },
  );
  const tried = "the registry returns with a new release: list_changed, and the new bytes verified";
  await attempt({ ...adapter, tried }, async () => {
    let began = 0;
    const heard = new Promise<number>((done, fail) => {
      client.setNotificationHandler("notifications/resources/list_changed", () => done(performance.now() - began));
      setTimeout(() => fail(new Error("no list_changed")), 60_000).unref();
    });
    const subscription = await client.listen({ resourcesListChanged: true });
    await registry.start();
    await registry.operator.publish(
      hiring.namespace,
      skill("match-candidates", changed, { tools: "jobs/search_jobs" }),
    );
    began = performance.now();
    const took = await heard;
    ok(took < hearWithinMs, `heard after ${took} ms`);
    ok((await listSkills(client)).some(({ frontmatter }) => frontmatter.description === changed));
    await findJobs(client);
    await subscription.close();
    await client.close();
    const address = `${registry.origin}/mcp/${hiring.namespace}/desk`;
    return `${await isSameAs(companion, address)}; heard ${took.toFixed(0)} ms after the publish, of a refresh every 500 ms`;
  });
  await companion.stop();
}

await main();
process.exit();
