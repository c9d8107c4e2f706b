import fc from "fast-check";

import { decodeLossless } from "../../src/domain/media-type.ts";

/**
 * A campaign: one property over samples without end. It needs nothing but the language and the Web's own interfaces,
 * so that the same code runs inside workerd as a test and in Node for hours.
 */
export interface Campaign<Sample> {
  name: string;
  samples: fc.Arbitrary<Sample>;
  /** Made once a run; throws at a counterexample, else says in a word how the sample fared. */
  open: () => Promise<(sample: Sample) => Promise<string> | string>;
  /** The milliseconds spent so far by the judge, which are not ours. */
  judgedMs?: () => number;
}

export interface Run {
  seed: number;
  runs: number;
  /** A sample that takes us longer is a counterexample: somebody could make us work for nothing. */
  deadlineMs: number;
  /** Told before each sample, for whoever watches from outside whether one never ends. */
  onSample?: () => void;
}

export type Counts = Record<string, number>;

/**
 * @returns how many samples fared how
 * @throws with the seed and the smallest counterexample that fast-check can find
 */
export async function runCampaign<Sample>(campaign: Campaign<Sample>, run: Run): Promise<Counts> {
  const check = await campaign.open();
  const counts: Counts = {};
  const property = fc.asyncProperty(campaign.samples, async (sample) => {
    run.onSample?.();
    const ours = () => performance.now() - (campaign.judgedMs?.() ?? 0);
    const start = ours();
    const fared = await check(sample);
    const ms = ours() - start;
    if (ms > run.deadlineMs) throw new Error(`it took ${Math.round(ms)} ms of ${run.deadlineMs}`);
    counts[fared] = (counts[fared] ?? 0) + 1;
  });
  const report = await fc.check(property, { seed: run.seed, numRuns: run.runs });
  if (!report.failed) return counts;
  const error = report.errorInstance instanceof Error ? report.errorInstance : new Error(String(report.errorInstance));
  const lines = [
    `${campaign.name}, seed ${run.seed}, sample ${report.numRuns} (path ${report.counterexamplePath}): ${error.message}`,
    `smallest sample: ${show(report.counterexample?.[0])}`,
  ];
  throw new Error(lines.join("\n"), { cause: error });
}

const maxShown = 8_000;

/** JSON, in which bytes that are text are shown as text. */
export function show(sample: unknown): string {
  const text = JSON.stringify(sample, (_, value: unknown) => {
    if (!(value instanceof Uint8Array)) return value;
    return decodeLossless(value) ?? { bytes: [...value.subarray(0, 1_000)].join(" ") };
  });
  return text.length <= maxShown ? text : `${text.slice(0, maxShown)}…`;
}
