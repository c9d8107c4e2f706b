import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

import { keepDocument } from "../../src/storage/oauth-clients.ts";
import { modern, newNamespace, newToken, seedSkill, send } from "../harness.ts";
import { obtainCode, redeem, redirectUri, register } from "./oauth-client.ts";
import type { Registered } from "./oauth-client.ts";

/**
 * What programs send when they register, as their code has it, and the redirect addresses that they then use. Where a
 * program runs on the user's machine, the port is one that it got, which need not be the one it registered with.
 */
const both = ["authorization_code", "refresh_token"];
const usual = { grant_types: both, response_types: ["code"], token_endpoint_auth_method: "none" };

interface Known {
  body: Record<string, unknown> & { redirect_uris: string[] };
  uses: readonly string[];
}

const known: Record<string, Known> = {
  "Claude, by its older name": {
    body: { client_name: "Claude", redirect_uris: ["https://claude.ai/api/mcp/auth_callback"], ...usual },
    uses: ["https://claude.ai/api/mcp/auth_callback"],
  },
  "Claude, by its newer name": {
    body: {
      client_name: "claudeai",
      redirect_uris: ["https://claude.com/api/mcp/auth_callback"],
      scope: "skills:read",
      ...usual,
      token_endpoint_auth_method: "client_secret_post",
    },
    uses: ["https://claude.com/api/mcp/auth_callback"],
  },
  "ChatGPT, a connector": {
    body: { client_name: "ChatGPT", redirect_uris: ["https://chatgpt.com/connector/oauth/Zk3_aB-9xQ"], ...usual },
    uses: ["https://chatgpt.com/connector/oauth/Zk3_aB-9xQ"],
  },
  "ChatGPT, as a platform": {
    body: {
      client_name: "ChatGPT",
      redirect_uris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
      ...usual,
    },
    uses: ["https://chatgpt.com/connector_platform_oauth_redirect"],
  },
  "VS Code": {
    body: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      grant_types: both,
      response_types: ["code"],
      redirect_uris: [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
      ],
      scope: "skills:read",
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
    uses: [
      "https://vscode.dev/redirect",
      "https://insiders.vscode.dev/redirect",
      "http://127.0.0.1:33418/",
      "http://127.0.0.1:51234/",
    ],
  },
  "Claude Code, with a callback port of the user's": {
    body: { client_name: "Claude Code (acme)", redirect_uris: ["http://localhost:54545/callback"], ...usual },
    uses: ["http://localhost:54545/callback"],
  },
  "Codex, where it registers": {
    body: { client_name: "Codex", redirect_uris: ["http://127.0.0.1:38765/callback"], ...usual },
    uses: ["http://127.0.0.1:38765/callback", "http://127.0.0.1:46525/callback"],
  },
  opencode: {
    body: {
      redirect_uris: ["http://127.0.0.1:19876/mcp/oauth/callback"],
      client_name: "OpenCode",
      client_uri: "https://opencode.ai",
      ...usual,
      application_type: "native",
    },
    uses: ["http://127.0.0.1:19876/mcp/oauth/callback"],
  },
  "MCP Inspector": {
    body: {
      redirect_uris: ["http://localhost:6274/oauth/callback"],
      ...usual,
      client_name: "MCP Inspector",
      client_uri: "https://github.com/modelcontextprotocol/inspector",
      scope: "",
      application_type: "native",
    },
    uses: ["http://localhost:6274/oauth/callback"],
  },
  "mcp-remote": {
    body: {
      redirect_uris: ["http://localhost:3334/oauth/callback"],
      ...usual,
      client_name: "MCP CLI Proxy",
      client_uri: "https://github.com/modelcontextprotocol/mcp-cli",
      software_id: "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
      software_version: "0.15.1",
    },
    uses: ["http://localhost:3334/oauth/callback", "http://localhost:27481/oauth/callback"],
  },
  mcpc: {
    body: {
      redirect_uris: ["http://localhost:8000/callback"],
      ...usual,
      client_name: "mcpc",
      client_uri: "https://github.com/apify/mcpc",
    },
    uses: ["http://localhost:8000/callback"],
  },
  Cursor: {
    body: {
      client_name: "Cursor",
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
      ],
      ...usual,
    },
    uses: [
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "https://www.cursor.com/agents/mcp/oauth/callback",
      "http://localhost:8787/callback",
    ],
  },
};

/** Of programs that are known by a document: what it lists, and what the program uses. */
const documented: Record<string, { id: string; lists: string[]; uses: string }> = {
  "Claude Code": {
    id: "https://claude.ai/oauth/claude-code-client-metadata",
    lists: ["http://localhost/callback", "http://127.0.0.1/callback"],
    uses: "http://localhost:64924/callback",
  },
  Codex: {
    id: "https://chatgpt.com/oauth/codex/client.json",
    lists: ["http://127.0.0.1/callback", "http://localhost/callback"],
    uses: "http://127.0.0.1:46525/callback",
  },
  Claude: {
    id: "https://claude.ai/oauth/mcp-oauth-client-metadata",
    lists: ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
    uses: "https://claude.com/api/mcp/auth_callback",
  },
};

type Confidential = Registered & { client_secret?: string };

async function privateNamespace() {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, "secret-plans");
  return { path: `/mcp/${namespace}`, token: await newToken(namespace, "reader") };
}

/** From the consent page to a listed private skill. */
async function comesIn(clientId: string, redirect: string, secret?: string): Promise<void> {
  const { path, token } = await privateNamespace();
  const flow = await obtainCode(token, path, { client_id: clientId, redirect_uri: redirect });
  expect(flow.answer.href.startsWith(`${redirect}?`), flow.answer.href).toBe(true);
  const more: Record<string, string> = secret === undefined ? {} : { client_secret: secret };
  const { status, body } = await redeem(flow, { redirect_uri: redirect, ...more });
  expect([status, body.error_description]).toEqual([200, undefined]);
  const listed = await modern(path, "skills/list", {}, { token: body.access_token });
  expect(JSON.stringify(listed.result)).toContain("secret-plans");
}

describe("a program that registers as it does everywhere signs in", () => {
  for (const [name, { body, uses }] of Object.entries(known)) {
    it(name, async () => {
      for (const redirect of uses) {
        const registered = await register(body);
        expect(registered.status, JSON.stringify(registered.body)).toBe(201);
        expect(registered.body.redirect_uris).toEqual(body.redirect_uris);
        const { client_id: clientId, client_secret: secret } = registered.body as Confidential;
        await comesIn(clientId, redirect, secret);
      }
    });
  }

  it("VS Code also where it lists every grant type that it knows", async () => {
    const grant_types = [...both, "urn:ietf:params:oauth:grant-type:device_code"];
    const { status, body } = await register({ ...known["VS Code"]!.body, grant_types });
    expect(status, JSON.stringify(body)).toBe(201);
    await comesIn(body.client_id, "https://vscode.dev/redirect");
  });
});

describe("a program that authenticates by Basic", () => {
  const obtain = async (more: (clientId: string) => Record<string, string>) => {
    const { path, token } = await privateNamespace();
    // The official Python client at its defaults: it names no method, is given a secret, and also names itself.
    const { body } = await register({ token_endpoint_auth_method: undefined });
    const { client_id: clientId, client_secret: secret } = body as Confidential;
    const { code, verifier, resource } = await obtainCode(token, path, { client_id: clientId });
    const form = {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
      resource,
    };
    const response = await send("/token", {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${clientId}:${secret!}`)}` },
      body: new URLSearchParams({ ...form, ...more(clientId) }),
    });
    return { status: response.status, body: await response.json() };
  };

  it("may say in the form, too, who it is", async () => {
    expect(await obtain(() => ({}))).toMatchObject({ status: 200, body: { scope: "skills:read" } });
    expect(await obtain((id) => ({ client_id: id }))).toMatchObject({ status: 200, body: { scope: "skills:read" } });
  });

  it("may not be somebody else in the form, nor bring a second secret", async () => {
    for (const [name, value] of [
      ["client_id", "somebody-else"],
      ["client_secret", "another"],
    ] as const) {
      expect(await obtain(() => ({ [name]: value }))).toMatchObject({
        status: 400,
        body: { error: "invalid_request" },
      });
    }
  });
});

describe("a program that has a document signs in", () => {
  for (const [name, { id, lists, uses }] of Object.entries(documented)) {
    it(name, async () => {
      const client = {
        clientId: id,
        clientName: name,
        redirectUris: lists,
        grantTypes: both,
        responseTypes: ["code"],
        tokenEndpointAuthMethod: "none",
      };
      const now = Date.now();
      await keepDocument(env.DB, id, { client: JSON.stringify(client), fetchedAt: now, freshUntil: now + 3_600_000 });
      await comesIn(id, uses);
    });
  }
});
