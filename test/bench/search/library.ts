import { packZip } from "../../../src/publish/pack.ts";
import { operator } from "../machine.ts";
import { askAgain } from "./ask-again.ts";
import { libraryOf } from "./data.ts";
import type { LabelledSkill } from "./data.ts";

/**
 * The labelled skills in the registry, published through its API as anybody would: each repository a namespace. What
 * cannot be published as it is, is mended the way the findings say or left out, and counted.
 */
export interface Library {
  /** `namespace/path` by id. */
  keyOf: Map<string, string>;
  /** Namespaces by repository. */
  namespaceOf: Map<string, string>;
  refused: number;
}

/** Skills that travel in one upload. */
const perUpload = 50;

export async function publishAll(origin: string, skills: readonly LabelledSkill[], say: (line: string) => void) {
  const library: Library = { keyOf: new Map(), namespaceOf: new Map(), refused: 0 };
  const byRepository = Map.groupBy(skills, ({ id }) => libraryOf(id));
  for (const [index, [repository, members]] of [...byRepository].entries()) {
    const namespace = `lib-${index}-${slugOf(repository)}`.slice(0, 60).replace(/-$/, "");
    library.namespaceOf.set(repository, namespace);
    await call(origin, "POST", "/namespaces", { name: namespace, visibility: "public" });
    await call(origin, "PUT", `/namespaces/${namespace}/quotas`, {
      skills: 100_000,
      bytes: null,
      publishes_a_day: 100_000,
    });
    await publishLibrary(origin, namespace, { members, library });
    say(`${namespace}: ${members.length} skills`);
  }
  return library;
}

async function publishLibrary(
  origin: string,
  namespace: string,
  { members, library }: { members: readonly LabelledSkill[]; library: Library },
): Promise<void> {
  const paths = pathsOf(members);
  const folders = Map.groupBy(members, ({ id }) => folderOf(paths.get(id)!));
  for (const [folder, siblings] of folders) {
    for (let next = 0; next < siblings.length; next += perUpload) {
      const some = siblings.slice(next, next + perUpload);
      const isIn = await upload(origin, namespace, { folder, skills: some });
      for (const skill of some) {
        const isPublished = isIn || (await upload(origin, namespace, { folder, skills: [skill] }));
        if (isPublished) library.keyOf.set(skill.id, `${namespace}/${paths.get(skill.id)!}`);
        else library.refused++;
      }
    }
  }
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** No skill lies inside another, and no two have one path. */
function pathsOf(skills: readonly LabelledSkill[]): Map<string, string> {
  const paths = new Map<string, string>();
  const taken = new Set<string>();
  for (const { id, name } of [...skills].sort((a, b) => a.id.length - b.id.length)) {
    const folders = id.split("/").slice(1, -1).map(slugOf).slice(0, 7);
    const own = [...folders, slugOf(name)].join("/");
    const isFree = !taken.has(own) && !folders.some((_, depth) => taken.has(folders.slice(0, depth + 1).join("/")));
    const path = isFree && own.length <= 200 ? own : `also-${paths.size}/${slugOf(name)}`;
    taken.add(path);
    paths.set(id, path);
  }
  return paths;
}

/** Skills of one folder; their names are the last segments of their paths. */
async function upload(
  origin: string,
  namespace: string,
  { folder, skills }: { folder: string; skills: readonly LabelledSkill[] },
): Promise<boolean> {
  const files = skills.map((skill) => ({
    path: `${slugOf(skill.name)}/SKILL.md`,
    bytes: new TextEncoder().encode(skillMdOf(skill)),
    executable: false,
  }));
  // A file beside them keeps the folder of a single skill from being stripped.
  const zip = packZip([...files, { path: "README.txt", bytes: new Uint8Array([10]), executable: false }]);
  const query = folder === "" ? "" : `?path=${folder}`;
  const response = await askAgain(`${origin}/api/v1/namespaces/${namespace}/skills${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${operator}`, "content-type": "application/zip" },
    body: zip as BodyInit,
  });
  await response.text();
  return response.status < 300;
}

function skillMdOf({ name, description, tags, body }: LabelledSkill): string {
  const short = [...description.trim()].slice(0, 1_024).join("");
  const tagged = tags.length === 0 ? "" : `tags: ${JSON.stringify(tags)}\n`;
  return `---\nname: ${slugOf(name)}\ndescription: ${JSON.stringify(short)}\n${tagged}---\n${body}`;
}

function slugOf(text: string): string {
  const slug = text
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 60)
    .replaceAll(/^-|-$/g, "");
  return slug === "" ? "x" : slug;
}

async function call(origin: string, method: string, path: string, body: unknown): Promise<void> {
  const response = await askAgain(`${origin}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${operator}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
}
