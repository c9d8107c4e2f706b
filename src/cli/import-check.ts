import { importers } from "../domain/fit.ts";
import { walk } from "./importer.ts";

/**
 * What the importers of others would decline at an MCP address, and why:
 * `npm run import-check -- https://skills.example.com/mcp/acme` (a token, where one is needed, in TOKEN). Ends with 1
 * where one of them declines something.
 */
const [url] = process.argv.slice(2);
if (url === undefined) {
  console.error("Usage: [TOKEN=skr_…] npm run import-check -- <MCP address>");
  process.exit(2);
}
let declined = 0;
for (const importer of importers) {
  const walked = await walk(url, importer, process.env["TOKEN"]).catch((error: Error) => error);
  if (walked instanceof Error) {
    console.log(`${importer}: cannot read this address: ${walked.message}`);
    declined++;
    continue;
  }
  const { skills, files, misfits } = walked;
  console.log(
    `${importer}: ${skills} skills, ${files} files, ${misfits.length === 0 ? "takes everything" : "declines:"}`,
  );
  for (const { rule, skill, message } of misfits) console.log(`  ${rule}  ${skill ?? "(the list)"}  ${message}`);
  declined += misfits.length;
}
process.exit(declined === 0 ? 0 : 1);
