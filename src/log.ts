/** Writes one JSON line for an error nobody expected. Callers answer "internal error"; the cause stays here. */
export function logFailure(door: string, error: unknown, facts: Record<string, unknown> = {}): void {
  const cause = error instanceof Error ? { message: error.message, stack: error.stack } : { message: String(error) };
  // oxlint-disable-next-line no-console -- The platform collects the console; this is the one place that writes to it.
  console.error(JSON.stringify({ level: "error", door, ...facts, ...cause }));
}

/** Writes one JSON line for work that nobody asked for and an operator may look for. */
export function logEvent(event: string, facts: Record<string, unknown>): void {
  // oxlint-disable-next-line no-console -- As above.
  console.log(JSON.stringify({ level: "info", event, ...facts }));
}
