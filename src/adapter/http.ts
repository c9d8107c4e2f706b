/** What a registry answered instead of what was asked for, or why it did not answer. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  /**
   * Whether asking again would end alike: the address is wrong, or the token is. Otherwise the registry is away, busy,
   * or in the middle of something.
   */
  readonly isRefusal: boolean;

  constructor(message: string, { isRefusal = false, cause }: { isRefusal?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.isRefusal = isRefusal;
  }
}

export interface Asking {
  fetch: typeof fetch;
  token: string | undefined;
}

interface Question {
  /** Said in errors instead of the address, which may hold a secret. */
  what: string;
  signal: AbortSignal;
  /** More than this is never read, whatever the answer says of itself. */
  maxBytes: number;
  init?: RequestInit;
}

/** The largest answer that is no file: a page of entries with room to spare. */
export const maxJsonBytes = 8 * 1024 * 1024;
const temporary = new Set([408, 425, 429]);

/** @throws RegistryError for anything but a 2xx that fits */
export async function ask(asking: Asking, address: string, question: Question): Promise<Uint8Array> {
  const { what, signal, maxBytes, init } = question;
  // Taken out of its object: called as a method, the fetch of Workers refuses.
  const { fetch: send } = asking;
  const headers = new Headers(init?.headers);
  if (asking.token !== undefined) headers.set("authorization", `Bearer ${asking.token}`);
  try {
    const response = await send(address, { ...init, headers, signal, redirect: "manual" });
    if (response.ok) return await readAtMost(response, maxBytes, what);
    await response.body?.cancel().catch(() => {});
    // A redirect is none either: the token would be sent along to wherever it leads.
    const isRefusal = response.status >= 300 && response.status < 500 && !temporary.has(response.status);
    throw new RegistryError(`${what}: the registry answered ${response.status}`, { isRefusal });
  } catch (error) {
    if (error instanceof RegistryError) throw error;
    throw new RegistryError(`${what}: the registry did not answer (${reasonOf(error)})`, { cause: error });
  }
}

export async function askJson(asking: Asking, address: string, question: Omit<Question, "maxBytes">): Promise<unknown> {
  const bytes = await ask(asking, address, { ...question, maxBytes: maxJsonBytes });
  return parseJson(bytes, question.what);
}

export function parseJson(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new RegistryError(`${what}: the answer is no JSON`, { cause: error });
  }
}

async function readAtMost(response: Response, maxBytes: number, what: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader!.read()) {
    length += part.value.byteLength;
    if (length > maxBytes) {
      await reader!.cancel();
      throw new RegistryError(`${what}: the answer is longer than ${maxBytes} bytes`);
    }
    parts.push(part.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
