import { formatRow } from "../row.ts";

/** Who tries, and in which generation of the protocol. */
export interface Client {
  client: string;
  version: string;
  era: string;
}

/** Thrown where the registry did as it should and the client did not; the message is the evidence. */
export class ClientFault extends Error {}

/** Says a row of what happened; a text that is returned is worth knowing. A failure does not end the suite. */
export async function attempt(client: Client, tried: string, act: () => Promise<string | void>): Promise<void> {
  try {
    const note = await act();
    console.log(formatRow({ ...client, tried, result: "passed", ...(note === undefined ? {} : { note }) }));
  } catch (error) {
    const result = error instanceof ClientFault ? "client fails" : "failed";
    const note = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ").slice(0, 600);
    console.log(formatRow({ ...client, tried, result, note }));
    if (result === "failed") console.error(error);
  }
}
