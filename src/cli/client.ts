import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";

import type { SkillFile } from "../domain/entry.ts";
import type { Finding } from "../domain/finding.ts";
import { packZip } from "../publish/pack.ts";

/** The publisher API from the command line: a client like any other, which knows nothing of the stores. */
export interface PublishAnswer {
  status: number;
  version?: string;
  findings: Finding[];
  detail?: string;
}

export class ApiClient {
  readonly #origin: string;
  readonly #token: string;

  constructor(origin: string, token: string) {
    this.#origin = origin;
    this.#token = token;
  }

  /** False when the namespace was there already. */
  async createNamespace(namespace: { name: string; title?: string; visibility?: string }): Promise<boolean> {
    const response = await this.#send("POST", "/api/v1/namespaces", {
      type: "application/json",
      bytes: JSON.stringify(namespace),
    });
    const answer = await response.text();
    if (response.status === 201) return true;
    if (response.status === 409 && answer.includes('"namespace_exists"')) return false;
    throw new Error(`The namespace "${namespace.name}" was refused: ${response.status} ${answer}`);
  }

  /** A collection that exists already stays as it is. */
  async createCollection(namespace: string, name: string, content: Record<string, unknown>): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/collections/${name}`;
    const body = { type: "application/json", bytes: JSON.stringify(content) };
    const response = await this.#send("PUT", path, body, { "if-match": '"0"' });
    if (response.ok || response.status === 409) return;
    throw new Error(`The collection "${name}" was refused: ${response.status} ${await response.text()}`);
  }

  /** Publishes one folder; its files go as a zip, so that executable bits survive. */
  async publishFolder(namespace: string, folder: string): Promise<PublishAnswer> {
    const files = await readFolder(folder);
    const wrapped = files.map((file) => ({ ...file, path: `${basename(folder)}/${file.path}` }));
    const response = await this.#send("POST", `/api/v1/namespaces/${namespace}/skills`, {
      type: "application/zip",
      bytes: packZip(wrapped),
    });
    const body = (await response.json()) as {
      release?: { version: string };
      findings?: Finding[];
      detail?: string;
    };
    return {
      status: response.status,
      findings: body.findings ?? [],
      ...(body.release === undefined ? {} : { version: body.release.version }),
      ...(body.detail === undefined ? {} : { detail: body.detail }),
    };
  }

  /** One step of a rebuild; the first without a cursor. */
  async rebuildSearchIndex(cursor: string | null): Promise<{ step: string; next_cursor: string | null }> {
    const body = { type: "application/json", bytes: JSON.stringify({ cursor }) };
    const response = await this.#send("POST", "/api/v1/search-index/rebuild", body);
    if (!response.ok) throw new Error(`The rebuild was refused: ${response.status} ${await response.text()}`);
    return (await response.json()) as { step: string; next_cursor: string | null };
  }

  #send(
    method: string,
    path: string,
    body: { type: string; bytes: string | Uint8Array },
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(this.#origin + path, {
      method,
      headers: { ...headers, authorization: `Bearer ${this.#token}`, "content-type": body.type },
      body: body.bytes as BodyInit,
    });
  }
}

/** Every regular file below a folder; links are refused, because what they point to is not part of the folder. */
export async function readFolder(folder: string, prefix = ""): Promise<SkillFile[]> {
  const files: SkillFile[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const [path, onDisk] = [prefix + name, join(folder, name)];
    const facts = await lstat(onDisk);
    if (facts.isDirectory()) files.push(...(await readFolder(onDisk, `${path}/`)));
    else if (facts.isFile()) {
      files.push({ path, bytes: new Uint8Array(await readFile(onDisk)), executable: (facts.mode & 0o111) !== 0 });
    } else throw new Error(`${onDisk} is neither a file nor a folder; replace it by a copy of what it points to`);
  }
  return files;
}
