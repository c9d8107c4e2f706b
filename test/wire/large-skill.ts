import { maxFilesPerSkill, maxSkillBytes } from "../../src/domain/limits.ts";
import { noise, seededRandom } from "./generated-skills.ts";
import type { SourceSkill } from "./generated-skills.ts";

/**
 * The largest skill that the extension allows: exactly 512 files and exactly 16 MiB, most of it bytes that no
 * compressor can shrink, with one file that alone takes a quarter.
 */
export function largeSkill(): SourceSkill {
  const random = seededRandom(16);
  const main = new TextEncoder().encode(
    "---\nname: large\ndescription: The largest skill there can be\n---\n# Large\n",
  );
  const bigBytes = 4 * 1024 * 1024;
  const others = maxFilesPerSkill - 2;
  const rest = maxSkillBytes - main.length - bigBytes;
  const share = Math.floor(rest / others);
  const files = Array.from({ length: others }, (_, index) => ({
    path: `data/part-${index % 16}/file ${index}.${index % 2 === 0 ? "bin" : "txt"}`,
    bytes: index % 2 === 0 ? noise(sizeOf(index), random) : words(sizeOf(index), random),
  }));
  /** What does not divide evenly goes to the first. */
  function sizeOf(index: number): number {
    return index === 0 ? rest - share * (others - 1) : share;
  }
  return {
    path: "large",
    files: [{ path: "SKILL.md", bytes: main }, { path: "big.bin", bytes: noise(bigBytes, random) }, ...files],
  };
}

function words(length: number, random: () => number): Uint8Array {
  return Uint8Array.from({ length }, () => 97 + Math.floor(random() * 26));
}
