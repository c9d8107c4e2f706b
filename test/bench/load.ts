import { Agent, request } from "node:http";

/** Requests as fast as they are answered, `width` at a time over connections that stay open. */
export interface Shot {
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
  /** How long the reader stops after its first bytes. */
  pauseMs?: number;
}

const shownBytes = 400;
let agent = newAgent();

function newAgent(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 64 });
}

/** Each answer must have succeeded: the time of a refusal says nothing. Returns the milliseconds of each. */
export async function fire(
  origin: string,
  next: () => Shot,
  { count, width }: { count: number; width: number },
): Promise<number[]> {
  const times: number[] = [];
  let left = count;
  const worker = async () => {
    while (left-- > 0) {
      const shot = next();
      const begun = performance.now();
      await send(origin, shot);
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return times;
}

/** Reads the answer to its end without keeping it. */
export async function send(origin: string, shot: Shot): Promise<void> {
  return new Promise((done, fail) => {
    const outgoing = request(origin + shot.path, { method: "POST", agent, headers: shot.headers }, (incoming) => {
      let head: string | undefined;
      incoming.on("data", (chunk: Buffer) => {
        if (head !== undefined) return;
        head = chunk.subarray(0, shownBytes).toString();
        if (shot.pauseMs === undefined) return;
        incoming.pause();
        setTimeout(() => incoming.resume(), shot.pauseMs);
      });
      incoming.on("error", fail);
      incoming.on("end", () => {
        const isGood = incoming.statusCode! < 300 && !head?.includes('"error"') && incoming.complete;
        if (isGood) done();
        else fail(new Error(`${shot.path}: ${incoming.statusCode} ${head}`));
      });
    });
    // workerd closes a connection that is idle for five seconds, at times just when it is used again.
    outgoing.on("error", (error) => (outgoing.reusedSocket ? send(origin, shot).then(done, fail) : fail(error)));
    outgoing.end(shot.body);
  });
}

export function closeConnections(): void {
  agent.destroy();
  agent = newAgent();
}
