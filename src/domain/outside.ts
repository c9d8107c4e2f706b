import { maxOutboundUrlLength } from "./limits.ts";

/**
 * Which addresses the registry itself may ask. Others name them (an issuer, and whatever its documents point to), so
 * nothing that only our own machines could reach may be among them. What a public name resolves to nobody sees from
 * here: on Cloudflare nothing private can be reached from a Worker, elsewhere the network in front has to see to it.
 */
const loopback = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Names that no public DNS answers for, or that software by custom resolves to its own network. */
const innerDomains = new Set(
  "localhost local internal test invalid onion alt arpa lan home corp intranet private localdomain".split(" "),
);

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** The last label of a public name has no digits but in its coded form, so no spelling of an IPv4 address is one. */
const topLabel = /^(?:[a-z]{2,63}|xn--[a-z0-9-]{0,58}[a-z0-9])$/;

/** A registry that is reached on loopback only is somebody's trial, and may ask what else runs there. */
export function isLoopback(origin: string): boolean {
  return loopback.has(new URL(origin).hostname);
}

/** Why our request must not go there, as the end of a sentence; undefined: it may. `ownOrigin`: where we are reached. */
export function outsideFault(text: string, ownOrigin: string): string | undefined {
  if (text.length > maxOutboundUrlLength) return `has more than ${maxOutboundUrlLength} characters`;
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return "carries a user name or a password";
  if (text.includes("#")) return "has a fragment";
  if (url.host === new URL(ownOrigin).host) return "is our own";
  // Of other protocols the origin is "null", which is no URL to look at.
  if (/^https?:$/.test(url.protocol) && isLoopback(ownOrigin) && isLoopback(url.origin)) return undefined;
  if (url.protocol !== "https:") return "is not https";
  if (url.port !== "") return "has a port; only 443 is asked";
  if (url.hostname === new URL(ownOrigin).hostname) return "is our own";
  return isPublicName(url.hostname) ? undefined : "does not name a host by its public DNS name";
}

/** URL has written the name in lower case, with what is not ASCII coded, and each address of IPv4 as four numbers. */
function isPublicName(hostname: string): boolean {
  const labels = hostname.split(".");
  const last = labels.at(-1)!;
  const isName = labels.length > 1 && hostname.length <= 253 && labels.every((one) => label.test(one));
  return isName && topLabel.test(last) && !innerDomains.has(last);
}
