import { Hono } from "hono";

import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";

/** What is left when no route took the method: 405 with the methods that an address of this shape has. */
export function otherMethodsOf(apis: readonly Hono<AppEnv>[]): Hono<AppEnv> {
  const others = new Hono<AppEnv>();
  for (const [path, methods] of methodsOf(apis)) {
    const allow = [...methods].join(", ");
    others.all(path, (context) => {
      throw problem("method_not_allowed", `${context.req.method} is not for this address; use ${allow}`, {
        headers: { allow },
      });
    });
  }
  return others;
}

/** The routes themselves are the table, so that it cannot lack one. */
export function methodsOf(apis: readonly Hono<AppEnv>[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { path, method } of apis.flatMap((api) => api.routes)) {
    const methods = (found.get(path) ?? new Set()).add(method);
    // The router answers HEAD as GET without a body.
    found.set(path, method === "GET" ? methods.add("HEAD") : methods);
  }
  return found;
}
