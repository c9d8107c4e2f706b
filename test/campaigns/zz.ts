import fc from "fast-check";
import { campaigns } from "./campaigns.ts";
for (const c of campaigns) {
  if (process.argv[2] && !process.argv[2].split(",").includes(c.name)) continue;
  const check = await c.open();
  const counts: Record<string, number> = {};
  let worst = 0;
  const t = performance.now();
  const r = await fc.check(
    fc.asyncProperty(c.samples, async (s) => {
      const t = performance.now();
      const v = await check(s);
      worst = Math.max(worst, performance.now() - t);
      counts[v] = (counts[v] ?? 0) + 1;
    }),
    { seed: Number(process.argv[3] ?? 7), numRuns: Number(process.argv[4] ?? 1000) },
  );
  console.log(
    c.name,
    counts,
    Math.round(performance.now() - t) + "ms",
    "worst",
    Math.round(worst),
    r.failed ? fc.defaultReportMessage(r)?.slice(0, 3000) : "ok",
    Math.round(process.memoryUsage().rss / 1e6) + "MB",
  );
}
