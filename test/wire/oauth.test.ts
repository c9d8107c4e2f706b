import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { Browser } from "./browser.ts";
import type { Connection } from "./connection.ts";
import { generations, Host } from "./oauth-host.ts";
import {
  allowWith,
  createPrivate,
  documentUrl,
  privateAddresses,
  redirectUri,
  secretPlans,
  startWorld,
} from "./oauth-world.ts";
import type { World } from "./oauth-world.ts";
import { verifyAll } from "./source.ts";

/** Signing in over the wire: the official clients' own OAuth code against the built Worker, consent by a script. */
let world: World;
let origin: string;
let token: string;
const namespace = "plans";

beforeAll(async () => {
  world = await startWorld();
  origin = world.machine.origin;
  token = await createPrivate(world.operator, namespace);
});
afterAll(() => world.stop());

const newBrowser = () => new Browser({ endsAt: redirectUri });

async function expectPlans(connection: Connection, of = namespace): Promise<void> {
  const { skills, files } = await verifyAll(connection, of, [secretPlans]);
  expect([skills, files]).toEqual([1, 1]);
}

const registrations = [
  { way: "by its metadata document", clientMetadataUrl: documentUrl },
  { way: "by registering itself", clientMetadataUrl: undefined },
];

describe.each(generations)("$client, negotiated to $protocolVersion,", ({ protocolVersion, generation }) => {
  describe.each(registrations)("known $way,", ({ clientMetadataUrl }) => {
    test.each(privateAddresses)("goes from nothing to a private skill at $kind", async ({ pathOf }) => {
      const host = new Host(generation, origin + pathOf(namespace), { redirectUri, clientMetadataUrl });
      const connection = await host.signIn(allowWith(newBrowser(), token));
      expect(connection.protocolVersion).toBe(protocolVersion);
      await expectPlans(connection);
      const { registered } = host.keeper;
      if (clientMetadataUrl === undefined) expect(registered!.client_id).toMatch(/^[A-Za-z0-9_-]+$/);
      else expect(registered!.client_id).toBe(documentUrl);
      await connection.close();
    });
  });
});
