import { Hono } from "hono";

import { digestOfText } from "../domain/digest.ts";
import type { Digest } from "../domain/digest.ts";
import type { Finding } from "../domain/finding.ts";
import { maxIdempotencyKeyLength } from "../domain/limits.ts";
import { parseSkillPath } from "../domain/names.ts";
import { formatPrincipal } from "../domain/principal.ts";
import { may } from "../domain/policy.ts";
import type { SkillVisibility } from "../domain/policy.ts";
import { Problem, problem } from "../domain/problem.ts";
import { parseVersion } from "../domain/version.ts";
import type { AppEnv } from "../env.ts";
import { readUpload } from "../publish/archive.ts";
import { prepare } from "../publish/prepare.ts";
import type { Prepared } from "../publish/prepare.ts";
import { publish } from "../publish/publish.ts";
import type { PublishOptions } from "../publish/publish.ts";
import { findUnknownTools } from "../publish/tool-findings.ts";
import type { ToolCheck } from "../publish/tool-findings.ts";
import { Blobs } from "../storage/blobs.ts";
import { Ledger } from "../storage/ledger.ts";
import { findSource } from "../storage/publishers.ts";
import { findReceipt } from "../storage/receipts.ts";
import type { ReceiptKey } from "../storage/receipts.ts";
import { mayAt, requireCaller, requireSkill } from "./caller.ts";
import type { ApiContext, Caller } from "./caller.ts";
import { tell } from "./news.ts";
import { answerOf, locationOf } from "./publish-answer.ts";
import type { AnswerShape } from "./publish-answer.ts";
import { quotasOf } from "./quotas.ts";
import { readFlag } from "./query.ts";

/** `POST /namespaces/{namespace}/skills`: one skill, or a folder of skills. */
export const publishApi = new Hono<AppEnv>();

publishApi.post("/namespaces/:namespace/skills", async (context) => {
  const caller = await requireCaller(context, "publish", parameters);
  const query = readQuery(context);
  const { raw } = context.req;
  const upload = await readUpload({
    contentType: context.req.header("content-type") ?? null,
    body: raw.body,
    headers: raw.headers,
  });
  const prepared = await prepare(upload, {
    ...query,
    namespace: caller.namespace.name,
    isFolderOfSkills: query.prune !== undefined,
    findMore: (skills) => findUnknownTools(skills, toolCheckOf(context, caller)),
  });
  for (const { path } of prepared.drafts) requireSkill(caller, "publish", path);
  if (query.prune !== undefined && query.path !== undefined) requireSkill(caller, "publish", query.path);
  const key = query.isDryRun ? undefined : await readKey(context, caller, prepared);
  return publishOnce(context, caller, prepared, { query, key });
});

function toolCheckOf({ env }: ApiContext, { principal, namespace }: Caller): ToolCheck {
  const mayReadServers = may(principal, "read", { kind: "server", namespace });
  return { db: env.DB, namespace: namespace.name, mayReadServers };
}

interface Request {
  query: ReturnType<typeof readQuery>;
  key: ReceiptKey | undefined;
}

/** Runs the publish, or repeats the answer that its key already has. A lost race ends with the winner's answer. */
async function publishOnce(
  context: ApiContext,
  caller: Caller,
  prepared: Prepared,
  { query, key }: Request,
): Promise<Response> {
  const known = key === undefined ? undefined : await replay(context, caller, key);
  if (known !== undefined) return known;
  const { drafts, isSingle } = prepared;
  const shape = await shapeOf(context, caller, prepared, query.isDryRun);
  const answer = (published: Parameters<typeof answerOf>[0]) => answerOf(published, shape);
  const options: PublishOptions = {
    ...query,
    prune: pruneOf(query, isSingle),
    actor: caller.actor,
    onCommit: (news) => tell(context, news),
    mayKnow: (path) => mayAt(caller, "survey", path),
    ...(key === undefined
      ? {}
      : {
          receiptOf: (published) => ({
            ...key,
            status: answer(published).status,
            body: JSON.stringify(answer(published).body),
          }),
        }),
  };
  const ledger = new Ledger(context.env.DB, caller.namespace.name, quotasOf(context.env));
  const stores = { ledger, blobs: new Blobs(context.env.BLOBS) };
  try {
    const { status, body, location } = answer(await publish(drafts, options, stores));
    return context.json(body, status, location === undefined ? {} : { location });
  } catch (error) {
    const hasWinner = error instanceof Problem && error.code === "receipt_exists" && key !== undefined;
    const winner = hasWinner ? await replay(context, caller, key) : undefined;
    if (winner !== undefined) return winner;
    throw error;
  }
}

async function shapeOf(
  { env }: ApiContext,
  caller: Caller,
  { isSingle, findings }: Prepared,
  isDryRun: boolean,
): Promise<AnswerShape> {
  const source = await findSource(env.DB, caller.principal);
  return { namespace: caller.namespace.name, isSingle, findings: findings as Finding[], isDryRun, caller, source };
}

/** @throws Problem `idempotency_key_reused` when the key answered another request */
async function replay(context: ApiContext, caller: Caller, key: ReceiptKey): Promise<Response | undefined> {
  const receipt = await findReceipt(context.env.DB, caller.namespace.name, key, caller.now);
  if (receipt === undefined) return undefined;
  if (receipt.requestHash !== key.requestHash) {
    throw problem(
      "idempotency_key_reused",
      "This Idempotency-Key was used within the last day for a request with other parameters or files; use a new key",
    );
  }
  const { release } = JSON.parse(receipt.body) as { release?: { path: string; version: string } };
  const location: Record<string, string> =
    release === undefined ? {} : { location: locationOf(caller.namespace.name, release) };
  return new Response(receipt.body, {
    status: receipt.status,
    headers: { "content-type": "application/json", "idempotent-replayed": "true", ...location },
  });
}

/** The request is what it means: its parameters and the bytes under each path, whatever their packaging. */
async function readKey(context: ApiContext, caller: Caller, prepared: Prepared): Promise<ReceiptKey | undefined> {
  const key = context.req.header("idempotency-key");
  if (key === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > maxIdempotencyKeyLength) {
    throw problem(
      "invalid_request",
      `Idempotency-Key must be 1 to ${maxIdempotencyKeyLength} visible ASCII characters`,
    );
  }
  const parameters = Object.entries(context.req.query()).sort(([a], [b]) => (a < b ? -1 : 1));
  const skills = prepared.drafts.map((draft) => [
    draft.path,
    draft.tree,
    draft.files.filter((file) => file.executable === true).map((file) => file.path),
  ]);
  const requestHash: Digest = await digestOfText(JSON.stringify([parameters, skills]));
  return { principal: formatPrincipal(caller.principal), key, requestHash };
}

/** Pruning compares an upload of several skills with what lies below one path; anything else has no "rest". */
function pruneOf(query: ReturnType<typeof readQuery>, isSingle: boolean): PublishOptions["prune"] {
  if (query.prune === undefined) return undefined;
  if (query.path === undefined || isSingle) {
    throw problem(
      "invalid_request",
      "prune needs ?path= and an upload of several skills, without a SKILL.md at its root",
    );
  }
  return { below: query.path, isDry: query.prune === "dry_run" };
}

const parameters = ["path", "version", "visibility", "prune", "dry_run", "current", "allow_secrets"];

function readQuery(context: ApiContext) {
  const { path, version, visibility, prune } = context.req.query();
  return {
    path: path === undefined ? undefined : parseSkillPath(path),
    version: version === undefined ? undefined : parseVersion(version),
    visibility: readVisibility(visibility),
    isDryRun: readFlag(context, "dry_run", false),
    mayBecomeCurrent: readFlag(context, "current", true),
    allowSecrets: readFlag(context, "allow_secrets", false),
    prune: readPrune(prune),
  };
}

function readVisibility(text: string | undefined): SkillVisibility | undefined {
  if (text === undefined || text === "public" || text === "unlisted" || text === "private") return text;
  throw problem("invalid_request", `visibility must be public, unlisted or private, not "${text}"`);
}

function readPrune(text: string | undefined): "dry_run" | "true" | undefined {
  if (text === "dry_run" || text === "true") return text;
  if (text === undefined || text === "false") return undefined;
  throw problem("invalid_request", `prune must be dry_run, true or false, not "${text}"`);
}
