import { describe, expect, it } from "vitest";

import { api, legacy, modern, newNamespace, newToken, origin, seedSkill, send } from "../harness.ts";
import { askToken, obtainCode, redeem, refresh, register, signInAt } from "./oauth-client.ts";

/** A private namespace with one skill, and a reader's token. */
async function privateNamespace() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "secret-plans");
  return { namespace, token: await newToken(namespace, "reader") };
}

describe("an application signs in", () => {
  it("from nothing to a listed private skill, at the root, at a namespace and at a collection, in both eras", async () => {
    const { namespace, token } = await privateNamespace();
    await api("PUT", `/namespaces/${namespace}/collections/team`, {
      title: "Team",
      visibility: "private",
      skills: [{ path: "secret-plans" }],
    });
    for (const path of ["/me/mcp", `/me/mcp/${namespace}`, `/mcp/${namespace}`, `/mcp/${namespace}/team`]) {
      const { tokens, answer } = await signInAt(token, path);
      expect(answer.searchParams.get("iss")).toBe(origin);
      expect(answer.searchParams.get("state")).toBe("state-of-the-client");
      expect(tokens).toMatchObject({ token_type: "bearer", scope: "skills:read", expires_in: 3_600 });
      for (const ask of [modern, legacy]) {
        const { result, status, body } = await ask(path, "skills/list", {}, { token: tokens.access_token });
        expect(status, JSON.stringify(body)).toBe(200);
        expect(JSON.stringify(result)).toContain("secret-plans");
      }
    }
  });

  it("with a token for one address only: it is refused above, below and beside it", async () => {
    const { namespace, token } = await privateNamespace();
    const paths = [
      "/me/mcp",
      `/me/mcp/${namespace}`,
      `/mcp/${namespace}`,
      `/mcp/${namespace}/any`,
      "/mcp",
      "/mcp/other",
    ];
    for (const path of paths.slice(0, 3)) {
      const { tokens } = await signInAt(token, path);
      for (const other of paths.filter((one) => one !== path)) {
        const { status, headers } = await modern(other, "skills/list", {}, { token: tokens.access_token });
        expect([other, status]).toEqual([other, 401]);
        expect(headers.get("www-authenticate")).toContain('error="invalid_token"');
      }
      const { status } = await api("GET", "/me", undefined, tokens.access_token);
      expect(status).toBe(401);
    }
  });

  it("and refreshes: the new tokens count, and the old refresh token ends everything once its time is over", async () => {
    const { namespace, token } = await privateNamespace();
    const path = `/mcp/${namespace}`;
    const { tokens, clientId } = await signInAt(token, path);
    const { status, body } = await refresh(clientId, tokens.refresh_token);
    expect(status).toBe(200);
    expect(body.refresh_token).not.toBe(tokens.refresh_token);
    expect((await modern(path, "skills/list", {}, { token: body.access_token })).status).toBe(200);
    const soon = await refresh(clientId, tokens.refresh_token);
    expect(soon.status).toBe(200);
  });

  it("spends a code once, and ends what it gave when it comes again", async () => {
    const { namespace, token } = await privateNamespace();
    const flow = await obtainCode(token, `/mcp/${namespace}`);
    const first = await redeem(flow);
    expect(first.status).toBe(200);
    const second = await redeem(flow);
    expect(second).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    const after = await modern(`/mcp/${namespace}`, "skills/list", {}, { token: first.body.access_token });
    expect(after.status).toBe(401);
  });

  it("and is known at the token endpoint by its own registration only", async () => {
    const { namespace, token } = await privateNamespace();
    const flow = await obtainCode(token, `/mcp/${namespace}`);
    const other = await register();
    const { status, body } = await redeem({ ...flow, clientId: other.body.client_id });
    expect([status, body.error]).toEqual([400, "invalid_grant"]);
    expect(await askToken({ grant_type: "refresh_token", client_id: "nobody", refresh_token: "x" })).toMatchObject({
      status: 401,
      body: { error: "invalid_client" },
    });
  });
});

describe("what clients read before they sign in", () => {
  it("names the server, S256 only, documents and iss", async () => {
    const response = await send("/.well-known/oauth-authorization-server");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(await response.json()).toMatchObject({
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      code_challenge_methods_supported: ["S256"],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    });
  });
});
