#!/usr/bin/env node
/**
 * Reads a whole skill over MCP and checks every file against the manifest.
 *
 *   verify-skill.mjs <mcp address> <skill uri>
 *   verify-skill.mjs http://localhost:8787/mcp/registry skill://registry/publish-skills/SKILL.md
 *
 * Prints one line per file. Exit codes: 0 everything matches, 1 something does not, 2 there was nothing to check
 * (wrong usage, no connection, unknown skill). For private skills put a token into SKILL_REGISTRY_TOKEN.
 * Needs Node.js 20 or later and no packages. Writes no files and runs nothing of what it reads.
 */
import { createHash } from "node:crypto";

const protocolVersion = "2026-07-28";
const maxFiles = 512;
const maxSkillBytes = 16 * 1024 * 1024;
const maxEntryBytes = 4 * 1024 * 1024;
const timeoutMs = 30_000;

const [address, uri, ...rest] = process.argv.slice(2);
if (!address || !uri || rest.length > 0 || !URL.canParse(address)) {
  console.error("usage: verify-skill.mjs <mcp address> <skill uri>");
  process.exitCode = 2;
} else {
  process.exitCode = await verify();
}

async function verify() {
  let skill;
  try {
    skill = (await call("skills/get", maxEntryBytes)).skill;
  } catch (error) {
    console.error(`cannot get ${show(uri)}: ${show(reason(error))}`);
    return 2;
  }

  const problems = checkManifest(skill);
  for (const problem of problems) console.log(`FAIL  manifest: ${show(problem)}`);
  if (problems.length > 0) return 1;

  let failed = 0;
  for (const file of skill.resources) {
    const path = show(file.uri.slice(directoryOf(uri).length));
    try {
      await checkFile(file);
      console.log(`ok    ${file.digest.slice("sha256:".length, 23)}  ${String(file.size).padStart(8)}  ${path}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL  ${path}: ${show(reason(error))}`);
    }
  }

  const total = `${skill.resources.length} files, ${bytesListed(skill)} bytes`;
  console.log(failed === 0 ? `verified ${show(uri)}: ${total}` : `NOT verified: ${failed} of ${total} failed`);
  return failed === 0 ? 0 : 1;
}

/** Everything that is wrong with the entry itself, before a single file is read. */
function checkManifest(skill) {
  const files = skill?.resources;
  if (skill?.uri !== uri) return [`the answer is about ${String(skill?.uri)}`];
  if (!uri.endsWith("/SKILL.md")) return ["the address of a skill ends in /SKILL.md"];
  if (files === "dynamic") return ["the server lists no digests for this skill (dynamic), so nothing can be verified"];
  if (!Array.isArray(files)) return ["there is no list of files"];

  const problems = files.flatMap(checkListed);
  if (problems.length > 0) return problems;
  const uris = files.map((file) => file.uri);
  const name = skill.frontmatter?.name;
  if (!directoryOf(uri).endsWith(`/${String(name)}/`)) problems.push(`the folder is not called "${String(name)}"`);
  if (!uris.includes(uri)) problems.push("SKILL.md is not listed");
  if (new Set(uris).size < uris.length) problems.push("a file is listed twice");
  if (files.length > maxFiles) problems.push(`${files.length} files are listed, more than ${maxFiles}`);
  const bytes = bytesListed(skill);
  if (bytes > maxSkillBytes) problems.push(`${bytes} bytes are listed, more than ${maxSkillBytes}`);
  return problems;
}

function checkListed(file) {
  if (typeof file?.uri !== "string") return ["a file is listed without its address"];
  if (!isInside(file.uri)) return [`${file.uri} is outside the skill's folder`];
  if (!/^sha256:[0-9a-f]{64}$/.test(file.digest)) return [`${file.uri} has no sha256 digest`];
  if (!Number.isSafeInteger(file.size) || file.size < 0) return [`${file.uri} has no size`];
  return [];
}

/** @throws with the first difference between the file as read and as listed */
async function checkFile(file) {
  // JSON writes a control character as six bytes, so text may arrive up to six times as long as the file.
  const { contents } = await call("resources/read", 64 * 1024 + 6 * file.size, file.uri);
  if (contents?.length !== 1) throw new Error("the answer does not have exactly one content");
  if (contents[0].uri !== file.uri) throw new Error(`the answer is about ${String(contents[0].uri)}`);
  const bytes = bytesOf(contents[0]);
  if (bytes.length !== file.size) throw new Error(`size is ${bytes.length}, listed is ${file.size}`);
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  if (digest !== file.digest) throw new Error(`digest is ${digest}, listed is ${file.digest}`);
}

/** The raw bytes of a content. Buffer decodes base64 leniently; only what encodes back to itself is accepted. */
function bytesOf({ text, blob }) {
  if (typeof text === "string" && blob === undefined) return Buffer.from(text, "utf8");
  if (typeof blob !== "string" || text !== undefined) throw new Error("the content needs either text or blob");
  const bytes = Buffer.from(blob, "base64");
  if (bytes.toString("base64") !== blob) throw new Error("the blob is not standard base64");
  return bytes;
}

/** One MCP request; every request stands alone, so there is no handshake before it. */
async function call(method, maxBytes, target = uri) {
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": protocolVersion,
    "Mcp-Method": method,
  };
  if (method === "resources/read") headers["Mcp-Name"] = headerValue(target);
  const token = process.env.SKILL_REGISTRY_TOKEN;
  if (token) headers.Authorization = `Bearer ${token}`;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": protocolVersion,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "verify-skill", version: "1.0.0" },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { uri: target, _meta } });
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(address, { method: "POST", headers, body, redirect: "error", signal });
  const reply = parseReply(response, await readText(response, maxBytes));
  if (reply?.error) throw new Error(`${reply.error.message} (${reply.error.code})`);
  if (!reply?.result) throw new Error(`HTTP ${response.status} without an MCP answer`);
  return reply.result;
}

/** The JSON-RPC reply in a plain JSON body or in the event stream that a server may answer with instead. */
function parseReply(response, text) {
  try {
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return JSON.parse(text);
    const events = text.split(/\r?\n\r?\n/).map((event) => event.match(/^data:.*$/gm) ?? []);
    const messages = events.filter((lines) => lines.length > 0).map((lines) => lines.map((line) => line.slice(5)));
    return messages.map((lines) => JSON.parse(lines.join("\n"))).find((message) => message.id === 1);
  } catch {
    return undefined;
  }
}

async function readText(response, maxBytes) {
  const chunks = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** A header carries visible ASCII only; anything else travels as base64 between markers. */
function headerValue(value) {
  const isPlain = /^[\x21-\x7e]+$/.test(value) && !value.startsWith("=?base64?");
  return isPlain ? value : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}

function isInside(file) {
  const directory = directoryOf(uri);
  if (!file.startsWith(directory) || /[?#]/.test(file)) return false;
  try {
    const segments = file.slice(directory.length).split("/").map(decodeURIComponent);
    return segments.every((segment) => !["", ".", ".."].includes(segment) && !/[/\0]/.test(segment));
  } catch {
    return false;
  }
}

function directoryOf(skillUri) {
  return skillUri.slice(0, skillUri.lastIndexOf("/") + 1);
}

function bytesListed(skill) {
  return skill.resources.reduce((sum, file) => sum + file.size, 0);
}

function reason(error) {
  const cause = error.cause?.code ?? error.cause?.message;
  return cause ? `${error.message} (${cause})` : error.message;
}

/** Text from the server, safe for a terminal: nothing but printable ASCII leaves this script. */
function show(text) {
  return text.replace(/[^\x20-\x7e]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}
