import { argv } from "node:process";

import type { Stage } from "../stage.ts";
import { findChromium, openChromium } from "./chromium.ts";
import type { Chromium } from "./chromium.ts";
import { tryAccount } from "./account.ts";
import { tryNarrow } from "./narrow.ts";
import { tryOtherSites } from "./other-sites.ts";
import { tryPeople } from "./people.ts";
import { trySignIn } from "./sign-in.ts";

/**
 * A real browser at the pages on which people sign in: what it makes of cookies, policies and forms no script knows.
 * Scripts are off, since the pages must work without. One part alone:
 * `REGISTRY=… node test/interop/browser/suite.ts sign-in`.
 */
const parts: Record<string, (stage: Stage, chromium: Chromium) => Promise<void>> = {
  "sign-in": trySignIn,
  "other-sites": tryOtherSites,
  account: tryAccount,
  narrow: tryNarrow,
  people: tryPeople,
};

const stage = JSON.parse(process.env["REGISTRY"]!) as Stage;
const wanted = argv.slice(2);
const name = findChromium();
if (name === undefined) {
  console.log("skipped: chromium is not installed");
  process.exit(0);
}
const chromium = await openChromium(name);
try {
  for (const [name, part] of Object.entries(parts)) {
    if (wanted.length === 0 || wanted.includes(name)) await part(stage, chromium);
  }
} finally {
  await chromium.close();
}
process.exit(0);
