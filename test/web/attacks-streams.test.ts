import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";

import { openListen } from "../live/streams.ts";
import type { Stream } from "../live/streams.ts";
import { api, newNamespace, newToken, seedSkill, send } from "../harness.ts";
import { redeem, refresh, signInAt } from "./oauth-client.ts";

/** Streams that were opened with a sign-in: they hear nothing of what happens once it has ended. */
afterEach(() => void vi.useRealTimers());

/** What the stream still hears; its last word is the answer to the request that opened it. */
async function heardBy(stream: Stream): Promise<unknown[]> {
  return (await stream.ended()).filter((message) => message["method"] !== undefined);
}

/** Nobody finds out by the clock. */
const vars = { LIVE_RECHECK_MS: "600000", LIVE_KEEP_ALIVE_MS: "600000" };

type SignedIn = Awaited<ReturnType<typeof signInAt>>;

function later(ms: number): void {
  const then = Date.now() + ms;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(then);
}

async function listener(namespace: string, flow: SignedIn): Promise<Stream> {
  const stream = await openListen(
    `/mcp/${namespace}`,
    { resourcesListChanged: true },
    { token: flow.tokens.access_token, vars },
  );
  await stream.next();
  return stream;
}

const endings: Record<string, (flow: SignedIn, at: { namespace: string; tokenId: string }) => Promise<unknown>> = {
  "its person withdraws it": ({ person, code }) => person.submit(`/account/grants/${code.split(":")[1]!}/revoke`, {}),
  "its client revokes it": ({ clientId, tokens }) =>
    send("/revoke", {
      method: "POST",
      body: new URLSearchParams({ client_id: clientId, token: tokens.refresh_token, token_type_hint: "refresh_token" }),
    }),
  "its client revokes the access token alone": ({ clientId, tokens }) =>
    send("/revoke", {
      method: "POST",
      body: new URLSearchParams({ client_id: clientId, token: tokens.access_token }),
    }),
  "a thief's refresh token ends it": async ({ clientId, tokens }) => {
    await refresh(clientId, tokens.refresh_token);
    later(120_000);
    await refresh(clientId, tokens.refresh_token);
    vi.useRealTimers();
  },
  "its code comes again": (flow) => redeem(flow),
  "its token is revoked": (_, { namespace, tokenId }) => api("DELETE", `/namespaces/${namespace}/tokens/${tokenId}`),
};

describe("a stream hears nothing any more once", () => {
  for (const [name, end] of Object.entries(endings)) {
    it(name, async () => {
      const namespace = await newNamespace("private");
      await seedSkill(namespace, "first");
      const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" });
      const flow = await signInAt(body["token"] as string, `/mcp/${namespace}`);
      const other = await signInAt(await newToken(namespace, "reader"), `/mcp/${namespace}`);
      const [stream, witness] = [await listener(namespace, flow), await listener(namespace, other)];
      await end(flow, { namespace, tokenId: body["id"] as string });
      await seedSkill(namespace, "second");
      expect((await witness.next())["method"]).toBe("notifications/resources/list_changed");
      expect(await heardBy(stream)).toEqual([]);
      await witness.close();
    });
  }

  it("a member is removed who signed in as themselves", async () => {
    const namespace = await newNamespace("private");
    const who = { issuer: "https://accounts.example", subject: "ada" };
    await env.DB.prepare(
      "INSERT INTO members (id, namespace, issuer, subject, role, added_at, added_by) VALUES ('ada', ?1, ?2, ?3, 'reader', 1, 'test')",
    )
      .bind(namespace, who.issuer, who.subject)
      .run();
    const stream = await listener(namespace, await signInAt(who, `/mcp/${namespace}`));
    await api("DELETE", `/namespaces/${namespace}/members/ada`);
    await seedSkill(namespace, "second");
    expect(await heardBy(stream)).toEqual([]);
  });
});
