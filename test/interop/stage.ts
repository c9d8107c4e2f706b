import { ApiClient } from "../../src/cli/client.ts";
import { seed } from "../../src/cli/seed.ts";
import { limitsForTests } from "../limits-for-tests.ts";
import type { SourceSkill } from "../wire/generated-skills.ts";
import { hiring, publishDepartment, textFile } from "../wire/library.ts";
import { RegistryClient } from "../wire/registry-client.ts";
import { startHost } from "../wire/server.ts";

/**
 * What every suite finds: a registry with the skills that `npm start` publishes, a department that hires people (its
 * skills name tools of companion servers), a private namespace, and a second registry with the same department, since
 * hosts have several servers. Told to the suite as JSON in the variable REGISTRY.
 */
export interface Stage {
  /** `http://localhost:port` */
  origin: string;
  /** Of a second registry, which serves the same addresses with the same bytes. */
  secondOrigin: string;
  operatorToken: string;
  /** Public, with skills, companion servers and the collection `desk` (two skills) and `as-tools` (per-skill). */
  namespace: string;
  /** Private: one skill, `inner-secret`. */
  privateNamespace: string;
  readerToken: string;
  publisherToken: string;
  /** `http://localhost:port/r/{secret}`: opens the private namespace. */
  readLink: string;
}

const operatorToken = "operator-token-for-interop-0123456789abcdef";
const secrets = { ADMIN_TOKEN: operatorToken, SIGNING_KEY: "signing-key-for-interop-0123456789abcdef" };
const privateNamespace = "inner-desk";

/** What the private namespace holds. */
export const innerSkill: SourceSkill = {
  path: "inner-secret",
  files: [textFile("SKILL.md", "---\nname: inner-secret\ndescription: What only we know\n---\n# Inner\n")],
};

export async function openStage(): Promise<{ stage: Stage; close: () => Promise<void> }> {
  const first = await startHost({ vars: { ...secrets, ...limitsForTests } });
  const second = await startHost({ vars: { ...secrets, ...limitsForTests } });
  const close = async () => {
    await Promise.all([first.stop(), second.stop()]);
  };
  try {
    await publishHiring(second.origin);
    return { stage: { secondOrigin: second.origin, ...(await fill(first.origin)) }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function publishHiring(origin: string): Promise<RegistryClient> {
  const client = new RegistryClient(origin, operatorToken);
  await publishDepartment(client, hiring);
  return client;
}

async function fill(origin: string): Promise<Omit<Stage, "secondOrigin">> {
  await seed(new ApiClient(origin, operatorToken), () => {});
  const client = await publishHiring(origin);
  const { namespace } = hiring;
  const desk = { skills: hiring.skills.slice(0, 2).map(({ path }) => ({ path })) };
  await must(client.json("PUT", `/namespaces/${namespace}/collections/desk`, desk));
  const all = { skills: "all", tools: "per-skill" };
  await must(client.json("PUT", `/namespaces/${namespace}/collections/as-tools`, all));
  await client.createNamespace(privateNamespace, "private");
  await client.publish(privateNamespace, innerSkill);
  const link = await must(client.json("POST", `/namespaces/${privateNamespace}/links`, { label: "interop" }));
  return {
    origin,
    operatorToken,
    namespace,
    privateNamespace,
    readerToken: await client.mintToken(privateNamespace, "reader"),
    publisherToken: await client.mintToken(namespace, "publisher"),
    readLink: String(link["url"]).replace(/\/mcp$/, ""),
  };
}

async function must(answer: Promise<Response>): Promise<Record<string, unknown>> {
  const response = await answer;
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}
