import { createServer } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";

import { freePort } from "../../src/cli/server.ts";

/** A server in the middle that passes everything on, except what `alter` makes of it: other bytes, or none for a 404. */
export interface Passing {
  path: string;
  /** What was asked. */
  body: string;
  answer: Buffer;
}

export type Alter = (passing: Passing) => Buffer | string | undefined;

export async function startProxy(target: string, alter: Alter): Promise<{ origin: string; stop(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const headers = Object.entries(request.headersDistinct).filter(([name]) =>
      /^(content-type|accept|authorization|mcp-.*)$/.test(name),
    );
    const path = request.url ?? "/";
    const passed = await fetch(target + path, {
      method: request.method!,
      headers: headers.map(([name, values]) => [name, values!.join(", ")] as [string, string]),
      ...(body === "" ? {} : { body }),
    });
    const type = passed.headers.get("content-type") ?? "text/plain";
    // What stays open has no end to wait for.
    if (type.startsWith("text/event-stream")) {
      response.writeHead(passed.status, { "content-type": type });
      return Readable.fromWeb(passed.body as ReadableStream).pipe(response);
    }
    const answer = alter({ path, body, answer: Buffer.from(await passed.arrayBuffer()) });
    response.writeHead(answer === undefined ? 404 : passed.status, { "content-type": type });
    return response.end(answer);
  });
  const port = await freePort();
  await new Promise<void>((done) => server.listen(port, "localhost", done));
  return {
    origin: `http://localhost:${port}`,
    stop: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

/** The first letter of each file that is read over MCP becomes another one. */
export const alterReads: Alter = ({ body, answer }) =>
  body.includes('"resources/read"') ? answer.toString().replace(/"text":"./, '"text":"X') : answer;
