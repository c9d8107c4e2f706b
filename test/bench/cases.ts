import { fire, send } from "./load.ts";
import type { Shot } from "./load.ts";
import { bare, bytesOf, createNamespace, eras, mcp, publish, textOf } from "./requests.ts";
import type { Era } from "./requests.ts";

/** One thing that is measured, and the name of the bare route that does the same storage work. */
export interface Case {
  name: string;
  bare?: string;
  /** The most that the CPU of one request may be, in times of the bare route's. */
  target?: number;
  next: () => Shot;
  /** Requests in one round. */
  count: number;
  width: number;
}

const namespace = "bench";
const reader = "reader";
const KiB = 1024;
const skillCount = 150;
const width = 16;

const files = {
  "small.md": textOf(4 * KiB),
  "large.md": textOf(KiB * KiB),
  "large.bin": bytesOf(KiB * KiB),
};

/** More small files than an isolate remembers, so that reading them in turn always goes to R2. */
const strangers = { skills: 3, files: 400 };
const strangerFile = (skill: number, file: number) => `stranger-${skill}/page-${file}.md`;

/** Everything is published through the API, as a publisher would. */
export async function seed(origin: string): Promise<void> {
  await send(origin, createNamespace(namespace));
  await send(origin, createNamespace("publishes"));
  await send(origin, publish(namespace, reader, { ...files, ...directoryFiles() }));
  for (let skill = 0; skill < strangers.skills; skill++) {
    const pages = Array.from({ length: strangers.files }, (_, file) => [
      `page-${file}.md`,
      `# ${skill} ${file}\n${files["small.md"].slice(0, -64)}`,
    ]);
    await send(origin, publish(namespace, `stranger-${skill}`, Object.fromEntries(pages) as Record<string, string>));
  }
  let index = 0;
  const next = () => publish(namespace, `skill-${String(index++).padStart(3, "0")}`, { "reference.md": "# More\n" });
  await fire(origin, next, { count: skillCount, width: 8 });
}

export function cases(): Case[] {
  return [...bareCases(), ...eras.flatMap(casesOf), publishCase()];
}

const repeat = (shot: Shot) => () => shot;

function bareCases(): Case[] {
  const question = { namespace, path: reader };
  const route = (name: string, shot: Shot, count: number) => ({ name, next: repeat(shot), count, width });
  return [
    route("constant", bare("constant"), 600),
    route("bare row", bare("row", question), 300),
    route("bare page", bare("page", question), 100),
    route("bare directory", bare("directory", question), 200),
    route("bare file 4 KiB", bare("file", { ...question, file: "small.md" }), 200),
    route("bare file 1 MiB", bare("file", { ...question, file: "large.md" }), 48),
    route("bare base64 1 MiB", bare("base64", { ...question, file: "large.bin" }), 48),
  ];
}

function casesOf(era: Era): Case[] {
  const ask = (method: string, params: Record<string, unknown>) =>
    repeat(mcp(`/mcp/${namespace}`, era, method, params));
  const uri = (file: string) => `skill://${namespace}/${reader}/${file}`;
  const read = (file: string) => ask("resources/read", { uri: uri(file) });
  const named = (name: string) => `${era} ${name}`;
  return [
    { name: named("list"), bare: "bare page", target: 2, next: ask("skills/list", {}), count: 100, width },
    {
      name: named("get"),
      bare: "bare row",
      target: 2,
      next: ask("skills/get", { uri: uri("SKILL.md") }),
      count: 200,
      width,
    },
    {
      name: named("read 4 KiB, never the same"),
      bare: "bare file 4 KiB",
      target: 2,
      next: readStrangers(era),
      count: 150,
      width,
    },
    { name: named("read 4 KiB"), bare: "bare file 4 KiB", target: 2, next: read("small.md"), count: 150, width },
    { name: named("read 1 MiB text"), bare: "bare file 1 MiB", target: 2.5, next: read("large.md"), count: 32, width },
    {
      name: named("read 1 MiB binary"),
      bare: "bare base64 1 MiB",
      target: 2.5,
      next: read("large.bin"),
      count: 32,
      width,
    },
    {
      name: named("directory"),
      bare: "bare directory",
      next: ask("resources/directory/read", { uri: uri("references") }),
      count: 150,
      width,
    },
  ];
}

/** One after the other for both eras, or one would read what the other has just made known. */
let strangersRead = 0;

function readStrangers(era: Era): () => Shot {
  return () => {
    const index = strangersRead++;
    const [skill, file] = [index % strangers.skills, Math.floor(index / strangers.skills) % strangers.files];
    const uri = `skill://${namespace}/${strangerFile(skill, file)}`;
    return mcp(`/mcp/${namespace}`, era, "resources/read", { uri });
  };
}

/** Fifty files that nobody has published before. */
function publishCase(): Case {
  let index = 0;
  const next = () => {
    const number = ++index;
    const names = Array.from({ length: 49 }, (_, file) => `references/file-${file}.md`);
    const fresh = names.map((name) => [name, `# ${name} of ${number}\n`] as const);
    return publish("publishes", `skill-${number}`, Object.fromEntries(fresh));
  };
  return { name: "publish of 50 files", next, count: 4, width: 2 };
}

function directoryFiles(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`references/page-${index}.md`, `# ${index}\n`]));
}
