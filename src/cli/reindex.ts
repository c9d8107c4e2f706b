import { ApiClient } from "./client.ts";

/**
 * Makes the search index anew, step by step, while everybody goes on searching. Given up at any moment it leaves an
 * index that works; said again it starts over. `ADMIN_TOKEN=… npm run reindex -- https://skills.example.com`
 */
export async function reindex(client: ApiClient, say: (line: string) => void): Promise<void> {
  let steps = 0;
  let cursor: string | null = null;
  do {
    const answer: { step: string; next_cursor: string | null } = await client.rebuildSearchIndex(cursor);
    steps++;
    if (steps % 20 === 0) say(`${steps} steps, now at the ${answer.step}`);
    cursor = answer.next_cursor;
  } while (cursor !== null);
  say(`The search index is made anew (${steps} steps)`);
}

if (import.meta.main) {
  const [origin] = process.argv.slice(2);
  const token = process.env["ADMIN_TOKEN"];
  if (origin === undefined || token === undefined) {
    console.error("Usage: ADMIN_TOKEN=<operator token> npm run reindex -- <origin>");
    process.exit(2);
  }
  await reindex(new ApiClient(new URL(origin).origin, token), (line) => console.log(line));
}
