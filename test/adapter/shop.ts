import { registrySkills } from "../../src/adapter/skill-source.ts";
import type { RegistrySkills, RegistrySkillsOptions, SkillCache } from "../../src/adapter/skill-source.ts";
import { api, newNamespace, origin, publish, send, skillMdOf } from "../harness.ts";
import type { Files } from "../harness.ts";

/** A collection of two skills in the real registry, and the wire between it and an adapter, which tests can cut. */
export interface Shop {
  namespace: string;
  /** Paths that the adapter asked for. */
  asked: string[];
  /** Answers instead of the registry; undefined: the registry answers. Throws: the network is down. */
  fault: ((path: string) => Response | Promise<Response> | undefined) | undefined;
  /** Changes what the registry answers. */
  alter: ((path: string, response: Response) => Promise<Response>) | undefined;
  fetch: typeof fetch;
  open(options?: Partial<RegistrySkillsOptions>): Promise<RegistrySkills>;
}

export const binary = Uint8Array.from([0xff, 0x00, 0xfe, 0x80]);
export const alpha: Files = {
  "SKILL.md": skillMdOf("alpha"),
  "references/deep/one.md": "# One\n",
  "references/Grüße & Anrede.md": "\uFEFFSehr geehrte …\r\n",
  "assets/sample.bin": binary,
  LICENSE: "Shared by both",
};
export const beta: Files = { "SKILL.md": skillMdOf("beta"), "LICENSE.txt": "Shared by both" };

export async function openShop(visibility: "public" | "private" = "public"): Promise<Shop> {
  const namespace = await newNamespace(visibility);
  for (const files of [alpha, beta]) await must(publish(namespace, files));
  const skills = [{ path: "beta" }, { path: "alpha" }];
  await must(api("PUT", `/namespaces/${namespace}/collections/desk`, { skills }));
  const shop: Shop = {
    namespace,
    asked: [],
    fault: undefined,
    alter: undefined,
    fetch: async (input, init) => {
      const path = String(input).slice(origin.length);
      shop.asked.push(path);
      const faulty = await shop.fault?.(path);
      if (faulty !== undefined) return faulty;
      const response = await send(path, init as RequestInit);
      return (await shop.alter?.(path, response)) ?? response;
    },
    open: (options = {}) =>
      registrySkills({
        origin,
        namespace,
        collection: "desk",
        refreshMs: 0,
        fetch: shop.fetch,
        onProblem: () => {},
        ...options,
      } as RegistrySkillsOptions),
  };
  return shop;
}

export async function must(answer: Promise<{ status: number; body: Record<string, unknown> }>) {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

/** A cache whose values tests can look at and spoil. */
export function openCache(): SkillCache & { values: Map<string, Uint8Array> } {
  const values = new Map<string, Uint8Array>();
  return {
    values,
    get: async (key) => values.get(key),
    put: async (key, bytes) => void values.set(key, bytes),
  };
}

export const away = () => Promise.reject(new TypeError("fetch failed"));
export const isFile = (path: string) => path.includes("/files/");

/** All bytes that a source serves of a skill, by address. */
export async function readAll(skills: RegistrySkills, uri: string): Promise<Record<string, unknown>> {
  const entry = await skills.get(uri);
  const resources = entry?.resources as { uri: string }[];
  return Object.fromEntries(await Promise.all(resources.map(async (file) => [file.uri, await skills.read(file.uri)])));
}
