import type { Skill } from "@modelcontextprotocol/server/ext/skills";

import type { HeldFile } from "./files.ts";
import { entryAt, fileUri } from "./held-skill.ts";
import type { HeldSkill } from "./held-skill.ts";

/** What `resources/list` and `resources/directory/read` say of a file or folder. */
export interface Listed {
  uri: string;
  name: string;
  description?: string;
  mimeType?: string;
  size?: number;
  annotations?: { audience: ("assistant" | "user")[] };
}

/** One state of a collection, laid out by address. It never changes: a refresh puts another one in its place. */
export class Shelf {
  readonly skills: readonly HeldSkill[];
  readonly #entries = new Map<string, Skill>();
  readonly #files = new Map<string, { skill: HeldSkill; file: HeldFile }>();
  readonly #folders = new Map<string, Map<string, Listed>>();

  constructor(skills: readonly HeldSkill[]) {
    this.skills = skills;
    for (const skill of skills) for (const root of skill.roots) this.#add(skill, root);
  }

  #add(skill: HeldSkill, root: string): void {
    const entry = root === skill.roots[0] ? skill.entry : entryAt(skill, root);
    this.#entries.set(entry.uri, entry);
    for (const file of skill.files) {
      this.#files.set(fileUri(root, file.file), { skill, file });
      this.#addToFolders(root, file);
    }
  }

  #addToFolders(root: string, { file, mediaType, size }: HeldFile): void {
    const segments = file.split("/");
    for (let depth = 0; depth < segments.length; depth++) {
      const folder = depth === 0 ? root : fileUri(root, segments.slice(0, depth).join("/"));
      const uri = fileUri(root, segments.slice(0, depth + 1).join("/"));
      const isFile = depth === segments.length - 1;
      const kind = isFile ? { ...mimeTypeOf(mediaType), size } : { mimeType: "inode/directory" };
      const children = this.#folders.get(folder) ?? new Map<string, Listed>();
      this.#folders.set(folder, children.set(uri, { uri, name: segments[depth]!, ...kind }));
    }
  }

  /** The entry under exactly this address: the one that is listed, or the pinned one of the same release. */
  entry(uri: string): Skill | undefined {
    return this.#entries.get(uri);
  }

  file(uri: string): { skill: HeldSkill; file: HeldFile } | undefined {
    return this.#files.get(uri);
  }

  folder(uri: string): Listed[] | undefined {
    const children = this.#folders.get(uri);
    return children && [...children.values()].sort((a, b) => (a.uri < b.uri ? -1 : 1));
  }

  /** The SKILL.md of each skill, for hosts without the Skills extension. */
  resources(): Listed[] {
    return this.skills.map(({ entry, files }) => ({
      uri: entry.uri,
      name: entry.frontmatter.name,
      description: entry.frontmatter.description,
      mimeType: "text/markdown",
      size: files.find(({ file }) => file === "SKILL.md")!.size,
      annotations: { audience: ["assistant"] },
    }));
  }
}

function mimeTypeOf(mimeType: string | undefined): { mimeType?: string } {
  return mimeType === undefined ? {} : { mimeType };
}
