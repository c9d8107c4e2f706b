import type { Namespace } from "../../../src/domain/names.ts";
import { packZip } from "../../../src/publish/pack.ts";
import { api, origin, publish, skillMdOf, toFiles } from "../../harness.ts";
import type { Files } from "../../harness.ts";

/** Everything that a publisher can ask for and that changes what readers see, or might. */
export interface Scenario {
  name: string;
  /** What has happened in the namespace before. */
  prepare: (namespace: Namespace) => Promise<void>;
  request: (namespace: Namespace, token: string) => Request;
  /** What the request answers when it is heard for the first time. */
  status: number;
  /** What it answers to a retry when all of it has happened already. */
  statusAgain: number;
  /** Whether an answer that was given once is given again. */
  isKeyed?: boolean;
}

export const notes = (text: string): Files => ({
  "SKILL.md": skillMdOf("notes", "What notes say", `# ${text}\n`),
  "data/table.bin": new Uint8Array([0, 255, 13, 10, text.length]),
});

const plain = (name: string, text: string): Files => ({ "SKILL.md": skillMdOf(name, `What ${name} says`, text) });

export function inFolders(skills: Record<string, string>): Files {
  const parts = Object.entries(skills).map(([name, text]) => [`${name}/SKILL.md`, plain(name, text)["SKILL.md"]!]);
  return Object.fromEntries(parts) as Files;
}

/** Prepares through the doors, and fails where that fails. */
export async function done(answer: Promise<{ status: number; body: unknown }>): Promise<void> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`prepare: ${status} ${JSON.stringify(body)}`);
}

export const publishes =
  (...releases: [files: Files, query?: string][]) =>
  async (namespace: Namespace) => {
    for (const [files, query] of releases) await done(publish(namespace, files, query));
  };

export function post(files: Files, query = "", headers: Record<string, string> = {}): Scenario["request"] {
  return (namespace, token) =>
    new Request(`${origin}/api/v1/namespaces/${namespace}/skills${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/zip", ...headers },
      body: packZip(toFiles(files)),
    });
}

export function call(method: string, path: string, body?: unknown): Scenario["request"] {
  return (namespace, token) =>
    new Request(`${origin}/api/v1/namespaces/${namespace}/skills/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

const keyed = { "idempotency-key": "one-and-only" };
export const twoReleases = publishes([notes("first")], [notes("second")]);
export const yank = (namespace: Namespace, version: string) =>
  done(api("PATCH", `/namespaces/${namespace}/skills/notes/-/releases/${version}`, { yanked: true }));

export const scenarios: readonly Scenario[] = [
  {
    name: "the first publish of a skill",
    prepare: publishes([plain("bystander", "is not concerned")]),
    request: post(notes("first")),
    status: 201,
    statusAgain: 200,
  },
  {
    name: "a new release",
    prepare: publishes([notes("first")]),
    request: post(notes("second")),
    status: 201,
    statusAgain: 200,
  },
  {
    name: "a new release that names its version and does not become current",
    prepare: publishes([notes("first")]),
    request: post(notes("second"), "?version=2.0.0&current=false"),
    status: 201,
    statusAgain: 200,
  },
  {
    name: "a release of bytes that another skill has stored already",
    prepare: publishes([notes("first"), "?path=other/notes"]),
    request: post(notes("first")),
    status: 201,
    statusAgain: 200,
  },
  {
    name: "the bytes that are current already",
    prepare: publishes([notes("first")]),
    request: post(notes("first")),
    status: 200,
    statusAgain: 200,
  },
  {
    name: "a new release with an Idempotency-Key",
    prepare: publishes([notes("first")]),
    request: post(notes("second"), "", keyed),
    status: 201,
    statusAgain: 201,
    isKeyed: true,
  },
  {
    name: "the bytes that are current already, with an Idempotency-Key",
    prepare: publishes([notes("first")]),
    request: post(notes("first"), "", keyed),
    status: 200,
    statusAgain: 200,
    isKeyed: true,
  },
  {
    name: "a folder of skills that prunes",
    prepare: publishes([inFolders({ one: "old", two: "same", gone: "old" }), "?path=team&prune=true"]),
    request: post(inFolders({ one: "new", two: "same", three: "new" }), "?path=team&prune=true"),
    status: 201,
    statusAgain: 200,
  },
  {
    name: "a folder of skills that prunes, with an Idempotency-Key",
    prepare: publishes([inFolders({ one: "old", gone: "old" }), "?path=team&prune=true"]),
    request: post(inFolders({ one: "new" }), "?path=team&prune=true", keyed),
    status: 201,
    statusAgain: 201,
    isKeyed: true,
  },
  {
    name: "a publish that changes only the visibility",
    prepare: publishes([notes("first")]),
    request: post(notes("first"), "?visibility=unlisted"),
    status: 200,
    statusAgain: 200,
  },
  {
    name: "a publish after a delete",
    prepare: async (namespace) => {
      await twoReleases(namespace);
      await done(api("DELETE", `/namespaces/${namespace}/skills/notes`));
    },
    request: post(notes("first")),
    status: 201,
    statusAgain: 200,
  },
  {
    name: "hiding a skill",
    prepare: publishes([notes("first")]),
    request: call("PATCH", "notes", { visibility: "private" }),
    status: 200,
    statusAgain: 200,
  },
  {
    name: "a yank of the current release",
    prepare: twoReleases,
    request: call("PATCH", "notes/-/releases/1.0.1", { yanked: true }),
    status: 200,
    statusAgain: 200,
  },
  {
    name: "an un-yank of the only release",
    prepare: async (namespace) => {
      await publishes([notes("first")])(namespace);
      await yank(namespace, "1.0.0");
    },
    request: call("PATCH", "notes/-/releases/1.0.0", { yanked: false }),
    status: 200,
    statusAgain: 200,
  },
  {
    name: "a move of current together with the visibility",
    prepare: twoReleases,
    request: call("PATCH", "notes", { current: "1.0.0", visibility: "unlisted" }),
    status: 200,
    statusAgain: 200,
  },
  {
    name: "a delete",
    prepare: twoReleases,
    request: call("DELETE", "notes"),
    status: 204,
    statusAgain: 404,
  },
];
