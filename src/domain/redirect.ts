import { maxRedirectUriLength } from "./limits.ts";

/**
 * Where an authorization code may be sent. A client that registered itself has shown nothing but that it can send a
 * request, so it gets codes on the user's own machine, at the callbacks of hosts that are known, and at those that the
 * operator lists. A client whose id is an address also gets them at that origin, which it has shown to control.
 *
 * Compared as text, whole: nothing is decoded, joined or put in order first, so that no other spelling passes.
 */
const knownCallbacks: readonly RegExp[] = [
  // Claude on the web, on desktops and on phones, under both of its names.
  /^https:\/\/claude\.(?:ai|com)\/api\/mcp\/auth_callback$/,
  // ChatGPT gives each connector a path of its own.
  /^https:\/\/chatgpt\.com\/connector\/oauth\/[A-Za-z0-9_-]{1,200}$/,
  /^https:\/\/chatgpt\.com\/connector_platform_oauth_redirect$/,
  // VS Code hands the code on to the window that asked.
  /^https:\/\/(?:insiders\.)?vscode\.dev\/redirect$/,
  // Cursor lists both and a loopback address: the desktop takes its own scheme, its agents the web.
  /^cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback$/,
  /^https:\/\/www\.cursor\.com\/agents\/mcp\/oauth\/callback$/,
];

/** RFC 8252, section 7.3: a program on the user's machine takes the port that it gets. */
const onLoopback =
  /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::[1-9][0-9]{0,4})?(\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?$/;

/** `listed`: what the operator allows besides, whole addresses. */
export function isAcceptedRedirect(uri: string, clientId: string, listed: readonly string[]): boolean {
  if (uri.length > maxRedirectUriLength || !/^[\x21-\x7e]+$/.test(uri) || /[#\\]/.test(uri)) return false;
  if (knownCallbacks.some((known) => known.test(uri)) || listed.includes(uri)) return true;
  if (isOnLoopback(uri)) return true;
  const origin = documentOrigin(clientId);
  return origin !== undefined && isPlainly(origin, uri);
}

/** Whether a client that lists these gets its codes at the address: to the letter, but on loopback at any port. */
export function isListed(uri: string, registered: readonly string[]): boolean {
  if (!isOnLoopback(uri)) return registered.includes(uri);
  return registered.some((one) => isOnLoopback(one) && withoutPort(one) === withoutPort(uri));
}

function withoutPort(uri: string): string {
  const { hostname, pathname, search } = new URL(uri);
  return hostname + pathname + search;
}

/** As a browser asks for it, too: `/x/../callback` is another spelling of `/callback`. */
function isOnLoopback(uri: string): boolean {
  const match = onLoopback.exec(uri);
  if (match === null || !URL.canParse(uri)) return false;
  const [, path = "/", query = ""] = match;
  const { pathname, search } = new URL(uri);
  return pathname === path && search === query;
}

/** The origin that a client controls whose id is the address of its metadata document. */
export function documentOrigin(clientId: string): string | undefined {
  if (!clientId.startsWith("https://") || !URL.canParse(clientId)) return undefined;
  return new URL(clientId).origin;
}

/** Whether the text names the origin as it is written, so that no userinfo, port or dot hides behind a likeness. */
function isPlainly(origin: string, uri: string): boolean {
  if (!uri.startsWith(`${origin}/`) || !URL.canParse(uri)) return false;
  const url = new URL(uri);
  return url.origin === origin && url.href === uri;
}
