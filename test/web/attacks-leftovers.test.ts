import { beforeAll, describe, expect, it } from "vitest";

import { newMember } from "../api/tenancy.ts";
import { api, modern, newToken, send } from "../harness.ts";
import { apiPath, everything, house, isAlive, join, newWho, provider, withdraw } from "./house.ts";
import { refresh, signInAt } from "./oauth-client.ts";
import { Person } from "./person.ts";

/** What a client made, and what was allowed in a membership, goes with it. */
beforeAll(async () => {
  await provider.install();
});

describe("what a client made", () => {
  it("goes when its sign-in is withdrawn, also what came of that; nothing else does", async () => {
    const namespace = await house();
    const own = await newToken(namespace, "admin");
    const { tokens } = await signInAt(own, apiPath, { scope: everything });
    const [, id] = tokens.access_token.split(":");
    const at = `/namespaces/${namespace}`;
    const by = async (token: string) => {
      const made = await api("POST", `${at}/tokens`, { role: "admin" }, token);
      const link = await api("POST", `${at}/links`, {}, token);
      const invitation = await api("POST", `${at}/invitations`, { role: "admin" }, token);
      const github = { repository: "acme/skills", repository_id: "1" };
      const publisher = await api("POST", `${at}/publishers`, { label: "x", github }, token);
      expect([made.status, link.status, invitation.status, publisher.status]).toEqual([201, 201, 201, 201]);
      const [token_, secret] = [made.body["token"] as string, invitation.body["secret"] as string];
      return { token: token_, link: link.body["url"] as string, secret, publisher: publisher.body["id"] as string };
    };
    const isThere = async (made: Awaited<ReturnType<typeof by>>) => [
      await isAlive(made.token),
      (await modern(new URL(made.link).pathname, "skills/list")).status === 200,
      (await api("GET", `/invitations/${made.secret}`, undefined, null)).status === 200,
      (await api("GET", `${at}/publishers/${made.publisher}`)).status === 200,
    ];
    const first = await by(tokens.access_token);
    const [second, others] = [await by(first.token), await by(own)];
    for (const made of [first, second, others]) expect(await isThere(made)).toEqual([true, true, true, true]);
    const member = await newMember(namespace, "reader");

    await withdraw(own, id!);
    for (const made of [first, second]) expect(await isThere(made)).toEqual([false, false, false, false]);
    expect(await isThere(others)).toEqual([true, true, true, true]);
    expect([await isAlive(own), await isAlive(member.token)]).toEqual([true, true]);
  });

  it("stays when the client itself signs out, as a program that minted a token for a job does", async () => {
    const namespace = await house();
    const { tokens, clientId } = await signInAt(await newToken(namespace, "admin"), apiPath, { scope: everything });
    const { body } = await api("POST", `/namespaces/${namespace}/tokens`, { role: "reader" }, tokens.access_token);
    const form = new URLSearchParams({ client_id: clientId, token: tokens.refresh_token });
    expect((await send("/revoke", { method: "POST", body: form })).status).toBe(200);
    expect([await isAlive(tokens.access_token), await isAlive(body["token"])]).toEqual([false, true]);
  });
});

describe("a membership that ended", () => {
  it("takes along what was allowed in it, which does not come back with the next one", async () => {
    const [namespace, other] = [await house(), await house()];
    const who = newWho();
    const id = await join(who, namespace, "publisher");
    await join(who, other, "publisher");
    const here = await signInAt(who, `/me/mcp/${namespace}`);
    const everywhere = await signInAt(who, apiPath, { scope: everything });
    await api("DELETE", `/namespaces/${namespace}/members/${id}`);
    const person = new Person();
    await person.become(who);
    expect((await person.open("/account")).html).not.toContain(`/me/mcp/${namespace}`);
    await join(who, namespace, "publisher");
    expect((await modern(`/me/mcp/${namespace}`, "skills/list", {}, { token: here.tokens.access_token })).status).toBe(
      401,
    );
    expect((await refresh(here.clientId, here.tokens.refresh_token)).body.error).toBe("invalid_grant");
    const read = async (of: string) =>
      (await api("GET", `/namespaces/${of}/skills`, undefined, everywhere.tokens.access_token)).status;
    expect([await read(namespace), await read(other)]).toEqual([404, 200]);
  });
});
