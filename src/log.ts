/** Writes one JSON line for an error nobody expected. Callers answer "internal error"; the cause stays here. */
export function logFailure(door: string, error: unknown, facts: Record<string, unknown> = {}): void {
  const cause = error instanceof Error ? { message: error.message, stack: error.stack } : { message: String(error) };
  // oxlint-disable-next-line no-console -- The platform collects the console; this is the one place that writes to it.
  console.error(JSON.stringify({ level: "error", door, ...facts, ...cause }));
}
