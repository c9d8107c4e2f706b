import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";

import type { Finding } from "../../src/domain/finding.ts";
import { eras, newNamespace, seedSkill, upload } from "../harness.ts";
import { runCampaign } from "./campaign.ts";
import { others } from "./campaigns.ts";
import { checkFindings, must } from "./checks.ts";
import { archives, damage, forms } from "./containers.ts";
import type { BodySample } from "./containers.ts";
import { deadlineMs, isFull, scaled, seed, tell } from "./scale.ts";
import { cursorSamples, formatUri, mutateCursor, uriSamples } from "./spellings.ts";

const timeout = isFull ? 600_000 : 60_000;
/** Samples of the whole; bombs make archives dear. */
const wholes: Record<string, number> = { archives: 3_000, forms: 10_000, damage: 3_000, cursors: 20_000, uris: 20_000 };

describe("a short campaign", () => {
  it.each(others.map(({ name, run }) => [name, run] as const))(
    "of %s finds no crash, no hang and no breach",
    async (name, run) => {
      const counts = await run({ seed, runs: scaled(wholes[name] ?? 10_000), deadlineMs });
      tell(name, counts);
      // Samples that all fare alike would say nothing about the others.
      expect(Object.keys(counts).length).toBeGreaterThan(1);
    },
    timeout,
  );
});

describe("through the doors", () => {
  let namespace: string;

  beforeAll(async () => {
    namespace = await newNamespace();
    for (const name of ["pdf", "refunds"]) await seedSkill(namespace, name);
  });

  it.each([
    ["archives", archives],
    ["forms", forms],
  ] as const)(
    "%s get a plain answer, never a failure of ours",
    async (name, samples) => {
      const open =
        async () =>
        async ({ body, changes }: BodySample) => {
          const bytes = damage(body.bytes, changes);
          const answer = await upload(namespace, bytes, body.contentType, { query: "?dry_run=true" });
          must([200, 413, 415, 422].includes(answer.status), () => `${answer.status} ${JSON.stringify(answer.body)}`);
          checkFindings((answer.body["findings"] ?? []) as Finding[]);
          return String(answer.status);
        };
      const counts = await runCampaign({ name, samples, open }, { seed, runs: scaled(500), deadlineMs });
      tell(`${name} over HTTP`, counts);
    },
    timeout,
  );

  it.each(eras)(
    "cursors and addresses over MCP %s are understood or refused as invalid",
    async (_, call) => {
      const uris = fc.oneof(
        uriSamples.map(formatUri),
        fc.constantFrom("skill://acme/pdf/SKILL.md", "skill://acme/@1.0.0/pdf/SKILL.md", "skill://acme/pdf"),
      );
      const samples = fc.record({
        cursor: fc.oneof(cursorSamples.map(mutateCursor), fc.constant(undefined)),
        uri: uris.map((uri) => uri.replaceAll("acme", namespace)),
        method: fc.nat(3),
      });
      const open =
        async () =>
        async ({ cursor, uri, method: at }: { cursor?: string | undefined; uri: string; method: number }) => {
          const requests = [
            ["skills/list", cursor === undefined ? {} : { cursor }],
            ["skills/get", { uri }],
            ["resources/read", { uri }],
            ["resources/directory/read", cursor === undefined ? { uri } : { uri, cursor }],
          ] as const;
          const [method, params] = requests[at]!;
          const { status, result, error } = await call(`/mcp/${namespace}`, method, params);
          must(status < 500, () => `${method} ${JSON.stringify(params)}: ${status}`);
          must(result !== undefined || error?.code === -32602, () => `${method} ${JSON.stringify({ params, error })}`);
          return result === undefined ? "refused" : "answered";
        };
      const counts = await runCampaign({ name: "doors", samples, open }, { seed, runs: scaled(1_000), deadlineMs });
      tell("cursors and addresses over MCP", counts);
      expect(counts["answered"]).toBeGreaterThan(0);
      expect(counts["refused"]).toBeGreaterThan(0);
    },
    timeout,
  );
});
