import { Agent, routeAgentRequest } from "agents";
import * as z from "zod";

import { nextMove } from "./model.ts";
import { verify } from "./verify.ts";
import type { Verdict } from "./verify.ts";

/**
 * An agent as its author would write it: the MCP client of `agents` in a Durable Object, which knows the registry's
 * tools and resources and nothing of the Skills extension. `POST /agents/skill-agent/{name}` takes a task and answers
 * what came of it.
 */
interface Env extends Cloudflare.Env {
  SkillAgent: DurableObjectNamespace<SkillAgent>;
}

const task = z.object({
  sentence: z.string(),
  registry: z.url(),
  /** `auto` is what `agents` does unless told otherwise. */
  negotiation: z.enum(["auto", "legacy"]).default("auto"),
});
const card = z.object({ uri: z.string(), name: z.string() });
const found = z.object({ cards: z.array(card) });
const loaded = z.object({
  uri: z.string(),
  version: z.string(),
  files: z.array(z.object({ uri: z.string(), size: z.int(), digest: z.string() })),
});

type Card = z.infer<typeof card>;
type Loaded = z.infer<typeof loaded>;

export class SkillAgent extends Agent<Env> {
  override async onRequest(request: Request): Promise<Response> {
    const { sentence, registry, negotiation } = task.parse(await request.json());
    const { id, state } = await this.addMcpServer("registry", registry, {
      transport: { type: "streamable-http" },
      client: { versionNegotiation: { mode: negotiation } },
    });
    if (state !== "ready") throw new Error(`A public namespace asked this agent for authorization: ${state}`);
    const outcome = await this.#work(id, sentence);
    const protocolVersion = this.mcp.mcpConnections[id]!.client.getNegotiatedProtocolVersion();
    return Response.json({ ...outcome, protocolVersion });
  }

  /** Model and tools take turns until the model replies; what was loaded is then read and checked. */
  async #work(serverId: string, sentence: string) {
    const tools = this.mcp.listTools({ serverId }).map((tool) => tool.name);
    const calls: string[] = [];
    const seen: { tools: string[]; cards?: Card[]; skill?: Loaded } = { tools };
    for (;;) {
      const move = nextMove(sentence, seen);
      if ("reply" in move) {
        const said = { reply: move.reply, tools, calls };
        if (seen.skill === undefined) return said;
        return { ...said, card: seen.cards?.[0]?.name, ...(await this.#fetch(serverId, seen.skill)) };
      }
      calls.push(move.tool);
      const answer = await this.mcp.callTool({ serverId, name: move.tool, arguments: move.input });
      if (answer.isError) throw new Error(`${move.tool} failed: ${JSON.stringify(answer.content)}`);
      if (move.tool === "search_skills") seen.cards = found.parse(answer.structuredContent).cards;
      else seen.skill = loaded.parse(answer.structuredContent);
    }
  }

  async #fetch(serverId: string, { uri, version, files }: Loaded) {
    const verdicts: Verdict[] = [];
    for (const file of files) {
      const { contents } = await this.mcp.readResource({ serverId, uri: file.uri });
      verdicts.push(await verify(file, contents));
    }
    return {
      uri,
      version,
      files: verdicts.length,
      bytes: verdicts.reduce((sum, { size }) => sum + size, 0),
      verified: verdicts.length > 0 && verdicts.every(({ isAsListed }) => isAsListed),
      digests: Object.fromEntries(verdicts.map(({ uri, digest }) => [uri, digest])),
    };
  }
}

// oxlint-disable-next-line import/no-default-export -- The runtime asks for it.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("This Worker has only agents", { status: 404 });
  },
};
