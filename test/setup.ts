import { env } from "cloudflare:workers";

// In one batch: file by file and statement by statement, as a deployment applies them, they would cost every test file
// more than a second. test/storage/upgrade.test.ts applies them that way.
const statements = env.TEST_MIGRATIONS.flatMap(({ queries }) => queries);
await env.DB.batch(statements.map((statement) => env.DB.prepare(statement)));
