import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { describe, expect, it } from "vitest";

import type { Finding } from "../../src/domain/finding.ts";
import { Problem } from "../../src/domain/problem.ts";
import { encodeSegment } from "../../src/domain/uri.ts";
import { newNamespace, origin, send, upload } from "../harness.ts";
import { folders } from "./campaigns.ts";
import { runCampaign } from "./campaign.ts";
import { checkFindings, must } from "./checks.ts";
import { folderSamples, packFolder, prepareFolder } from "./folders.ts";
import type { FolderSample } from "./folders.ts";
import { eras, verifyAll } from "./official-client.ts";
import type { Era } from "./official-client.ts";
import { deadlineMs, isFull, scaled, seed, tell } from "./scale.ts";

const timeout = isFull ? 600_000 : 60_000;

describe("of generated folders", () => {
  it(
    "every accepted one passes the official client's checks, and every refused one is told why",
    async () => {
      const counts = await folders.run({ seed, runs: scaled(10_000), deadlineMs });
      tell("folders", counts);
      const { accepted = 0, refused = 0 } = counts;
      // Neither verdict may be so rare that the property says nothing.
      expect(accepted).toBeGreaterThan((accepted + refused) / 5);
      expect(refused).toBeGreaterThan((accepted + refused) / 5);
    },
    timeout,
  );

  it.each(eras)(
    "a sample goes through the HTTP door and comes back to the official client of %s",
    async (era) => {
      const namespace = await newNamespace();
      const client = await connect(era, namespace);
      const published = new Map<string, Uint8Array>();
      const counts = await runCampaign(
        {
          name: "HTTP",
          // The largest are for the client in memory: here each file is a request.
          samples: folderSamples.filter(({ folder }) => folder.files.length < 50),
          open: async () => (sample) => publishOne(sample, namespace, client, published),
        },
        { seed: seed + eras.indexOf(era) + 1, runs: scaled(200), deadlineMs },
      );
      tell(`HTTP ${era}`, counts);
      expect(counts["accepted"]).toBeGreaterThan(2);
      const { skills } = await client.list();
      expect(skills.length).toBeGreaterThan(2);
      expect(await verifyAll(client, skills, published)).toBe(published.size / 2);
    },
    timeout,
  );
});

async function connect(era: Era, namespace: string): Promise<SkillsClient> {
  const client = new Client(
    { name: "campaign", version: "1.0.0" },
    { versionNegotiation: { mode: era === "2026-07-28" ? "auto" : "legacy" } },
  );
  // The whole body before the client sees it: the client drops a stream once it has its answer, and workerd logs that.
  const fetch = async (url: string | URL, init?: RequestInit) => {
    const response = await send(String(url).slice(origin.length), init);
    return init?.method === "POST" ? new Response(await response.arrayBuffer(), response) : response;
  };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp/${namespace}`), { fetch }));
  expect(client.getNegotiatedProtocolVersion()).toBe(era);
  return new SkillsClient(client);
}

let count = 0;

/** Publishes below a folder of its own, since one path is one skill, and reads all of it back under both addresses. */
async function publishOne(
  sample: FolderSample,
  namespace: string,
  client: SkillsClient,
  published: Map<string, Uint8Array>,
): Promise<string> {
  const expected = await prepareFolder({ ...sample, folder: { ...sample.folder, path: undefined } });
  const isMany = !(expected instanceof Problem) && !expected.isSingle;
  const [first] = expected instanceof Problem ? [] : expected.drafts;
  const place = `run-${++count}`;
  const path = isMany ? place : `${place}/${first?.path ?? "skill"}`;
  const query = `?path=${path}&allow_secrets=${sample.folder.allowSecrets}`;
  const body = await packFolder(sample);
  const answer = await upload(namespace, body.bytes, body.contentType, { query });
  must(answer.status < 500, () => `${answer.status} ${JSON.stringify(answer.body)}`);
  checkFindings((answer.body["findings"] ?? []) as Finding[]);
  if (expected instanceof Problem || answer.status >= 400) {
    const codes = () => JSON.stringify(answer.body).slice(0, 2_000);
    // A path that is too long with the folder before it is refused by the door alone.
    must(answer.status === 422 || answer.body["code"] === "invalid_path", () => `${answer.status}: ${codes()}`);
    return "refused";
  }
  must(answer.status === 201, () => `${answer.status}: ${JSON.stringify(answer.body).slice(0, 2_000)}`);
  for (const draft of expected.drafts) {
    const of = `skill://${namespace}/${place}/`;
    const { skill } = await client.get(`${of}${draft.path}/SKILL.md`);
    const files = new Map<string, Uint8Array>();
    const { skill: pinned } = await client.get(releaseIn(answer.body, `${place}/${draft.path}`).pinned_uri);
    for (const { path, bytes } of draft.files) {
      const spelt = path.split("/").map(encodeSegment).join("/");
      files.set(`${of}${draft.path}/${spelt}`, bytes);
      files.set(`${pinned.uri.slice(0, -"SKILL.md".length)}${spelt}`, bytes);
    }
    must((await verifyAll(client, [skill, pinned], files)) === files.size, () => "a file is missing in an entry");
    for (const [uri, bytes] of files) published.set(uri, bytes);
  }
  return "accepted";
}

interface Release {
  path: string;
  pinned_uri: string;
}

/** What the door says of the release at a path, in an answer about one skill or several. */
function releaseIn(body: Record<string, unknown>, path: string): Release {
  const skills = (body["skills"] ?? [body]) as { release: Release }[];
  const found = skills.find((skill) => skill.release.path === path);
  must(found !== undefined, () => `${path} is not in ${JSON.stringify(body).slice(0, 2_000)}`);
  return found.release;
}
