import { randomUUID } from "node:crypto";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { connectionOfFirst, connectionOfSecond, identity } from "./connection.ts";
import type { Connection } from "./connection.ts";

/**
 * A host that signs in: the official clients with their own OAuth code. What is ours is what every host has to bring,
 * a place for what the client wants to keep, and somebody who opens its addresses.
 */
export type Generation = "auto" | "legacy" | "first";

export const generations: readonly { client: string; protocolVersion: string; generation: Generation }[] = [
  { client: "the official client", protocolVersion: "2026-07-28", generation: "auto" },
  { client: "the official client", protocolVersion: "2025-11-25", generation: "legacy" },
  { client: "the official client of the first generation", protocolVersion: "2025-11-25", generation: "first" },
];

export interface HostOptions {
  redirectUri: string;
  /** The address of its metadata document; absent: it registers itself. */
  clientMetadataUrl?: string | undefined;
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
}

/** All that a client keeps, in memory. One for each address, as the clients want it. */
export class Keeper {
  readonly redirectUrl: string;
  readonly clientMetadataUrl: string | undefined;
  readonly clientMetadata: { client_name: string; redirect_uris: string[] } & Record<string, unknown>;
  /** Where the client last sent the person; taken by whoever opens it. */
  asked: URL | undefined;
  registered: { client_id: string } | undefined;
  kept: Tokens | undefined;
  #verifier = "";
  #state = "";
  #discovered: unknown;

  constructor({ redirectUri, clientMetadataUrl }: HostOptions) {
    this.redirectUrl = redirectUri;
    this.clientMetadataUrl = clientMetadataUrl;
    this.clientMetadata = {
      client_name: "A host of the tests",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }

  state(): string {
    return (this.#state = randomUUID());
  }

  clientInformation() {
    return this.registered;
  }

  saveClientInformation(registered: { client_id: string }): void {
    this.registered = registered;
  }

  tokens() {
    return this.kept;
  }

  saveTokens(tokens: Tokens): void {
    this.kept = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.asked = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: unknown): void {
    this.#discovered = state;
  }

  discoveryState() {
    return this.#discovered;
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (scope === "all" || scope === "client") this.registered = undefined;
    if (scope === "all" || scope === "tokens") this.kept = undefined;
    if (scope === "all" || scope === "discovery") this.#discovered = undefined;
  }

  /** The client leaves the state to its host to check. */
  requireState(answer: URL): void {
    if (answer.searchParams.get("state") !== this.#state) throw new Error(`${answer.href} is of another sign-in`);
  }
}

/** Opens the address, has somebody decide, and says where the browser ended. */
export type Decide = (address: URL) => Promise<URL>;

export class Host {
  readonly keeper: Keeper;
  readonly #generation: Generation;
  readonly #address: string;
  #finish: ((answer: URL) => Promise<void>) | undefined;

  constructor(generation: Generation, address: string, options: HostOptions) {
    this.#generation = generation;
    this.#address = address;
    this.keeper = new Keeper(options);
  }

  /** With what it keeps; undefined: it wants the person to sign in, and knows where. */
  async connect(): Promise<Connection | undefined> {
    return (await this.#try()).connection;
  }

  /** From nothing: it is refused, finds out where to sign in, and comes again with a token. */
  async signIn(decide: Decide): Promise<Connection> {
    const { connection: early, finish } = await this.#try();
    if (early !== undefined) throw new Error(`${this.#address} let somebody in who had not signed in`);
    await finish(await this.answerOf(decide));
    const connection = await this.connect();
    if (connection === undefined) throw new Error("The client has to sign in again at once");
    return connection;
  }

  /** The same up to the answer, which the caller gives to the client, bent or not. */
  async begin(decide: Decide): Promise<{ answer: URL; finish: (answer: URL) => Promise<void> }> {
    const { finish } = await this.#try();
    return { answer: await this.answerOf(decide), finish };
  }

  /** After a client that was signed in had to send the person again. */
  async finishWith(decide: Decide): Promise<void> {
    const answer = await this.answerOf(decide);
    await this.#finish!(answer);
  }

  async answerOf(decide: Decide): Promise<URL> {
    const { asked } = this.keeper;
    if (asked === undefined) throw new Error("The client sent nobody to sign in");
    this.keeper.asked = undefined;
    const answer = await decide(asked);
    this.keeper.requireState(answer);
    return answer;
  }

  async #try(): Promise<{ connection: Connection | undefined; finish: (answer: URL) => Promise<void> }> {
    return this.#generation === "first" ? this.#tryFirst() : this.#trySecond(this.#generation);
  }

  async #trySecond(mode: "auto" | "legacy") {
    const client = new Client(identity, { versionNegotiation: { mode } });
    const authProvider = this.keeper as unknown as OAuthClientProvider;
    const transport = new StreamableHTTPClientTransport(new URL(this.#address), { authProvider });
    const finish = (answer: URL) => transport.finishAuth(answer.searchParams);
    this.#finish = finish;
    const isIn = await this.#isIn(client.connect(transport));
    return { connection: isIn ? connectionOfSecond(client) : undefined, finish };
  }

  async #tryFirst() {
    const client = new FirstClient(identity);
    const authProvider = this.keeper as unknown as NonNullable<
      ConstructorParameters<typeof FirstTransport>[1]
    >["authProvider"];
    const transport = new FirstTransport(new URL(this.#address), { authProvider: authProvider! });
    const finish = (answer: URL) => transport.finishAuth(answer.searchParams.get("code") ?? "");
    this.#finish = finish;
    const isIn = await this.#isIn(client.connect(transport as Parameters<typeof client.connect>[0]));
    return { connection: isIn ? connectionOfFirst(client, transport) : undefined, finish };
  }

  async #isIn(connecting: Promise<void>): Promise<boolean> {
    try {
      await connecting;
      return true;
    } catch (error) {
      if (this.keeper.asked === undefined) throw error;
      return false;
    }
  }
}
