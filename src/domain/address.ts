import { isNamespace } from "./names.ts";
import type { Namespace } from "./names.ts";

/**
 * MCP addresses:
 *
 *   /mcp      /mcp/{namespace}      /mcp/{namespace}/{collection}      as everybody sees them
 *   /me/mcp   /me/mcp/{namespace}   /me/mcp/{namespace}/{collection}   as the caller sees them, never without a token
 *   /r/{secret}/mcp                                                    what a read link opens
 */
export interface McpAddress {
  door: "mcp" | "me";
  namespace: Namespace | undefined;
  collection: string | undefined;
  /** The path names something that cannot exist; it is answered as what does not exist. */
  isAbsent: boolean;
}

/** What an access token for the API is for: all of it. */
export const apiAddress = "/api/v1";

const collectionName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const maxCollectionNameLength = 64;

export function isCollectionName(text: string): boolean {
  return text.length <= maxCollectionNameLength && collectionName.test(text);
}

export function isMcpPath(path: string): boolean {
  return /^\/(?:me\/)?mcp(?:\/|$)|^\/r\/[^/]+\/mcp$/.test(path);
}

/** Undefined for a path that is no MCP address. The path is compared as typed: no other spelling is decoded. */
export function parseMcpAddress(path: string): McpAddress | undefined {
  const match = /^\/(me\/)?mcp(?:\/(.*))?$/.exec(path);
  if (match === null) return undefined;
  const door = match[1] === undefined ? "mcp" : "me";
  const nothing = { door, namespace: undefined, collection: undefined } as const;
  if (match[2] === undefined) return { ...nothing, isAbsent: false };
  const [namespace, collection, ...more] = match[2].split("/");
  if (!isNamespace(namespace!) || more.length > 0) return { ...nothing, isAbsent: true };
  if (collection === undefined) return { door, namespace, collection, isAbsent: false };
  // A look at a name that none can have, so that it costs what a look at an unknown one does.
  return isCollectionName(collection)
    ? { door, namespace, collection, isAbsent: false }
    : { door, namespace, collection: "", isAbsent: false };
}

/** The collection that `/mcp` lists, made by the seed and changed like any other. */
export const featured = { namespace: "registry" as Namespace, collection: "featured" };
