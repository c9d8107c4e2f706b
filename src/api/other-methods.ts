import { Hono } from "hono";

import { problem } from "../domain/problem.ts";
import type { AppEnv } from "../env.ts";

/** What is left when no route took the method: 405 with the methods that an address of this shape has. */
const methodsOf: Readonly<Record<string, string>> = {
  "/namespaces": "GET, POST",
  "/namespaces/:namespace": "GET",
  "/namespaces/:namespace/tokens": "GET, POST",
  "/namespaces/:namespace/tokens/:id": "DELETE",
  "/namespaces/:namespace/quotas": "GET, PUT",
  "/namespaces/:namespace/skills": "GET, POST",
  "/namespaces/:namespace/skills/:rest{.+}": "GET, PATCH, DELETE",
};

export const otherMethods = new Hono<AppEnv>();

for (const [path, allow] of Object.entries(methodsOf)) {
  otherMethods.all(path, (context) => {
    throw problem("method_not_allowed", `${context.req.method} is not for this address; use ${allow}`, {
      headers: { allow },
    });
  });
}
