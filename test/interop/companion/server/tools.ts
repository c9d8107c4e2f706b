import { readFileSync } from "node:fs";

import { fromJsonSchema } from "@modelcontextprotocol/server";
import type { McpServer } from "@modelcontextprotocol/server";

/** The tools of a server that somebody has already: a hundred real ones, which do nothing here, and one that works. */
interface Listed {
  name: string;
  description: string;
  inputSchema: Parameters<typeof fromJsonSchema>[0];
}

const openings = [
  { id: "eng-7", title: "Data engineer", place: "Lisbon", remote: true, posting: "Pipelines, SQL, Airflow" },
  { id: "eng-9", title: "Search engineer", place: "Berlin", remote: false, posting: "Solr, ranking, Java" },
  { id: "ops-2", title: "Payroll clerk", place: "Lisbon", remote: false, posting: "Payroll, spreadsheets" },
];

const listed = JSON.parse(readFileSync(process.env.TOOLS!, "utf8")) as Listed[];
// Made once: a server is made for every request, and compiling a hundred schemas takes a while.
const tools = listed.map((tool) => ({ ...tool, inputSchema: fromJsonSchema(tool.inputSchema) }));

const search = fromJsonSchema<{ words?: string; place?: string; remote?: boolean }>({
  type: "object",
  properties: {
    words: { type: "string", description: "What the posting should say" },
    place: { type: "string" },
    remote: { type: "boolean", default: false },
  },
});

export function registerTools(server: McpServer): void {
  for (const { name, description, inputSchema } of tools) {
    server.registerTool(name, { description, inputSchema }, () => ({
      content: [{ type: "text", text: "There is no office suite behind this server" }],
      isError: true,
    }));
  }
  const description = "Search open positions by title, place and words of the posting.";
  server.registerTool("search_jobs", { description, inputSchema: search }, ({ words = "", place, remote = false }) => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = openings.filter(
      (opening) =>
        wanted.every((word) => `${opening.title} ${opening.posting}`.toLowerCase().includes(word)) &&
        (place === undefined || opening.place === place) &&
        (!remote || opening.remote),
    );
    return { content: [{ type: "text", text: JSON.stringify(found) }] };
  });
}
