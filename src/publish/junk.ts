import { quote } from "../domain/file-path.ts";
import { fileFinding } from "../domain/finding.ts";
import type { Finding } from "../domain/finding.ts";

/**
 * What operating systems and version control leave in a folder without the author's doing. It is dropped, and said
 * so once for each kind. Every other dotfile is published: whether it should be is for the lint to say.
 */
const folders = byLowerCase("__MACOSX .git .svn .hg .Spotlight-V100 .Trashes .fseventsd $RECYCLE.BIN", "/");
const files = byLowerCase(".DS_Store Thumbs.db ehthumbs.db desktop.ini Icon\r", "");
/** AppleDouble: the resource fork that macOS writes beside a file on foreign disks and into tar archives. */
const appleDouble = "._";

/** The kind of junk that a path is, as the notice names it; undefined for what an author wrote. */
export function findJunkKind(path: string): string | undefined {
  // The disks that these names come from ignore case, and so does git about its own folder. A name that stands for a
  // folder is junk as a file too: `.git` in a worktree points to a path on the author's machine.
  const segments = path.toLowerCase().split("/");
  const folder = segments.find((segment) => folders.has(segment));
  if (folder !== undefined) return folders.get(folder);
  const name = segments.at(-1)!;
  return files.get(name) ?? (name.startsWith(appleDouble) ? `${appleDouble}*` : undefined);
}

function byLowerCase(names: string, suffix: string): ReadonlyMap<string, string> {
  return new Map(names.split(" ").map((name) => [name.toLowerCase(), name + suffix]));
}

/** Counts what was dropped. */
export class Junk {
  readonly #kinds = new Map<string, { count: number; example: string }>();

  /** True when the path was junk, which is now counted. */
  takes(path: string): boolean {
    const kind = findJunkKind(path);
    if (kind === undefined) return false;
    const seen = this.#kinds.get(kind);
    if (seen === undefined) this.#kinds.set(kind, { count: 1, example: path });
    else seen.count++;
    return true;
  }

  findings(): Finding[] {
    return [...this.#kinds].map(([kind, { count, example }]) =>
      fileFinding("notice", "junk_dropped", "", {
        message: `${count} ${count === 1 ? "file" : "files"} of the kind ${quote(kind)} left out, e.g. ${quote(example)}.`,
        fix: "Nothing to do; leave such files out of the upload to silence this.",
      }),
    );
  }
}
