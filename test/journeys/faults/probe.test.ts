import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { app } from "../../../src/app.ts";
import { newNamespace, operator, skillMdOf, toFiles } from "../../harness.ts";
import { packZip } from "../../../src/publish/pack.ts";

const sqls = import.meta.glob<string>("../../../migrations/*.sql", { query: "?raw", import: "default", eager: true });

it("probe", async () => {
  console.log("sql", Object.keys(sqls), Object.values(sqls).map((s) => s.length));
  console.log("env", JSON.stringify((import.meta as unknown as { env: unknown }).env));
  console.log("proc", (globalThis as any).process?.env?.CAMPAIGN, JSON.stringify((globalThis as any).process?.env ?? null).slice(0, 300));
  const ns = await newNamespace();
  const time = async (what: string, n: number, f: () => Promise<unknown>) => {
    const t = performance.now(); for (let i = 0; i < n; i++) await f();
    console.log(what, ((performance.now() - t) / n).toFixed(2), "ms");
  };
  let k = 0;
  const pub = async () => { const r = await app.fetch(new Request(`http://localhost/api/v1/namespaces/${ns}/skills`, { method: "POST", headers: { authorization: `Bearer ${operator}`, "content-type": "application/zip" }, body: packZip(toFiles({ "SKILL.md": skillMdOf("notes", `x${k++}`), "a.md": `a${k}` })) }), env); expect(r.status).toBe(201); await r.text(); };
  await pub();
  await time("publish", 30, pub);
  const list = async () => (await app.fetch(new Request(`http://localhost/mcp/${ns}`, { method: "POST", headers: { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" }, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "skills/list", params: {} }) }), env)).text();
  console.log((await list()).slice(0, 300));
  await time("list", 50, list);
  await time("list x10", 10, () => Promise.all(Array.from({ length: 10 }, list)));
  await time("d1", 50, () => env.DB.prepare("SELECT 1").all());
  await time("d1 write", 50, () => env.DB.prepare("UPDATE namespaces SET title = 'x' || ?1 WHERE name = ?2").bind(k++, ns).run());
  await time("d1 x10", 10, () => Promise.all(Array.from({ length: 10 }, () => env.DB.prepare("SELECT 1").all())));
  await env.BLOBS.put("x", "y");
  await time("r2 get", 50, async () => (await env.BLOBS.get("x"))!.text());
  await time("r2 put", 50, async () => env.BLOBS.put("x" + k++, "y"));
  await time("r2 get x10", 10, () => Promise.all(Array.from({ length: 10 }, async () => (await env.BLOBS.get("x"))!.text())));
});
