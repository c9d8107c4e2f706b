/**
 * Secrets that people type where they do not belong: into a label, a User-Agent, a name that is then refused. What is
 * written down or answered shows which one it was, by its kind and id, and nothing that opens anything.
 */
const secrets = /(sk[rli]_[0-9a-f]{16})_[0-9a-f]+(?:_[0-9a-f]*)?/gi;

export function withoutSecrets(text: string): string {
  return text.replaceAll(secrets, "$1…");
}
