import { fileFinding } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { maxPathBytes, maxPathDepth } from "./limits.ts";
import { isVersion } from "./version.ts";

/**
 * Where a file may lie inside its skill's folder. A path is refused when some client's disk could not hold it, could
 * hold it elsewhere, or could not tell it from another one. Nothing is repaired here: a path is part of what the
 * author publishes. Spaces, emoji, CJK, accents and `% # ? & @ ( )` are ordinary.
 */
interface Rule {
  code: string;
  fix: string;
  /** What is wrong, as a sentence; undefined when the rule is kept. */
  breach: (path: string, segments: readonly string[]) => string | undefined;
}

// C0, DEL and C1: invisible in every list, and line breaks to some readers.
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f-\u009f]/u;
// Windows opens a device under these names, whatever extension or trailing spaces follow, in any folder.
const device = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?:\.|$)/iu;
const utf8 = new TextEncoder();

const rules: readonly Rule[] = [
  {
    code: "path_too_long",
    fix: `Shorten the path to at most ${maxPathBytes} bytes.`,
    breach: (path) => {
      const bytes = utf8.encode(path).length;
      if (bytes <= maxPathBytes) return undefined;
      return `The path has ${bytes} bytes in UTF-8; the limit is ${maxPathBytes} bytes (maxPathBytes).`;
    },
  },
  {
    code: "path_too_deep",
    fix: `Move the file up, so that its path has at most ${maxPathDepth} segments.`,
    breach: (_, { length }) =>
      length <= maxPathDepth
        ? undefined
        : `The path has ${length} segments; the limit is ${maxPathDepth} segments, the file's name included (maxPathDepth).`,
  },
  {
    code: "path_not_unicode",
    fix: "Give the file a name in UTF-8; an older zip tool writes another encoding, so send a .tar.gz instead.",
    breach: (path) =>
      path.isWellFormed() && !path.includes("\u{fffd}")
        ? undefined
        : "The name is not valid Unicode, or was damaged when it was decoded (it holds U+FFFD or half a character).",
  },
  {
    code: "path_not_nfc",
    fix: "Rename the file to the same name in Unicode normalization form NFC.",
    breach: (path) =>
      path.normalize("NFC") === path
        ? undefined
        : "The name is not in Unicode normalization form NFC, so systems that normalize names would not find it.",
  },
  {
    code: "path_absolute",
    fix: "Name the file relative to the skill's folder.",
    breach: (path) =>
      /^(?:\/|[a-z]:)/iu.test(path) ? `The path starts at the root of a disk: ${quote(path)}.` : undefined,
  },
  {
    code: "path_backslash",
    fix: 'Put "/" between folders; tools that write "\\" into archives are old, so make it with tar or a current zip.',
    breach: (path) =>
      path.includes("\\") ? 'The path has a "\\", which separates folders on some systems only.' : undefined,
  },
  {
    code: "path_quote",
    fix: "Rename the file without the double quote.",
    breach: (path) =>
      path.includes('"') ? "The name has a double quote, which Windows and HTTP forms cannot carry." : undefined,
  },
  {
    code: "path_control_character",
    fix: "Rename the file without control characters.",
    breach: (path) => {
      const found = control.exec(path)?.[0].codePointAt(0);
      return found === undefined ? undefined : `The name has the control character ${codePoint(found)}.`;
    },
  },
  {
    code: "path_empty_segment",
    fix: 'Leave one "/" between names, and none at the end.',
    breach: (path, segments) => {
      if (path === "") return "The file has no name.";
      const inner = path.startsWith("/") ? segments.slice(1) : segments;
      return inner.includes("") ? 'The path has an empty segment ("//" or a "/" at its end).' : undefined;
    },
  },
  {
    code: "path_dot_segment",
    fix: "Name the file by the folders that it lies in, inside the skill's folder.",
    breach: (_, segments) =>
      segments.some((segment) => segment === "." || segment === "..")
        ? 'The path has a segment "." or "..", which could lead out of the skill\'s folder.'
        : undefined,
  },
  {
    code: "path_trailing_dot_or_space",
    fix: "Rename the file or folder without the dot or space at its end.",
    breach: (_, segments) => {
      const found = segments.find((segment) => /[. ]$/u.test(segment) && segment !== "." && segment !== "..");
      return found === undefined ? undefined : `${quote(found)} ends in a dot or space, which Windows removes.`;
    },
  },
  {
    code: "path_device_name",
    fix: "Rename the file or folder.",
    breach: (_, segments) => {
      const found = segments.find((segment) => device.test(segment));
      return found === undefined ? undefined : `${quote(found)} names a device on Windows, not a file.`;
    },
  },
  {
    code: "path_reads_as_version",
    fix: 'Rename the folder, e.g. without the "@".',
    breach: (_, segments) => {
      const found = segments.slice(0, -1).find((segment) => segment.startsWith("@") && isVersion(segment.slice(1)));
      return found === undefined ? undefined : `A folder ${quote(found)} would be read as a pinned release.`;
    },
  },
];

/** Every rule that one path breaks. */
export function pathFindings(path: string): Finding[] {
  const segments = path.split("/");
  return rules.flatMap(({ code, fix, breach }) => {
    const message = breach(path, segments);
    if (message === undefined) return [];
    const finding = fileFinding("error", code, clip(path), { message, fix });
    return [code === "path_not_nfc" ? { ...finding, fixed: path.normalize("NFC") } : finding];
  });
}

/** What the paths of one skill break together: each may be fine alone. */
export function pathSetFindings(paths: readonly string[]): Finding[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(path, (counts.get(path) ?? 0) + 1);
  const distinct = [...counts.keys()];
  const folded = new Map<string, string>();
  for (const path of distinct) if (!folded.has(fold(path))) folded.set(fold(path), path);
  return [...duplicates(counts), ...collisions(distinct, folded), ...filesAsFolders(distinct, folded)];
}

function duplicates(counts: ReadonlyMap<string, number>): Finding[] {
  const repeated = [...counts].filter(([, count]) => count > 1);
  return repeated.map(([path, count]) =>
    fileFinding("error", "path_duplicate", clip(path), {
      message: `The upload holds this path ${count} times, and tools differ about which one counts.`,
      fix: "Send the file once.",
    }),
  );
}

function collisions(distinct: readonly string[], folded: ReadonlyMap<string, string>): Finding[] {
  return distinct.flatMap((path) => {
    const first = folded.get(fold(path))!;
    if (first === path) return [];
    const message = `${quote(path)} and ${quote(first)} are one file on Windows and macOS, where case does not count.`;
    return [
      fileFinding("error", "path_collision", clip(path), { message, fix: "Rename or remove one of the two files." }),
    ];
  });
}

function filesAsFolders(distinct: readonly string[], folded: ReadonlyMap<string, string>): Finding[] {
  const inside = new Map<string, string>();
  for (const path of distinct) {
    // An overlong path is refused anyway, and could have thousands of ancestors.
    if (path.length > maxPathBytes) continue;
    for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) {
      const file = folded.get(fold(path.slice(0, slash)));
      if (file !== undefined && !inside.has(file)) inside.set(file, path);
    }
  }
  return [...inside].map(([file, path]) =>
    fileFinding("error", "path_file_and_folder", clip(file), {
      message: `${quote(file)} is a file, and ${quote(path)} needs a folder of that name.`,
      fix: "Rename the file or the folder.",
    }),
  );
}

/** Equal for names that a disk which ignores case or normalizes Unicode takes for one: upper case first, for ß and ſ. */
function fold(path: string): string {
  return path.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}

/** A path as an answer shows it: hostile names have 65,535 bytes, and there may be hundreds. */
export function clip(path: string): string {
  return path.length <= maxPathBytes ? path : `${path.slice(0, maxPathBytes).toWellFormed()}…`;
}

/** In quotes, with what is invisible escaped. */
export function quote(name: string): string {
  return JSON.stringify(clip(name));
}

function codePoint(value: number): string {
  return `U+${value.toString(16).toUpperCase().padStart(4, "0")}`;
}
