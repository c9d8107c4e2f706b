import { expect } from "vitest";

import { api, newNamespace, seedSkill } from "../harness.ts";
import { authorizePath, pkce, redirectUri, register } from "./oauth-client.ts";
import type { Who } from "./oauth-client.ts";
import { Person } from "./person.ts";
import { FakeProvider } from "./provider.ts";

/** What tests of people's rights share: private namespaces, and people of a provider who join them. */
export const provider = new FakeProvider("https://accounts.widening.example");
export const everything = "skills:read skills:publish collections:write audit:read namespace:admin";
export const apiPath = "/api/v1";

export type Somebody = Exclude<Who, string>;

export async function house(skill = "plan"): Promise<string> {
  const namespace = await newNamespace("private");
  await seedSkill(namespace, `${skill}-of-${namespace}`);
  return namespace;
}

/** Makes a member of somebody, by the page that they open when they have signed in. */
export async function join(who: Somebody, namespace: string, role: string): Promise<string> {
  const { body } = await api("POST", `/namespaces/${namespace}/invitations`, { role });
  const person = new Person();
  await provider.signIn(person, "/account", { sub: who.subject });
  const accepted = await person.submit(`/account/invitations/${body["secret"] as string}`, {});
  expect(accepted.location).toBe("/account");
  return (await memberOf(namespace, who.subject))["id"] as string;
}

export async function memberOf(namespace: string, subject: string): Promise<Record<string, unknown>> {
  const { body } = await api("GET", `/namespaces/${namespace}/members`);
  return (body["members"] as Record<string, unknown>[]).find((one) => one["subject"] === subject)!;
}

let people = 0;
export const newWho = () => ({ issuer: provider.origin, subject: `somebody-${++people}` });

export const isAlive = async (token: unknown) => (await api("GET", "/me", undefined, token as string)).status === 200;

export async function pageFor(who: Somebody, path: string, scope = "skills:read") {
  const clientId = (await register()).body.client_id;
  const { verifier, challenge } = await pkce();
  const resource = `http://localhost${path}`;
  const person = new Person();
  await person.become(who);
  const asked = { client_id: clientId, redirect_uri: redirectUri, resource, scope, code_challenge: challenge };
  const { status, html } = await person.open(authorizePath(asked));
  expect([path, status]).toEqual([path, 200]);
  return { person, html, clientId, verifier, resource };
}

export async function withdraw(who: Who, id: string): Promise<void> {
  const person = new Person();
  if (typeof who === "string") await person.signIn(who);
  else await person.become(who);
  const { location } = await person.submit(`/account/grants/${id}/revoke`, {});
  expect(location).toBe("/account");
}
