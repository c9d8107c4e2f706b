import { Problem } from "../domain/problem.ts";
import { logFailure } from "../log.ts";
import type { WebContext } from "./browser.ts";

/** Refusals in the words of OAuth (RFC 6749, section 5.2), which is what its clients read at its endpoints. */
export function oauthError(context: WebContext, error: string, description: string, status = 400): Response {
  return context.json({ error, error_description: description }, status as 400);
}

/** For what the endpoints throw. */
export function asOAuthError(error: Error, context: WebContext): Response {
  if (!(error instanceof Problem)) {
    logFailure("oauth", error, { path: context.req.path });
    return oauthError(context, "server_error", "Internal error", 500);
  }
  const isOurs = error.status >= 500;
  const answer = oauthError(
    context,
    isOurs ? "temporarily_unavailable" : "invalid_request",
    error.message,
    error.status,
  );
  for (const [name, value] of Object.entries(error.details.headers ?? {})) answer.headers.set(name, value);
  return answer;
}
