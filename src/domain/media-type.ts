/**
 * Path and bytes → media type. A table of our own: every public one maps `.ts` to a video format and knows neither
 * `.py` nor `.jsonl`. The type belongs to the path, so it is stored beside it and never beside the bytes.
 */
const byExtension: Readonly<Record<string, string>> = {
  md: "text/markdown",
  markdown: "text/markdown",
  mdx: "text/markdown",
  txt: "text/plain",
  text: "text/plain",
  log: "text/plain",
  rst: "text/x-rst",
  json: "application/json",
  jsonl: "application/jsonl",
  jsonc: "application/json",
  json5: "application/json5",
  yaml: "application/yaml",
  yml: "application/yaml",
  toml: "application/toml",
  xml: "application/xml",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  html: "text/html",
  htm: "text/html",
  css: "text/css",
  js: "text/javascript",
  mjs: "text/javascript",
  cjs: "text/javascript",
  jsx: "text/jsx",
  ts: "text/typescript",
  mts: "text/typescript",
  cts: "text/typescript",
  tsx: "text/tsx",
  py: "text/x-python",
  rb: "text/x-ruby",
  go: "text/x-go",
  rs: "text/x-rust",
  java: "text/x-java",
  kt: "text/x-kotlin",
  swift: "text/x-swift",
  c: "text/x-c",
  h: "text/x-c",
  cpp: "text/x-c++",
  cs: "text/x-csharp",
  php: "text/x-php",
  pl: "text/x-perl",
  lua: "text/x-lua",
  r: "text/x-r",
  sql: "application/sql",
  sh: "application/x-sh",
  bash: "application/x-sh",
  zsh: "application/x-sh",
  ps1: "text/x-powershell",
  bat: "text/x-bat",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  ico: "image/x-icon",
  svg: "image/svg+xml",
  pdf: "application/pdf",
  zip: "application/zip",
  gz: "application/gzip",
  tgz: "application/gzip",
  tar: "application/x-tar",
  wasm: "application/wasm",
  ttf: "font/ttf",
  otf: "font/otf",
  woff: "font/woff",
  woff2: "font/woff2",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  mp4: "video/mp4",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
};

const decodeStepBytes = 64 * 1024;

/** Unknown extensions: text when the bytes are lossless UTF-8 (an empty file is), else octets. */
export function mediaTypeOf(path: string, bytes: Uint8Array): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 ? name.slice(dot + 1).toLowerCase() : "";
  if (Object.hasOwn(byExtension, extension)) return byExtension[extension]!;
  return isText(bytes) ? "text/plain" : "application/octet-stream";
}

/**
 * The text of bytes that survive the way to text and back, a byte order mark included; else undefined. Only these
 * may be served as MCP `text`: anything else would break the size and digest that the client checks.
 */
export function decodeLossless(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Whether `decodeLossless` would succeed, without holding the text of a large file. */
export function isText(bytes: Uint8Array): boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (let at = 0; at < bytes.byteLength; at += decodeStepBytes) {
      decoder.decode(bytes.subarray(at, at + decodeStepBytes), { stream: true });
    }
    decoder.decode();
    return true;
  } catch {
    return false;
  }
}
