import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";

import { formatCursor } from "../../src/domain/cursor.ts";
import { api, newNamespace, newToken, publish, seedSkill, skillMdOf } from "../harness.ts";

/** What the history of a skill shows, and to whom. */
let namespace: string;

beforeAll(async () => {
  namespace = await newNamespace();
  await seedSkill(namespace, "refunds");
});

interface Release {
  version: string;
  published_by?: string;
}

const history = async (query = "", token: string | null = null) => {
  const { status, body } = await api(
    "GET",
    `/namespaces/${namespace}/skills/refunds/-/releases${query}`,
    undefined,
    token,
  );
  return {
    status,
    code: body["code"],
    releases: body["releases"] as Release[],
    next: body["next_cursor"] as string | null,
  };
};

describe("the releases of a skill", () => {
  it("are paged by version, newest first, and a cursor tells nothing of how much is published elsewhere", async () => {
    const columns = `namespace, path, major, pre, name, description, tree, executables, file_count,
      total_bytes, skill_md_bytes, zip_digest, tar_digest, search_text, published_at, published_by, entry_bytes, entry,
      pinned_entry`;
    // Rows as a publish writes them: 120 publishes would take their time.
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
       INSERT INTO releases (version, minor, patch, ${columns})
       SELECT '1.0.' || i, minor, i, ${columns} FROM n, releases WHERE namespace = ?1 AND path = 'refunds'`,
    )
      .bind(namespace)
      .run();
    await seedSkill(namespace, "unrelated");
    const first = await history();
    const second = await history(`?cursor=${first.next}`);
    const versions = [...first.releases, ...second.releases].map(({ version }) => version);
    expect(versions).toEqual(Array.from({ length: 121 }, (_, index) => `1.0.${120 - index}`));
    expect([first.releases.length, second.next]).toEqual([100, null]);
    const name = `api-releases:${namespace}/refunds`;
    expect(first.next).toBe(formatCursor(name, { page: 1, key: first.releases.at(-1)!.version }));
    for (const key of ["9.9.9", "", "1", "'"]) {
      const { status, code } = await history(`?cursor=${formatCursor(name, { page: 1, key })}`);
      expect([key, status, code]).toEqual([key, 400, "invalid_cursor"]);
    }
  });

  it("name who published them to those who have rights in the namespace, and to nobody else", async () => {
    const publisher = await newToken(namespace, "publisher");
    await publish(namespace, { "SKILL.md": skillMdOf("refunds", "Newer") }, "?version=2.0.0", publisher);
    const base = `/namespaces/${namespace}/skills/refunds`;
    const seenBy = async (token: string | null) => {
      const answers = ["", "/-/releases", "/-/releases/2.0.0", "/-/releases/current"].map((rest) =>
        api("GET", base + rest, undefined, token),
      );
      return (await Promise.all(answers)).map(({ body }) => JSON.stringify(body).includes('"published_by":"token:'));
    };
    const none = [false, false, false, false];
    const held = (path: string) => api("POST", `/namespaces/${namespace}/tokens`, { role: "reader", path });
    expect(await seenBy(null)).toEqual(none);
    expect(await seenBy(await newToken(await newNamespace(), "admin"))).toEqual(none);
    expect(await seenBy((await held("elsewhere")).body["token"] as string)).toEqual(none);
    expect(await seenBy((await held("refunds")).body["token"] as string)).toEqual(none.map(() => true));
    expect(await seenBy(await newToken(namespace, "reader"))).toEqual(none.map(() => true));
  });
});
