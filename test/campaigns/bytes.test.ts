import { gunzipSync, unzipSync } from "fflate";
import { unpackTar } from "modern-tar";
import { beforeAll, describe, expect, it } from "vitest";

import type { SkillFile } from "../../src/domain/entry.ts";
import { encodeSegment } from "../../src/domain/uri.ts";
import { api, eras, newNamespace, operator, send, skillMdOf, upload } from "../harness.ts";
import { bytesOf, concat, noise } from "../publish/bytes.ts";
import { packAs } from "./containers.ts";

const mark = Uint8Array.of(0xef, 0xbb, 0xbf);
const name = "odd-bytes";

/** What an editor or a server would like to change, by what it is. */
const contents: Record<string, Uint8Array> = {
  "a byte order mark": concat(mark, bytesOf("# x\n")),
  "CRLF line ends": bytesOf("a\r\nb\r\n\r\n"),
  "UTF-16": Uint8Array.of(0xff, 0xfe, 0x61, 0, 0x0a, 0, 0x2d, 0x4e),
  NULs: bytesOf("a\0b\0"),
  "zero bytes": new Uint8Array(),
  "bytes that are no text": Uint8Array.of(0xc3, 0x28, 0xa0, 0xff, 0xed, 0xa0, 0x80),
  "every byte": Uint8Array.from({ length: 256 }, (_, byte) => byte),
  "bytes that no compressor shrinks": noise(70_000),
};
const names: Record<string, string> = {
  "an emoji": "🎉 👩‍💻.md",
  "a space": "a b/c d.md",
  "a %": "100%.md",
  "what looks like an escape": "%20%2F.md",
  "a #": "h#1.md",
  "a ?": "q?.md",
  "an &": "a&b.md",
  "an @": "@home.md",
  "a folder with an @": "@1.0/x.md",
  "a (": "(x) [y] {z}.md",
  CJK: "日本語/手引き.md",
  accents: "caf\u00e9.md",
  "a semicolon": "semi;colon=1,2.md",
  "an apostrophe": "it's.md",
  "the name of every object": "__proto__",
  "nothing but a number": "1",
  "a dot in front": ".hidden/..three",
};

const files: SkillFile[] = [
  { path: "SKILL.md", bytes: concat(mark, bytesOf(skillMdOf(name).replaceAll("\n", "\r\n"))) },
  { path: "scripts/run.sh", bytes: bytesOf("#!/bin/sh\n"), executable: true },
  { path: "scripts/read.sh", bytes: bytesOf("#!/bin/sh\n"), executable: false },
  ...Object.entries(contents).map(([what, bytes]) => ({ path: `contents/${what}`, bytes })),
  ...Object.values(names).map((path, at) => ({ path, bytes: bytesOf(`file ${at}\n`) })),
];

/** Path → bytes in a form whose difference a test can show. */
type Shown = Record<string, string>;
const show = (all: Iterable<readonly [string, Uint8Array]>): Shown =>
  Object.fromEntries([...all].map(([path, bytes]) => [`/${path}`, latin1(bytes)]));
const latin1 = (bytes: Uint8Array) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
const sent = show(files.map(({ path, bytes }) => [path, bytes]));
const executables = (all: Iterable<readonly [string, number]>) =>
  [...all].filter(([, mode]) => (mode & 0o111) !== 0).map(([path]) => path);

async function download(path: string): Promise<Uint8Array> {
  const response = await send(path, { headers: { authorization: `Bearer ${operator}` } });
  expect(response.status, path).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
}

/** The form as the platform's own client writes it, the archives as our packer does. */
async function sendAs(intake: "zip" | "tar.gz" | "form", namespace: string) {
  if (intake !== "form") {
    const { contentType, bytes } = await packAs(intake, files);
    return upload(namespace, bytes, contentType);
  }
  const form = new FormData();
  for (const { path, bytes } of files) form.append("files", new File([bytes as Uint8Array<ArrayBuffer>], path), path);
  return upload(namespace, form, undefined);
}

const asArchive = { zip: "archive.zip", "tar.gz": "archive.tar.gz" } as const;
type ArchiveKind = keyof typeof asArchive;

/** Read by other people's readers; fflate loses a file of the name `__proto__`, so zips are read by their directory. */
async function unpack(kind: ArchiveKind, archive: Uint8Array): Promise<{ shown: Shown; executables: string[] }> {
  if (kind === "zip") {
    const directory = readDirectory(archive);
    const unpacked = new Map(Object.entries(unzipSync(archive)));
    const shown = show(directory.map(({ path }) => [path, unpacked.get(path) ?? bytesOf(fileNamedProto)]));
    return { shown, executables: executables(directory.map(({ path, mode }) => [path, mode])) };
  }
  const entries = await unpackTar(gunzipSync(archive), { strict: true });
  return {
    shown: show(entries.map(({ header, data }) => [header.name, data ?? new Uint8Array()])),
    executables: executables(entries.map(({ header }) => [header.name, header.mode ?? 0])),
  };
}

const fileNamedProto = latin1(files.find(({ path }) => path === "__proto__")!.bytes);

/** Names and modes of a zip's central directory. */
function readDirectory(archive: Uint8Array): { path: string; mode: number }[] {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  const end = archive.length - 22;
  const found: { path: string; mode: number }[] = [];
  for (let at = view.getUint32(end + 16, true); at < end;) {
    const length = view.getUint16(at + 28, true);
    const path = new TextDecoder().decode(archive.subarray(at + 46, at + 46 + length));
    found.push({ path, mode: view.getUint32(at + 38, true) >>> 16 });
    at += 46 + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return found;
}

describe.each(["zip", "tar.gz", "form"] as const)("sent as %s, every odd name and byte", (intake) => {
  let namespace: string;
  let release: string;

  beforeAll(async () => {
    namespace = await newNamespace();
    const { status, body } = await sendAs(intake, namespace);
    expect(status, JSON.stringify(body)).toBe(201);
    release = `/api/v1/namespaces/${namespace}/skills/${name}/-/releases/1.0.0`;
  });

  it.each(eras)("comes out as it went in over MCP %s, moving and pinned", async (_, call) => {
    for (const root of [`skill://${namespace}/${name}`, `skill://${namespace}/@1.0.0/${name}`]) {
      const { result } = await call(`/mcp/${namespace}`, "skills/get", { uri: `${root}/SKILL.md` });
      const { resources } = (result as { skill: { resources: { uri: string }[] } }).skill;
      const read = resources.map(async ({ uri }) => {
        const answer = await call(`/mcp/${namespace}`, "resources/read", { uri });
        const [content] = answer.result!["contents"] as { text?: string; blob?: string }[];
        const { text, blob } = content!;
        const path = uri
          .slice(root.length + 1)
          .split("/")
          .map(decodeURIComponent)
          .join("/");
        return [path, text === undefined ? base64(blob!) : bytesOf(text)] as const;
      });
      expect(show(await Promise.all(read))).toEqual(sent);
    }
  });

  it.each([
    ["every reserved character escaped", encodeURIComponent],
    ["the spelling of its address", encodeSegment],
  ])("comes out as it went in over HTTP, file by file, with %s", async (_, encode) => {
    const manifest = await api("GET", `${release.slice("/api/v1".length)}/manifest`);
    const paths = (manifest.body["files"] as { file: string }[]).map(({ file }) => file);
    const read = paths.map(async (path) => {
      const spelt = path.split("/").map(encode).join("/");
      return [path, await download(`${release}/files/${spelt}`)] as const;
    });
    expect(show(await Promise.all(read))).toEqual(sent);
  });

  it.each(["zip", "tar.gz"] as const)("comes out as it went in over HTTP, as a whole %s", async (kind) => {
    const { shown } = await unpack(kind, await download(`${release}/${asArchive[kind]}`));
    expect(shown).toEqual(sent);
  });
});

describe.each(["zip", "tar.gz"] as const)("the executable bit of a %s", (intake) => {
  let namespace: string;
  const release = () => `/api/v1/namespaces/${namespace}/skills/${name}/-/releases/1.0.0`;

  beforeAll(async () => {
    namespace = await newNamespace();
    expect((await sendAs(intake, namespace)).status).toBe(201);
  });

  it.each(["zip", "tar.gz"] as const)("comes out in a %s", async (kind) => {
    const archive = await download(`${release()}/${asArchive[kind]}`);
    expect((await unpack(kind, archive)).executables).toEqual(["scripts/run.sh"]);
  });

  it.each(["zip", "tar.gz"] as const)("survives that the downloaded %s is published again", async (kind) => {
    const archive = await download(`${release()}/${asArchive[kind]}`);
    const contentType = kind === "zip" ? "application/zip" : "application/gzip";
    const again = await upload(namespace, archive, contentType);
    expect([again.status, again.body["changed"]]).toEqual([200, false]);
    const elsewhere = await newNamespace();
    expect((await upload(elsewhere, archive, contentType)).status).toBe(201);
    const copy = `/api/v1/namespaces/${elsewhere}/skills/${name}/-/releases/1.0.0/${asArchive[kind]}`;
    expect(latin1(await download(copy))).toBe(latin1(archive));
  });
});

function base64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.codePointAt(0)!);
}
