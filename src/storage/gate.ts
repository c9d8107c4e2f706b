import type { CollectionTools } from "../domain/collection.ts";
import type { Namespace } from "../domain/names.ts";
import type { CollectionVisibility, NamespaceVisibility } from "../domain/policy.ts";
import { scopesOfRole } from "../domain/principal.ts";
import type { Person, Role, Scope } from "../domain/principal.ts";
import { askedBy, isMemberNow, isSignedIn, viewerParameters, viewerSql } from "./viewer.ts";
import type { Reach, Viewer } from "./viewer.ts";

/** What the database knows of the address and of the token that came with the request. */
export interface Gate {
  namespace: GateNamespace | undefined;
  collection: GateCollection | undefined;
  token: GateToken | undefined;
}

export interface GateNamespace {
  name: Namespace;
  title: string;
  description: string;
  visibility: NamespaceVisibility;
  revision: number;
  stamp: string;
}

export interface GateCollection {
  name: string;
  title: string;
  instructions: string;
  tools: CollectionTools;
  visibility: CollectionVisibility;
  revision: number;
}

export interface GateToken {
  kind: "token" | "link";
  /** Of the token; "" for a person. */
  id: string;
  /** The sign-in through which it came. */
  grant: string | undefined;
  /** Undefined for a person who is no member here. */
  namespace: Namespace | undefined;
  /** Of a member's token never more than the member has by now. */
  role: Role;
  scopes: readonly Scope[];
  below: string;
  collection: string | undefined;
  member: Person | undefined;
  /** The trusted publisher for whose job it was minted. */
  publisher: string | undefined;
  lastUsedAt: number | null;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

const gateSql = (signedIn: { columns: string; joins: string; person: string; isHere: string }) => `
WITH ${viewerSql}
SELECT n.name, n.title, n.description, n.visibility, n.revision, n.stamp,
  c.name AS collection, c.title AS collection_title, c.instructions, c.tools, c.visibility AS collection_visibility,
  c.revision AS collection_revision,
  t.id AS token_id, t.kind, t.namespace AS token_namespace, t.role, t.scopes, t.below, t.collection AS token_collection,
  t.publisher,  t.last_used_at, t.expires_at, m.namespace AS member_namespace, m.role AS member_role, ${signedIn.columns}
FROM viewer v${signedIn.joins}
LEFT JOIN namespaces n ON n.name = ?5 AND n.deleted_at IS NULL
LEFT JOIN collections c ON c.namespace = n.name AND c.name = ?3
LEFT JOIN tokens t ON t.id = v.token_id
LEFT JOIN members m ON ${signedIn.person} AND ${isMemberNow("m")} AND ${signedIn.isHere}`;

const signedInGate = gateSql({
  columns: `coalesce(t.issuer, a.issuer) AS issuer, coalesce(t.subject, a.subject) AS subject,
  g.id AS grant_id, iif(g.roles IS NULL, m.role, g.roles ->> m.namespace) AS allowed_role, g.last_used_at AS grant_used_at, r.value -> 'scope' AS granted, r.expires_at AS access_expires_at`,
  joins: `
LEFT JOIN allowed a
LEFT JOIN grants g ON g.id = a.grant_id
LEFT JOIN oauth_records r ON r.key = ?1 ->> 'key' AND g.id IS NOT NULL`,
  person: `m.namespace = coalesce(t.namespace, n.name) AND m.issuer = coalesce(t.issuer, a.issuer)
  AND m.subject = coalesce(t.subject, a.subject)`,
  // A person who signed in for one namespace is a member there and nowhere else.
  isHere: `(t.id IS NOT NULL OR (m.is_proven AND (a.namespace IS NULL OR a.namespace = m.namespace)))`,
});

/** For whoever did not sign in, as in viewer.ts. */
const plainGate = gateSql({
  columns: `t.issuer, t.subject, NULL AS grant_id, m.role AS allowed_role`,
  joins: "",
  person: `m.namespace = t.namespace AND m.issuer = t.issuer AND m.subject = t.subject`,
  isHere: "true",
});

interface GateRow {
  name: Namespace | null;
  title: string;
  description: string;
  visibility: NamespaceVisibility;
  revision: number;
  stamp: string;
  collection: string | null;
  collection_title: string;
  instructions: string;
  tools: CollectionTools;
  collection_visibility: CollectionVisibility;
  collection_revision: number;
  token_id: string | null;
  kind: "token" | "link";
  token_namespace: Namespace;
  role: Role;
  scopes: string | null;
  below: string;
  token_collection: string | null;
  publisher: string | null;
  issuer: string | null;
  subject: string | null;
  last_used_at: number | null;
  expires_at: number;
  member_namespace: Namespace | null;
  member_role: Role | null;
  /** What a person was there when they allowed it. */
  allowed_role: Role | null;
  grant_id: string | null;
  grant_used_at: number | null;
  granted: string | null;
  access_expires_at: number | null;
}

export function gateStatement(db: D1Database, viewer: Viewer, reach: Reach): D1PreparedStatement {
  const statement = isSignedIn(viewer) ? signedInGate : askedBy(plainGate, viewer);
  return db.prepare(statement).bind(...viewerParameters(viewer, reach), reach.namespace ?? null);
}

export function readGate(result: D1Result<unknown>): Gate {
  const row = result.results[0] as GateRow;
  const { name, title, description, visibility, revision, stamp } = row;
  return {
    namespace: name === null ? undefined : { name, title, description, visibility, revision, stamp },
    collection:
      row.collection === null
        ? undefined
        : {
            name: row.collection,
            title: row.collection_title,
            instructions: row.instructions,
            tools: row.tools,
            visibility: row.collection_visibility,
            revision: row.collection_revision,
          },
    token: readBearer(row),
  };
}

/** What came with the request: a token, a read link, or a sign-in, which has the rights of a token or of a person. */
function readBearer(row: GateRow): GateToken | undefined {
  if (row.token_id !== null) {
    const token = readToken(row, row.token_id);
    return token === undefined || row.grant_id === null ? token : heldTo(row, token, row.grant_id);
  }
  if (row.issuer === null || row.subject === null) return undefined;
  const member = { issuer: row.issuer, subject: row.subject };
  const role = lower(row.member_role, row.allowed_role);
  const namespace = role === null ? undefined : (row.member_namespace ?? undefined);
  const person = { ...nobody, namespace, ...rightsOf(role), member };
  return row.grant_id === null ? person : heldTo(row, person, row.grant_id);
}

/** A person at the pages, or who signed in for an address where nobody knows them. */
const nobody = {
  kind: "token",
  id: "",
  grant: undefined,
  below: "",
  collection: undefined,
  publisher: undefined,
  lastUsedAt: null,
  expiresAt: 0,
} as const;

function rightsOf(role: Role | null): { role: Role; scopes: readonly Scope[] } {
  return role === null ? { role: "reader", scopes: [] } : { role, scopes: scopesOfRole[role] };
}

/** A sign-in has of the rights behind it what was allowed, and lasts as long as its access token and they do. */
function heldTo(row: GateRow, token: GateToken, id: string): GateToken {
  const granted = JSON.parse(row.granted!) as Scope[];
  return {
    ...token,
    grant: id,
    scopes: token.scopes.filter((scope) => granted.includes(scope)),
    lastUsedAt: row.grant_used_at,
    expiresAt: Math.min(row.access_expires_at!, row.token_id === null ? Infinity : token.expiresAt),
  };
}

/** A member's token ends with the membership, and never has more rights than the member has left. */
function readToken(row: GateRow, id: string): GateToken | undefined {
  const member = row.issuer === null ? undefined : { issuer: row.issuer, subject: row.subject! };
  if (member !== undefined && row.member_role === null) return undefined;
  const role = lower(row.member_role ?? row.role, row.role)!;
  const own = row.scopes === null ? scopesOfRole[row.role] : (JSON.parse(row.scopes) as Scope[]);
  const ceiling = row.member_role === null ? own : scopesOfRole[row.member_role];
  return {
    kind: row.kind,
    id,
    grant: undefined,
    namespace: row.token_namespace,
    role,
    scopes: own.filter((scope) => ceiling.includes(scope)),
    below: row.below,
    collection: row.token_collection ?? undefined,
    member,
    publisher: row.publisher ?? undefined,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}

function lower(one: Role | null, other: Role | null): Role | null {
  if (one === null || other === null) return null;
  return ranks[one] < ranks[other] ? one : other;
}

const ranks: Readonly<Record<Role, number>> = { reader: 0, publisher: 1, admin: 2 };
