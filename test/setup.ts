import { env } from "cloudflare:workers";
import { vi } from "vitest";

// Files share a worker, since loading the program anew for each would cost more than most of their tests: so what the
// file before has left is removed here, and each begins with empty storage all the same.
vi.useRealTimers();
vi.unstubAllGlobals();
vi.restoreAllMocks();
const bindings = env as unknown as Record<string, unknown>;
const shared = globalThis as { bindingsAtStart?: Record<string, unknown> };
shared.bindingsAtStart ??= { ...bindings };
for (const name of Object.keys(bindings)) if (!(name in shared.bindingsAtStart)) delete bindings[name];
Object.assign(bindings, shared.bindingsAtStart);
const { results } = await env.DB.prepare(
  `SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view', 'trigger') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
   AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY type = 'table', rowid DESC`,
).all<{ type: string; name: string }>();
if (results.length > 0) {
  const drops = results.map(({ type, name }) => `DROP ${type} "${name}"`);
  const first = drops.filter((drop) => !drop.startsWith("DROP table"));
  const unlink = results.some(({ name }) => name === "skills") ? ["UPDATE skills SET current = NULL"] : [];
  await env.DB.batch(
    [...first, ...unlink, ...drops.filter((drop) => drop.startsWith("DROP table"))].map((sql) => env.DB.prepare(sql)),
  );
  for (let more = true; more;) {
    const { objects, truncated } = await env.BLOBS.list();
    if (objects.length > 0) await env.BLOBS.delete(objects.map(({ key }) => key));
    more = truncated;
  }
}

// In one batch: file by file and statement by statement, as a deployment applies them, they would cost every test file
// more than a second. test/storage/upgrade.test.ts applies them that way.
const statements = env.TEST_MIGRATIONS.flatMap(({ queries }) => queries);
await env.DB.batch(statements.map((statement) => env.DB.prepare(statement)));
