import type { SkillFile } from "../domain/entry.ts";
import { fileFinding } from "../domain/finding.ts";
import type { Finding } from "../domain/finding.ts";
import { findPair, readSkillMd } from "../domain/frontmatter.ts";
import { Remarks } from "../domain/lint/remark.ts";
import type { Pair } from "../domain/lint/yaml-node.ts";
import { maxFindings, maxNearestTools } from "../domain/limits.ts";
import type { Namespace } from "../domain/names.ts";
import { Nearest } from "../domain/nearest.ts";
import { withoutSecrets } from "../domain/redact.ts";
import { formatToolName, toolsNamedIn } from "../domain/tool-name.ts";
import type { ToolName } from "../domain/tool-name.ts";
import { skillMd } from "../domain/uri.ts";
import { listToolNames, lookUpTools } from "../storage/known-tools.ts";

/**
 * Warnings about tools that skills name and no registered server of their namespace lists. Nothing is refused: the
 * server may be registered tomorrow, and a host may know it already.
 */
export interface NamingSkill {
  /** Where the skill lies in the upload, with a closing slash; "" for the root. */
  root: string;
  frontmatter: Readonly<Record<string, unknown>>;
  files: readonly SkillFile[];
}

export interface ToolCheck {
  db: D1Database;
  namespace: Namespace;
  /** Whether the publisher may read the servers, and so be told what else they list. */
  mayReadServers: boolean;
}

interface Unknown {
  skill: NamingSkill;
  name: ToolName;
  isRegistered: boolean;
}

export async function findUnknownTools(skills: readonly NamingSkill[], check: ToolCheck): Promise<Finding[]> {
  const named = skills.flatMap((skill) => toolsNamedIn(skill.frontmatter).map((name) => ({ skill, name })));
  if (named.length === 0) return [];
  const known = await lookUpTools(
    check.db,
    check.namespace,
    named.map(({ name }) => name),
  );
  const unknown = named
    .map((one, index) => ({ ...one, ...known[index]! }))
    .filter(({ isListed }) => !isListed)
    // More would not be shown.
    .slice(0, maxFindings);
  const nearest = await nearestAt(unknown, check);
  const pairs = new Map<NamingSkill, Pair[]>();
  return unknown.map((one) => {
    if (!pairs.has(one.skill)) pairs.set(one.skill, pairsOf(one.skill));
    const { namespace } = check;
    return findingOf(one, { namespace, pairs: pairs.get(one.skill)!, nearest: nearest(one.name) });
  });
}

/** Reads the names of no server but those that are registered and lack one. */
async function nearestAt(unknown: readonly Unknown[], { db, namespace, mayReadServers }: ToolCheck) {
  const servers = new Set(unknown.filter(({ isRegistered }) => isRegistered).map(({ name }) => name.server));
  const names = mayReadServers && servers.size > 0 ? await listToolNames(db, namespace, [...servers]) : [];
  const byServer = new Map(
    [...servers].map((server) => [
      server,
      new Nearest(names.filter((name) => name.server === server).map(({ tool }) => tool)),
    ]),
  );
  return ({ server, tool }: ToolName) => byServer.get(server)?.to(tool, maxNearestTools) ?? [];
}

interface Known {
  namespace: Namespace;
  pairs: readonly Pair[];
  nearest: readonly string[];
}

function findingOf({ skill, name, isRegistered }: Unknown, { namespace, pairs, nearest }: Known): Finding {
  const { key, pair } = placeOf(name, pairs);
  const tool = withoutSecrets(formatToolName(name));
  const server = withoutSecrets(name.server);
  const also = nearest.map((near) => `"${formatToolName({ server, tool: near })}"`).join(", ");
  const register = `PUT /api/v1/namespaces/${namespace}/servers/${server}`;
  const told = isRegistered
    ? {
        message: `${key} names "${tool}", and the registered server "${server}" lists no such tool.`,
        fix: `Correct the name${also === "" ? "" : ` (the nearest: ${also})`}, or register with ${register} what it lists now.`,
      }
    : {
        message: `${key} names "${tool}", and no server "${server}" is registered in this namespace.`,
        fix: `Register it with ${register}, or correct the name.`,
      };
  const found = fileFinding("warning", "tool_unknown", `${skill.root}${skillMd}`, told);
  return { ...found, line: pair?.keySpan.line ?? null };
}

/** The key of the frontmatter that names the tool. */
function placeOf({ server, tool }: ToolName, pairs: readonly Pair[]): { key: string; pair: Pair | undefined } {
  const metadata = findPair(pairs, "metadata");
  const inner = metadata?.value.kind === "mapping" ? findPair(metadata.value.pairs, "mcp-tools") : undefined;
  const names = (pair: Pair | undefined, key: string, value: unknown) =>
    toolsNamedIn({ [key]: value }).some((name) => name.server === server && name.tool === tool) ? pair : undefined;
  const text = (pair: Pair | undefined) => (pair?.value.kind === "scalar" ? pair.value.value : undefined);
  const inMetadata = names(inner, "metadata", { "mcp-tools": text(inner) });
  if (inMetadata !== undefined) return { key: "metadata.mcp-tools", pair: inMetadata };
  return { key: "allowed-tools", pair: findPair(pairs, "allowed-tools") };
}

function pairsOf({ files }: NamingSkill): Pair[] {
  return readSkillMd(files.find((file) => file.path === skillMd)!.bytes, new Remarks()).pairs;
}
