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
}

/** The types of a Hono context in every door. */
export interface AppEnv {
  Bindings: Env;
}
