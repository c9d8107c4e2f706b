import { maxAddressLength } from "./limits.ts";

/**
 * Which addresses count as one client: an IPv4 address by itself, an IPv6 address by its /64, which is what a
 * provider gives to one customer at the least, so that nobody gets a new allowance by taking their next address.
 */
export const unknownClient = "unknown";

/**
 * What a header says is the client's address; "" where that is none. Cloudflare sets it itself, and what a client
 * sends under that name never arrives; where nothing stands in front, a client may say what it likes.
 */
export function clientAddressOf(header: string | null | undefined): string {
  const text = header ?? "";
  return text.length <= maxAddressLength && /^[\da-f:.]*[:.][\da-f:.]+$/i.test(text) ? text : "";
}

export function clientPrefixOf(header: string | null | undefined): string {
  const address = clientAddressOf(header);
  if (address === "") return unknownClient;
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? `${networkOf(address)}::/64`;
}

/** The first four groups without leading zeros; "::" stands for as many zeros as are missing. */
function networkOf(address: string): string {
  const [head, tail] = address.toLowerCase().split("::");
  const before = groupsOf(head!);
  const after = groupsOf(tail ?? "");
  const missing = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: missing }, () => "0"), ...after];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":");
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":");
}
