import fc from "fast-check";
import { prepareFolder, packFolder, readBody, folderSamples, foldersCampaign } from "./campaigns.ts";
const check = await foldersCampaign.open();
const t0 = performance.now();
const samples = fc.sample(folderSamples, { seed: 7, numRuns: 1000 });
console.log("gen", performance.now() - t0);
const slow: [number, string][] = [];
let packMs = 0,
  prepMs = 0,
  allMs = 0;
for (const s of samples) {
  const t = performance.now();
  try {
    await packFolder(s);
  } catch (e) {
    console.log("pack", String(e).slice(0, 200));
  }
  const t1 = performance.now();
  packMs += t1 - t;
  try {
    await prepareFolder(s);
  } catch (e) {
    console.log("prep", String(e).slice(0, 300));
  }
  const t2 = performance.now();
  prepMs += t2 - t1;
  try {
    await check(s);
  } catch (e) {
    console.log("check", String(e).slice(0, 300));
  }
  const d = performance.now() - t2;
  allMs += d;
  slow.push([
    d,
    `${(t1 - t).toFixed(0)} ${(t2 - t1).toFixed(0)} ${s.intake} files ${s.folder.files.length} bytes ${s.folder.files.reduce((n, f) => n + f.bytes.length, 0)}`,
  ]);
}
console.log({ packMs, prepMs, allMs });
for (const x of slow.sort((a, b) => b[0] - a[0]).slice(0, 25)) console.log(x[0].toFixed(0), x[1]);
