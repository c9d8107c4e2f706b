import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * Another site, with scripts. As `localhost` it is the same site as the registry for a browser, which sends cookies
 * along whatever the port; as `127.0.0.1` it is a stranger; and in a sandbox its origin is "null".
 */
export interface OtherSite {
  /** By what it is to the registry's own pages. */
  origins: Record<"same site" | "another site", string>;
  /** Shows this body at an address of its own; in a sandbox that leaves it scripts and forms alone. */
  show(body: string, isSandboxed?: boolean): string;
  stop(): Promise<void>;
}

export async function startOtherSite(): Promise<OtherSite> {
  const pages: { body: string; isSandboxed: boolean }[] = [];
  const server = createServer(({ url }, response) => {
    const page = pages[Number(url!.slice(1))];
    if (page !== undefined && page.isSandboxed) {
      response.setHeader("content-security-policy", "sandbox allow-scripts allow-forms");
    }
    response.writeHead(page === undefined ? 404 : 200, { "content-type": "text/html" }).end(page?.body ?? "");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    origins: { "same site": `http://localhost:${port}`, "another site": `http://127.0.0.1:${port}` },
    show: (body, isSandboxed = false) => `/${pages.push({ body, isSandboxed }) - 1}`,
    stop: () => new Promise<void>((done) => void server.close(() => done()).closeAllConnections()),
  };
}

/** A page whose own script sends a form as soon as it is there. */
export function formThatSendsItself(action: string, fields: Record<string, string>): string {
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${escape(value)}">`);
  return `<form method="post" action="${escape(action)}">${inputs.join("")}</form><script>document.forms[0].submit()</script>`;
}

export function framesOf(addresses: readonly string[]): string {
  return addresses.map((address) => `<iframe src="${escape(address)}" width="400" height="200"></iframe>`).join("");
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
