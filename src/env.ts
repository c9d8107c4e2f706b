/**
 * The bindings and variables as one type. No other file knows a binding's name: everything below the doors gets
 * the thing itself as an argument.
 */
export interface Env {
  DB: D1Database;
  BLOBS: R2Bucket;
  /** e.g. "https://skills.example.com"; empty: loopback only. */
  PUBLIC_ORIGIN?: string;
  /** Browser origins, separated by spaces, that may call besides our own and loopback. */
  ALLOWED_ORIGINS?: string;
  /** The operator's token; at least `minSecretLength` characters or every route that needs it answers 503. */
  ADMIN_TOKEN?: string;
  /** Signs what clients hold for us: tokens, read links, invitations. Changed, it ends them all. */
  SIGNING_KEY?: string;
  /** Who may create namespaces: "operator" (also when empty), "tokens" or "anyone". */
  NAMESPACE_CREATORS?: string;
  /** Limits a minute, whole numbers; empty or anything else: the defaults of domain/limits.ts. 0 lets nothing through. */
  RATE_READS?: string;
  RATE_SEARCHES?: string;
  RATE_WRITES?: string;
  RATE_FAILED_CREDENTIALS?: string;
  /** They count the same for all isolates of a data centre; absent: each isolate counts alone. */
  SHIELD_READS?: RateLimit;
  SHIELD_SEARCHES?: RateLimit;
  SHIELD_WRITES?: RateLimit;
  SHIELD_FAILED_CREDENTIALS?: RateLimit;
  /** Of each namespace that the operator has set no quotas for; read like the limits above. */
  QUOTA_SKILLS?: string;
  QUOTA_BYTES?: string;
  QUOTA_PUBLISHES_A_DAY?: string;
  /** What stays open; without them no session is opened and no notification promised. */
  FEEDS?: DurableObjectNamespace;
  SESSIONS?: DurableObjectNamespace;
  /** How many objects share the listeners of `/mcp`, and of every other address. */
  LIVE_ROOT_SHARDS?: string;
  LIVE_ADDRESS_SHARDS?: string;
  /** Milliseconds: between two signs of life on a stream, between two looks at its rights, and for dialling again. */
  LIVE_KEEP_ALIVE_MS?: string;
  LIVE_RECHECK_MS?: string;
  LIVE_JITTER_MS?: string;
  /** How many may listen to one address, and how many of them with one token or from one address prefix. */
  LIVE_LISTENERS?: string;
  LIVE_LISTENERS_PER_PRINCIPAL?: string;
  /** How many objects share the sessions of 2025-era clients; raised, old sessions stay where they are. */
  SESSION_SHARDS?: string;
  /** Milliseconds for which an isolate collects what it counts of searches and reads before it writes that down. */
  TALLY_PAUSE_MS?: string;
  /** Whole redirect addresses, separated by spaces, that clients which registered themselves may use besides the known. */
  OAUTH_REDIRECTS?: string;
  /** The OpenID provider at which people sign in; empty: with a registry token only. */
  OIDC_ISSUER?: string;
  OIDC_CLIENT_ID?: string;
  /** A secret of the Worker. */
  OIDC_CLIENT_SECRET?: string;
  /** What the button says: "Sign in with …"; empty: the issuer's host. */
  OIDC_NAME?: string;
  /** Asked of the provider; empty: "openid profile email". */
  OIDC_SCOPES?: string;
  /** The claim that lists a person's groups; empty: "groups". */
  OIDC_GROUPS_CLAIM?: string;
  /** Where to report a weakness: URIs separated by spaces; empty: `mailto:security@` and our host. */
  SECURITY_CONTACT?: string;
}

/** The types of a Hono context in every door. */
export interface AppEnv {
  Bindings: Env;
}

/** Where people reach the registry: as the operator says, else as this request did. */
export function publicOriginOf(env: Env, requestUrl: string): string {
  return new URL(env.PUBLIC_ORIGIN || requestUrl).origin;
}
