/**
 * Which addresses count as one client: an IPv4 address by itself, an IPv6 address by its /64, which is what a
 * provider gives to one customer at the least, so that nobody gets a new allowance by taking their next address.
 */
export const unknownClient = "unknown";

export function clientPrefixOf(address: string | undefined): string {
  if (address === undefined || address === "") return unknownClient;
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
