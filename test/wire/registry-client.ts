import { setTimeout } from "node:timers/promises";

import type { SkillFile } from "../../src/domain/entry.ts";
import { packTarGz, packZip } from "../../src/publish/pack.ts";
import type { SourceSkill } from "./generated-skills.ts";

/** The publisher API as the tests on the wire use it: all three forms of an upload, and tokens. */
export type UploadForm = "zip" | "tar.gz" | "form";

const noticeMs = 5;

export class RegistryClient {
  readonly #origin: string;
  readonly #token: string;

  constructor(origin: string, token: string) {
    this.#origin = origin;
    this.#token = token;
  }

  async json(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(`${this.#origin}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async createNamespace(name: string, visibility: "public" | "private" = "public"): Promise<void> {
    const response = await this.json("POST", "/namespaces", { name, visibility });
    if (response.status !== 201) throw new Error(`namespace ${name}: ${response.status} ${await response.text()}`);
  }

  async mintToken(namespace: string, role: "reader" | "publisher"): Promise<string> {
    const response = await this.json("POST", `/namespaces/${namespace}/tokens`, { role });
    if (response.status !== 201) throw new Error(`token: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { token: string }).token;
  }

  /** Publishes and expects a new release, whose version it returns. */
  async publish(namespace: string, { path, files }: SourceSkill, form: UploadForm = "zip"): Promise<string> {
    const request = await upload(files, form, this.#token);
    // Packing blocks for seconds where a machine is busy. Meanwhile the server may have closed idle connections, which
    // has to be noticed before the next request goes out on one of them.
    await setTimeout(noticeMs);
    const address = `${this.#origin}/api/v1/namespaces/${namespace}/skills?path=${path}`;
    const response = await fetch(address, { method: "POST", ...request });
    const text = await response.text();
    if (response.status !== 201) throw new Error(`${namespace}/${path}: ${response.status} ${text}`);
    const answer = JSON.parse(text) as { release: { version: string } };
    return answer.release.version;
  }
}

async function upload(files: readonly SkillFile[], form: UploadForm, token: string): Promise<RequestInit> {
  const authorization = `Bearer ${token}`;
  if (form === "form") {
    const body = new FormData();
    for (const { path, bytes } of files) body.append("files", new Blob([bytes as BlobPart]), path);
    return { headers: { authorization }, body };
  }
  const [type, bytes] =
    form === "zip" ? ["application/zip", packZip(files)] : ["application/gzip", await packTarGz(files)];
  return { headers: { authorization, "content-type": type as string }, body: bytes as BodyInit };
}
