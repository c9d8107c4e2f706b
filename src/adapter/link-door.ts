import type { Skill } from "@modelcontextprotocol/server/ext/skills";

import { digestOfText } from "../domain/digest.ts";
import { mediaTypeOf } from "../domain/media-type.ts";
import type { Door, Listing } from "./door.ts";
import type { HeldFile } from "./files.ts";
import { fileUri, resourcesOf, rootOf } from "./held-skill.ts";
import type { HeldSkill } from "./held-skill.ts";
import { RegistryError, ask, maxJsonBytes, parseJson } from "./http.ts";
import type { Asking } from "./http.ts";

/** What a read link opens: `https://skills.example.com/r/skl_…`, with or without `/mcp`. */
export interface LinkAddress {
  link: string;
}

const maxPages = 50;
/** A byte may take six in JSON (`\u0000`), and there is an envelope around them. */
const jsonBytesPerByte = 6;
const envelopeBytes = 64 * 1024;
const notText = Uint8Array.of(0xff);

/** A read link opens nothing of the API, so its collection is asked as agents ask: by MCP, without a session. */
export async function linkDoor(asking: Asking, { link }: LinkAddress): Promise<Door> {
  const address = `${link.replace(/(?:\/mcp)?\/*$/, "")}/mcp`;
  const call = callerOf(asking, address);
  return {
    name: await digestOfText(address),
    list: async (signal) => {
      const listings: Listing[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < maxPages; page++) {
        const params = cursor === undefined ? {} : { cursor };
        const answer = await call("skills/list", params, { what: "The read link", signal, maxBytes: maxJsonBytes });
        const { skills, nextCursor } = answer as { skills: Skill[]; nextCursor?: string };
        listings.push(...(await Promise.all(skills.map(listingOf))));
        if (nextCursor === undefined) return listings;
        cursor = nextCursor;
      }
      return listings;
    },
    download: async (skill, { file, size }, signal) => {
      const uri = fileUri(skill.roots[0]!, file);
      const maxBytes = size * jsonBytesPerByte + envelopeBytes;
      const answer = await call("resources/read", { uri }, { what: uri, signal, maxBytes });
      const [content] = (answer as { contents: { text?: string; blob?: string }[] }).contents;
      if (content?.text !== undefined) return new TextEncoder().encode(content.text);
      return Uint8Array.from(atob(content?.blob ?? ""), (char) => char.charCodeAt(0));
    },
  };
}

function callerOf(asking: Asking, address: string) {
  return async (
    method: string,
    params: object,
    question: { what: string; signal: AbortSignal; maxBytes: number },
  ): Promise<unknown> => {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const bytes = await ask(asking, address, { ...question, init: { method: "POST", headers, body } });
    const { result, error } = parseJson(bytes, question.what) as { result?: unknown; error?: { message: string } };
    if (result !== undefined) return result;
    throw new RegistryError(`${question.what}: ${error?.message ?? "no answer"}`);
  };
}

/** A list over MCP names no version, so the entry itself is what a skill is known by. */
async function listingOf(entry: Skill): Promise<Listing> {
  return { key: await digestOfText(JSON.stringify(entry)), describe: async () => describe(entry) };
}

function describe(entry: Skill): HeldSkill {
  const root = rootOf(entry.uri);
  if (entry.resources === "dynamic") throw new RegistryError(`${entry.uri}: its files have no digests`);
  const files: HeldFile[] = entry.resources.map(({ uri, digest, size }) => {
    const file = uri
      .slice(root.length + 1)
      .split("/")
      .map(decodeURIComponent)
      .join("/");
    return { file, digest, size, ...mediaTypeOfName(file) };
  });
  if (JSON.stringify(resourcesOf(root, files)) !== JSON.stringify(entry.resources)) {
    throw new RegistryError(`${entry.uri}: its resources do not lie below it`);
  }
  return { key: "", entry, roots: [root], files };
}

/** The registry's own table, as far as it goes by the name. */
function mediaTypeOfName(file: string): { mediaType?: string } {
  const mediaType = mediaTypeOf(file, notText);
  return mediaType === "application/octet-stream" ? {} : { mediaType };
}
