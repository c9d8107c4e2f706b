import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { app } from "../../src/app.ts";
import { digestOf, hexOf } from "../../src/domain/digest.ts";
import { packZip } from "../../src/publish/pack.ts";
import { api, newNamespace, newToken, publish, seedSkill, skillMdOf, toFiles } from "../harness.ts";
import { ask, requestOf, withoutNames } from "./answers.ts";
import type { Attempt, Seen } from "./answers.ts";
import { eras, message } from "./methods.ts";
import { recorded } from "./recorder.ts";

/** Bytes are stored once for all tenants; nobody learns of another's by their digest, or by having the same bytes. */
const secretText = "The launch codes of the other tenant\n";
let secret: string;
let theirs: string;
let mine: string;
let publisher: string;

const bytesOf = (text: string) => new TextEncoder().encode(text);
const json = { "content-type": "application/json" };

beforeAll(async () => {
  [theirs, mine] = [await newNamespace("private"), await newNamespace()];
  await seedSkill(theirs, "their-skill", { "notes/codes.txt": secretText });
  await seedSkill(mine, "my-skill");
  publisher = await newToken(mine, "publisher");
  await api("GET", "/me", undefined, publisher);
  secret = hexOf(await digestOf(bytesOf(secretText)));
});

function upload(namespace: string, files: Record<string, string>, query = ""): Attempt {
  const path = `/api/v1/namespaces/${namespace}/skills${query}`;
  return { method: "POST", path, headers: { "content-type": "application/zip" }, body: packZip(toFiles(files)) };
}

/** What differs between two uploads of different bytes on its own account. */
function comparable(seen: Seen, hex: Record<string, string>): string {
  const text = withoutNames(seen, hex);
  return text
    .replaceAll(/sha256:[0-9a-f]{64}/g, "<digest>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/(token:)[0-9a-f]{16}/g, "$1<id>")
    .replaceAll(/"size":\d+/g, '"size":<size>');
}

describe("naming the digest of another tenant's private file", () => {
  const random = "5a".repeat(32);
  const everywhere: [string, (hex: string) => Attempt][] = [
    ["at /blobs", (hex) => ({ method: "GET", path: `/blobs/sha256/${hex}` })],
    ["at /blobs with HEAD", (hex) => ({ method: "HEAD", path: `/blobs/sha256/${hex}` })],
    [
      "at /blobs as what one has already",
      (hex) => ({ method: "GET", path: `/blobs/sha256/${hex}`, headers: { "if-none-match": `"sha256:${hex}"` } }),
    ],
    ["with a range", (hex) => ({ method: "GET", path: `/blobs/sha256/${hex}`, headers: { range: "bytes=0-3" } })],
    [
      "as a file's name",
      (hex) => ({
        method: "GET",
        path: `/api/v1/namespaces/${mine}/skills/my-skill/-/releases/current/files/sha256:${hex}`,
      }),
    ],
    [
      "as a version",
      (hex) => ({ method: "GET", path: `/api/v1/namespaces/${mine}/skills/my-skill/-/releases/sha256:${hex}` }),
    ],
    [
      "as a manifest to publish",
      (hex) => ({
        method: "POST",
        path: `/api/v1/namespaces/${mine}/skills`,
        headers: json,
        body: JSON.stringify({ files: [{ file: "SKILL.md", digest: `sha256:${hex}` }] }),
      }),
    ],
    ...eras.map((era): [string, (hex: string) => Attempt] => [
      `as a resource in ${era}`,
      (hex) => message(`/mcp/${mine}`, era, "resources/read", { uri: `sha256:${hex}` }),
    ]),
  ];

  it.each(everywhere)("%s is answered like a random digest, to everybody and at the same price", async (_, at) => {
    const owner = await newToken(theirs, "admin");
    await api("GET", "/me", undefined, owner);
    for (const token of [undefined, publisher, owner]) {
      const [known, unknown] = [await ask(at(secret), token), await ask(at(random), token)];
      expect(withoutNames(known, { secret })).toBe(withoutNames(unknown, { secret: random }));
      expect(known.calls).toEqual(unknown.calls);
      expect(known.status >= 400 || known.body.includes('"error"')).toBe(true);
    }
  });
});

describe("bytes that another tenant has already", () => {
  /** Two skills of one shape: one holds the other tenant's bytes, the other bytes that nobody has. */
  const shaped = (name: string, text: string) => ({
    "SKILL.md": skillMdOf(name),
    "codes.txt": text,
  });

  it("are published like bytes that nobody has: the same answer, after the same calls", async () => {
    const novel = secretText.replace("launch", "lunch!");
    expect(novel).toHaveLength(secretText.length);
    const known = await ask(upload(mine, shaped("skill-aaa", secretText)), publisher);
    const fresh = await ask(upload(mine, shaped("skill-bbb", novel)), publisher);
    expect(known.status).toBe(201);
    expect(comparable(known, { name: "skill-aaa" })).toBe(comparable(fresh, { name: "skill-bbb" }));
    expect(known.calls).toEqual(fresh.calls);
    expect(known.calls.filter((call) => call === "r2 put")).toHaveLength(4);
  });

  it("cost the same when a whole skill, with its archives, is another tenant's", async () => {
    const files = { "SKILL.md": skillMdOf("their-skill"), "notes/codes.txt": secretText };
    const other = { "SKILL.md": skillMdOf("nobodys-skill"), "notes/codes.txt": `${secretText}!` };
    const another = await newNamespace();
    const token = await newToken(another, "publisher");
    await api("GET", "/me", undefined, token);
    const known = await ask(upload(another, files), token);
    const fresh = await ask(upload(another, other), token);
    expect([known.status, fresh.status]).toEqual([201, 201]);
    expect(known.calls).toEqual(fresh.calls);
  });

  it("are told by no dry run", async () => {
    const known = await ask(upload(mine, shaped("skill-ccc", secretText), "?dry_run=true"), publisher);
    const fresh = await ask(upload(mine, shaped("skill-ddd", "nothing alike\n"), "?dry_run=true"), publisher);
    expect(known.calls).toEqual(fresh.calls);
    expect(comparable(known, { name: "skill-ccc" })).toBe(comparable(fresh, { name: "skill-ddd" }));
  });

  it("are not sent again by a namespace that holds them itself", async () => {
    await seedSkill(mine, "held-once", { "large.txt": "held by this namespace\n" });
    const files = { "SKILL.md": skillMdOf("held-twice"), "large.txt": "held by this namespace\n" };
    const again = await ask(upload(mine, files), publisher);
    // SKILL.md and the two archives are new.
    expect(again.calls.filter((call) => call === "r2 put")).toHaveLength(3);
  });

  it("are read at the same price as bytes of one's own, when the other tenant has just read theirs", async () => {
    const reader = await newToken(theirs, "reader");
    await api("GET", "/me", undefined, reader);
    // One isolate that serves both, with its memory.
    const { bindings, calls } = recorded();
    const read = async (namespace: string, file: string, token?: string) => {
      calls.length = 0;
      const reads = readsOf(namespace, file).map(async (one) =>
        (await app.fetch(requestOf(one, token), bindings)).text(),
      );
      const texts = await Promise.all(reads);
      return { calls: [...calls].sort(), texts };
    };
    const other = await read(theirs, "their-skill/notes/codes.txt", reader);
    expect(other.texts.every((text) => text.includes("launch codes"))).toBe(true);
    const known = await read(mine, "skill-aaa/codes.txt", publisher);
    const fresh = await read(mine, "skill-bbb/codes.txt", publisher);
    expect(known.texts.every((text) => text.includes("launch codes"))).toBe(true);
    expect(known.calls).toEqual(fresh.calls);
    expect(known.calls.filter((call) => call.startsWith("r2"))).not.toEqual([]);
  });

  const readsOf = (namespace: string, file: string): Attempt[] => {
    const uri = `skill://${namespace}/${file}`;
    return eras.flatMap((era) => [
      message(`/mcp/${namespace}`, era, "resources/read", { uri }),
      message(`/mcp/${namespace}`, era, "tools/call", { name: "read_skill_file", arguments: { uri } }),
    ]);
  };
});

describe("a release", () => {
  it("links no bytes that its upload did not send", async () => {
    const listing = `${secret}  codes.txt\n`;
    const files = {
      "SKILL.md": skillMdOf("claims", "Claims another's bytes", `[codes](sha256:${secret})\n`),
      "manifest.json": JSON.stringify({ files: [{ file: "codes.txt", digest: `sha256:${secret}` }] }),
      SHA256SUMS: listing,
      "codes.link": `/blobs/sha256/${secret}`,
    };
    const { status } = await publish(mine, files, "?path=claims");
    expect(status).toBe(201);
    const sent = new Set(await Promise.all(Object.values(files).map(async (text) => digestOf(bytesOf(text)))));
    const { results } = await env.DB.prepare(
      `SELECT digest FROM release_files WHERE namespace = ?1 AND path = 'claims'`,
    )
      .bind(mine)
      .all<{ digest: string }>();
    expect(results.map(({ digest }) => digest).filter((digest) => !sent.has(digest as never))).toEqual([]);
    expect(results).toHaveLength(4);
  });
});
