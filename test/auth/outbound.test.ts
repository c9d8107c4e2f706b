import { afterEach, describe, expect, it, vi } from "vitest";

import { fetchJson, OutboundError } from "../../src/auth/outbound.ts";
import type { OutboundOptions } from "../../src/auth/outbound.ts";
import { outsideFault } from "../../src/domain/outside.ts";

const hosted = "https://skills.example.com";
const trial = "http://localhost:8787";
const url = "https://issuer.example.com/keys";

function options(more: Partial<OutboundOptions> = {}): OutboundOptions {
  return { ownOrigin: hosted, maxBytes: 1_000, timeoutMs: 200, ...more };
}

/** Answers whatever is asked; what was asked is kept. */
function answer(make: () => Response | Promise<Response>) {
  const stub = vi.fn<(input: string, init: RequestInit) => Promise<Response>>(async () => make());
  vi.stubGlobal("fetch", stub);
  return stub;
}

function json(body: string | ReadableStream, init: ResponseInit = {}): Response {
  return new Response(body, { ...init, headers: { "content-type": "application/json", ...init.headers } });
}

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => new Error("it was answered"),
    (thrown: unknown) => thrown as Error,
  );
  return error instanceof OutboundError ? error.reason : String(error);
}

afterEach(() => void vi.unstubAllGlobals());

describe("the addresses that the registry asks", () => {
  it.each([
    "https://issuer.example.com",
    "https://issuer.example.com/a/b?c=d",
    "https://token.actions.githubusercontent.com/.well-known/jwks",
    "https://xn--bcher-kva.example",
    "https://bücher.example",
    "https://issuer.xn--p1ai",
    "https://issuer.example.com:443/",
  ])("may be %s", (text) => {
    expect(outsideFault(text, hosted)).toBeUndefined();
  });

  it.each([
    "http://issuer.example.com",
    "ftp://issuer.example.com",
    "file:///etc/passwd",
    "data:application/json,{}",
    "https://issuer.example.com:8443",
    "https://issuer.example.com:80",
    "https://user@issuer.example.com",
    "https://user:secret@issuer.example.com",
    "https://issuer.example.com/#keys",
    "https://issuer.example.com/#",
    "https://",
    "issuer.example.com",
    "",
    // Addresses, in each spelling that some parser takes for one.
    "https://127.0.0.1",
    "https://127.1",
    "https://2130706433",
    "https://0x7f000001",
    "https://0x7f.1",
    "https://0177.0.0.1",
    "https://127.0.0.1.",
    "https://①②⑦.0.0.1",
    "https://169.254.169.254/latest/meta-data",
    "https://8.8.8.8",
    "https://[::1]",
    "https://[::ffff:127.0.0.1]",
    "https://[fd00::1]",
    "https://[2606:4700::1111]",
    // Names that only some network knows.
    "https://localhost",
    "https://LOCALHOST",
    "https://a.localhost",
    "https://localhost.",
    "https://printer.local",
    "https://metadata.google.internal",
    "https://router.home.arpa",
    "https://1.0.0.127.in-addr.arpa",
    "https://hidden.onion",
    "https://app.test",
    "https://nas.lan",
    "https://intranet",
    "https://issuer.example.com.",
    "https://issuer..example.com",
    "https://a_b.example.com",
    "https://-a.example.com",
    "https://example.c0m",
    `https://${"a".repeat(64)}.example.com`,
    `https://issuer.example.com/${"a".repeat(2_048)}`,
    // Ourselves, which would be a loop.
    "https://skills.example.com/.well-known/openid-configuration",
    "https://SKILLS.example.com",
  ])("are never %s", async (text) => {
    const stub = answer(() => json("{}"));
    expect(outsideFault(text, hosted)).toBeTypeOf("string");
    expect(await reasonOf(fetchJson(text, options()))).toBe("address");
    expect(stub).not.toHaveBeenCalled();
  });

  it.each(["http://localhost:9000/x", "http://127.0.0.1:9000", "https://[::1]:9000", "http://127.1:9000"])(
    "may be %s for a registry that is itself on loopback, and for no other",
    (text) => {
      expect(outsideFault(text, trial)).toBeUndefined();
      expect(outsideFault(text, hosted)).toBeTypeOf("string");
    },
  );

  it("are not more for a trial than loopback, and never the trial itself", () => {
    expect(outsideFault("http://issuer.example.com", trial)).toBe("is not https");
    expect(outsideFault("https://192.168.0.1", trial)).toBeTypeOf("string");
    expect(outsideFault("http://localhost:8787/x", trial)).toBe("is our own");
  });
});

describe("a request to another host", () => {
  it("gives back status and JSON, and sends nothing but its name", async () => {
    const stub = answer(() => json(`{"keys":[]}`, { status: 400 }));
    expect(await fetchJson(url, options())).toMatchObject({ status: 400, body: { keys: [] } });
    const [asked, init] = stub.mock.calls[0]!;
    expect(asked).toBe(url);
    expect([...new Headers(init.headers)]).toEqual([
      ["accept", "application/json"],
      ["user-agent", "skill-registry"],
    ]);
    expect(init).toMatchObject({ redirect: "manual", cache: "no-store" });
  });

  it("posts a form with the credential that it was given", async () => {
    const stub = answer(() => json("{}"));
    await fetchJson(url, options({ form: new URLSearchParams({ code: "a b" }), authorization: "Basic eA==" }));
    const [, init] = stub.mock.calls[0]!;
    expect(init.method).toBe("POST");
    expect(String(init.body)).toBe("code=a+b");
    expect(new Headers(init.headers).get("authorization")).toBe("Basic eA==");
  });

  it.each([301, 302, 303, 307, 308])("follows no %s", async (status) => {
    const stub = answer(() => json("{}", { status, headers: { location: "http://127.0.0.1/" } }));
    expect(await reasonOf(fetchJson(url, options()))).toBe("redirect");
    expect(stub).toHaveBeenCalledTimes(1);
  });

  it.each(["application/json; charset=utf-8", "application/jwk-set+json", "Application/JSON"])(
    "takes %s for JSON",
    async (type) => {
      answer(() => json("{}", { headers: { "content-type": type } }));
      expect((await fetchJson(url, options())).body).toEqual({});
    },
  );

  it.each(["text/plain", "text/html", "application/jsonp", "application/octet-stream", "text/json", ""])(
    "does not take %s for JSON",
    async (type) => {
      answer(() => json("{}", { headers: { "content-type": type } }));
      expect(await reasonOf(fetchJson(url, options()))).toBe("media_type");
    },
  );

  it.each(["", "{", "<html>"])("refuses a body that is not JSON: %j", async (body) => {
    answer(() => json(body));
    expect(await reasonOf(fetchJson(url, options()))).toBe("not_json");
  });

  it("refuses a body that is not UTF-8", async () => {
    answer(() => new Response(new Uint8Array([0x22, 0xff, 0x22]), { headers: { "content-type": "application/json" } }));
    expect(await reasonOf(fetchJson(url, options()))).toBe("not_json");
  });

  it("stops an endless answer at the limit, whatever its length says", async () => {
    let pulled = 0;
    let isCancelled = false;
    const endless = () =>
      new ReadableStream<Uint8Array>(
        {
          pull: (controller) => {
            pulled++;
            controller.enqueue(new Uint8Array(100).fill(0x20));
          },
          cancel: () => void (isCancelled = true),
        },
        { highWaterMark: 0 },
      );
    answer(() => json(endless(), { headers: { "content-length": "2" } }));
    expect(await reasonOf(fetchJson(url, options()))).toBe("too_large");
    expect(pulled).toBe(11);
    await vi.waitFor(() => expect(isCancelled).toBe(true));
  });

  it("takes a body of exactly the limit", async () => {
    const body = `"${"a".repeat(998)}"`;
    answer(() => json(body));
    expect((await fetchJson(url, options())).body).toHaveLength(998);
  });

  it("waits neither for a host that says nothing", async () => {
    answer(() => new Promise<Response>(() => {}));
    expect(await reasonOf(fetchJson(url, options()))).toBe("too_slow");
  });

  it("nor for one that never ends its body", async () => {
    let signal: AbortSignal | undefined;
    const stub = answer(() =>
      json(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) })),
    );
    const asked = fetchJson(url, options());
    signal = stub.mock.calls[0]![1].signal ?? undefined;
    expect(await reasonOf(asked)).toBe("too_slow");
    expect(signal?.aborted).toBe(true);
  });

  it("says of a host that cannot be reached no more than that", async () => {
    answer(() => Promise.reject(new Error("connect ECONNREFUSED 10.0.0.7:443")));
    const error = (await fetchJson(url, options()).catch((thrown: unknown) => thrown)) as OutboundError;
    expect(error.reason).toBe("unreachable");
    expect(error.message).toBe("issuer.example.com cannot be reached");
  });
});
