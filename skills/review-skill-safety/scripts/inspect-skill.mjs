#!/usr/bin/env node
/**
 * Reads the folder of a skill and points at what a reviewer should look at. Runs nothing and changes nothing.
 *
 *   inspect-skill.mjs <folder>
 *
 * Prints the inventory, one line per remark as `level file:line:column [name] excerpt`, and the hosts that are
 * mentioned. Exit codes: 0 no remarks, 1 remarks, 2 wrong usage or an unreadable folder. No remarks is no verdict:
 * words can do harm that no pattern finds. Needs Node.js 20 or later and no packages.
 */
import { createHash } from "node:crypto";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const maxFiles = 2_000;
const maxFileBytes = 16 * 1024 * 1024;
const maxRemarksPerRuleAndFile = 5;
const longLine = 1_000;

/** Searched in every text file, line by line; a rule reports each line once. */
const rules = [
  // U+200C and U+200D join letters and emoji, U+FE0F and U+FE0E choose their look: judged by their neighbours.
  rule("danger", "invisible", [
    /[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f]/,
    /[\u3164\ufeff\uffa0\ufff0-\ufffb]/,
    /[\ufe00-\ufe0d\ue000-\uf8ff]|[\ufe0e\ufe0f]{2}|(?<=[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f]|$)/,
    /[\u{1bca0}-\u{1bca3}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]/u,
  ]),
  rule("danger", "bidi", [/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/]),
  rule("danger", "control", [/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]|\r(?!$)/]),
  rule("danger", "pipe-to-shell", [
    /\b(?:curl|wget|iwr|irm|Invoke-WebRequest)\b[^|\n]*\|\s*(?:sudo\s+)?\S*(?:sh|python\d?|perl|node|iex)\b/i,
    /\b(?:sh|bash|zsh|source|eval|python\d?|node)\b[^\n]{0,20}(?:<\(|\$\(|`)\s*(?:curl|wget)\b/i,
  ]),
  rule("danger", "decode-and-run", [
    /\b(?:base64|xxd|openssl|gunzip)\b[^|\n]*\|\s*(?:sudo\s+)?\S*(?:sh|python\d?|perl|node)\b/i,
    /\b(?:eval|exec|Function|system|iex)\b\s*\(?[^\n]{0,60}(?:atob|b64decode|from_?base64|unhexlify|decompress)/i,
    /\b(?:eval|exec|Function)\b\s*\(?[^\n]{0,60}fromCharCode|\s-e(?:nc|ncodedcommand)\s+[A-Za-z0-9+/=]{20,}/i,
  ]),
  rule("danger", "secrets", [
    /\.ssh\/|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws\/|\.config\/gcloud|\.kube\/config|\.docker\/config/,
    /\.(?:netrc|npmrc|pypirc|git-credentials)\b|\/etc\/shadow|\bwallet\.dat\b|\bcookies\.sqlite\b|\bLogin Data\b/,
    /\bkeychains?\b|\bfind-generic-password\b|\bcredential manager\b/i,
    /JSON\.stringify\(process\.env\)|\b(?:printenv|env)\s*[|>]|(?:dict|json\.dumps)\(os\.environ/,
  ]),
  rule("danger", "persistence", [
    /\.(?:bashrc|zshrc|bash_profile|profile|zprofile|zshenv)\b|\bcrontab\b|\bschtasks\b/,
    /\bLaunchAgents\b|\bsystemctl\s+enable\b|\.git\/hooks\b/,
    /\.claude\/settings|\bCLAUDE\.md\b|\bAGENTS\.md\b|\.cursor\/rules|\bmcp\.json\b/,
  ]),
  rule("danger", "override", [
    /\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:instructions?|rules?|prompts?|guidelines)\b/i,
    /\b(?:do not|don't|never)\s+(?:tell|mention|inform|ask|reveal|show|notify)\b[^.\n]{0,30}\b(?:user|human|anyone)\b/i,
    /\bwithout\s+(?:telling|mentioning|informing|asking|showing|notifying)\b[^.\n]{0,30}\b(?:user|human|anyone)\b/i,
    /\byou are (?:now|no longer)\b|\b(?:user|administrator) has (?:already )?(?:approved|agreed|consented)\b/i,
  ]),
  rule("look", "network", [
    /\b(?:curl|wget|nc|ncat|scp|rsync|sendmail|smtplib|nodemailer|Invoke-WebRequest)\b/,
    /\b(?:urllib|requests\.\w+|httpx|aiohttp|XMLHttpRequest|WebSocket)\b|\bfetch\(/,
    /\bnode:(?:https?|net|dgram|dns|tls)\b/,
  ]),
  rule("look", "run", [
    /\b(?:eval|exec|execSync|spawn|spawnSync|popen|system|Function)\s*\(|\bsubprocess\b|\bchild_process\b/,
    /\bshell\s*=\s*True\b|\bpickle\.loads?\b|\bimportlib\b/,
  ]),
  rule("look", "install", [
    /\b(?:pip3?|npm|pnpm|yarn|gem|cargo|brew|apt|apt-get|dnf|apk|go|uv)\s+(?:install|add|get)\b/,
    /\b(?:npx|uvx|bunx|pipx)\s/,
  ]),
  rule("look", "destroy", [
    /\brm\s+-\w*[rf]|\brmtree\b|\bchmod\s+(?:-R\s+)?[0-7]?777\b|\bsudo\b|--force\b/,
    /--no-verify\b|--insecure\b|\bcurl\s[^\n]*\s-k\b|\bverify\s*=\s*False\b|--dangerously/,
  ]),
  rule("look", "environment", [
    /\bprocess\.env\b|\bos\.environ\b|\bgetenv\b|\$\{?[A-Z_]*(?:TOKEN|SECRET|PASSWORD|API_?KEY)/,
  ]),
  rule("look", "encoded", [/[A-Za-z0-9+/]{120,}={0,2}|(?:\\x[0-9a-f]{2}){30,}/i]),
  rule("look", "comment", [/<!--/]),
  rule("look", "image", [
    /!\[[^\]\n]*\]\(\s*<?(?:https?:)?\/\/|<img\b[^>\n]*\bsrc\s*=\s*["']?(?:https?:)?\/\//i,
  ]),
  rule("look", "punycode", [/\bxn--|https?:\/\/[^\s/"')>]*[^\x00-\x7f]/i]),
];

const magic = [
  ["danger", "native", [0x7f, 0x45, 0x4c, 0x46]],
  ["danger", "native", [0x4d, 0x5a]],
  ["danger", "native", [0xcf, 0xfa, 0xed, 0xfe]],
  ["danger", "native", [0xca, 0xfe, 0xba, 0xbe]],
  ["danger", "native", [0x00, 0x61, 0x73, 0x6d]],
  ["look", "archive", [0x50, 0x4b, 0x03, 0x04]],
  ["look", "archive", [0x1f, 0x8b]],
  ["look", "archive", [0x37, 0x7a, 0xbc, 0xaf]],
  ["look", "archive", [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ["look", "archive", [0x28, 0xb5, 0x2f, 0xfd]],
];

const [folder, ...rest] = process.argv.slice(2);
if (!folder || rest.length > 0) {
  console.error("usage: inspect-skill.mjs <folder>");
  process.exitCode = 2;
} else {
  try {
    process.exitCode = await inspect();
  } catch (error) {
    console.error(`cannot inspect ${show(folder)}: ${show(error.message)}`);
    process.exitCode = 2;
  }
}

function rule(level, name, patterns) {
  return { level, name, patterns };
}

async function inspect() {
  const remarks = [];
  const hosts = new Map();
  console.log("FILES");
  for (const path of await walk("")) {
    const stat = await lstat(join(folder, path));
    remarks.push(...inText(path, path, ["control", "bidi", "invisible", "secrets"]));
    if (!stat.isFile()) {
      remarks.push({ level: "danger", at: path, name: "link", excerpt: "not a regular file" });
      continue;
    }
    if (stat.size > maxFileBytes) throw new Error(`${path} is larger than ${maxFileBytes} bytes`);
    const bytes = await readFile(join(folder, path));
    const text = decode(bytes);
    const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
    const kind = `${text === undefined ? "binary" : "text  "} ${stat.mode & 0o111 ? "x" : "-"}`;
    console.log(`  ${digest}  ${String(stat.size).padStart(9)}  ${kind}  ${show(path)}`);
    remarks.push(...inBytes(path, bytes, text));
    if (text === undefined) continue;
    remarks.push(...inText(path, text));
    for (const [, host] of text.matchAll(/\b(?:https?|wss?|ftp):\/\/([^\s/"'`()<>\\]+)/gi)) {
      hosts.set(host, (hosts.get(host) ?? 0) + 1);
    }
  }
  report(remarks, hosts);
  return remarks.length === 0 ? 0 : 1;
}

function report(remarks, hosts) {
  const dangers = remarks.filter(({ level }) => level === "danger");
  const looks = remarks.filter(({ level }) => level === "look");
  console.log("\nREMARKS");
  for (const { level, at, name, excerpt } of [...dangers, ...looks]) {
    console.log(`  ${level.padEnd(6)}  ${show(at)} [${name}] ${show(excerpt)}`);
  }
  console.log("\nHOSTS");
  for (const [host, count] of [...hosts].sort()) console.log(`  ${String(count).padStart(4)}  ${show(host)}`);
  console.log(`\n${dangers.length} danger, ${looks.length} look. No remarks is no verdict: read the words too.`);
}

async function walk(directory, found = []) {
  const children = await readdir(join(folder, directory), { withFileTypes: true });
  for (const child of children.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = directory === "" ? child.name : `${directory}/${child.name}`;
    if (child.isDirectory()) await walk(path, found);
    else found.push(path);
    if (found.length > maxFiles) throw new Error(`more than ${maxFiles} files`);
  }
  return found;
}

function inBytes(path, bytes, text) {
  const known = magic.find(([, , first]) => first.every((byte, index) => bytes[index] === byte));
  if (known !== undefined && text === undefined) {
    return [{ level: known[0], at: path, name: known[1], excerpt: "by its first bytes" }];
  }
  const begins = bytes.toString("latin1", 0, 4);
  const isImage = /\.(?:png|jpe?g|gif|webp)$/i.test(path) && /^(?:\x89PNG|\xff\xd8\xff|GIF8|RIFF)/.test(begins);
  if (text === undefined && !isImage) return [{ level: "look", at: path, name: "binary", excerpt: "not UTF-8 text" }];
  return [];
}

function inText(path, text, only) {
  const counts = new Map();
  const remarks = [];
  for (const [index, line] of text.split("\n").entries()) {
    const hits = new Map();
    for (const { level, name, patterns } of rules) {
      if (only !== undefined && !only.includes(name)) continue;
      const column = patterns.map((pattern) => line.search(pattern)).find((at) => at !== -1);
      if (column !== undefined) hits.set(name, { level, column });
    }
    if (line.length > longLine) hits.set("long-line", { level: "look", column: longLine });
    for (const [name, { level, column }] of hits) {
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (count > maxRemarksPerRuleAndFile) continue;
      const excerpt = line.slice(Math.max(0, column - 20), column + 80).trim();
      remarks.push({ level, at: `${path}:${index + 1}:${column + 1}`, name, excerpt });
    }
  }
  for (const [name, count] of counts) {
    const more = count - maxRemarksPerRuleAndFile;
    if (more > 0) remarks.push({ level: levelOf(name), at: path, name, excerpt: `and on ${more} more lines` });
  }
  return remarks;
}

function levelOf(name) {
  return rules.find((rule) => rule.name === name)?.level ?? "look";
}

/** The text of bytes that are UTF-8, a byte order mark included; a zero byte means that they are not text. */
function decode(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Safe for a terminal, and visible: nothing but printable ASCII leaves this script. */
function show(text) {
  return text.replace(/[^\x20-\x7e]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}
