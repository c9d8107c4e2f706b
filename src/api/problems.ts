import type { Problem } from "../domain/problem.ts";

/** A refusal as RFC 9457 problem details, with `code` for programs and `findings` where a release was refused. */
export function problemDetails(problem: Problem): Response {
  const { findings, headers } = problem.details;
  const body = {
    type: `urn:skill-registry:problem:${problem.code}`,
    title: problem.title,
    status: problem.status,
    detail: problem.message,
    code: problem.code,
    ...(findings === undefined ? {} : { findings }),
  };
  const challenge = challengeOf(problem);
  return Response.json(body, {
    status: problem.status,
    headers: { "content-type": "application/problem+json", ...challenge, ...headers },
  });
}

function challengeOf(problem: Problem): Record<string, string> {
  if (problem.code === "unauthorized") return { "www-authenticate": "Bearer" };
  return problem.code === "invalid_token" ? { "www-authenticate": 'Bearer error="invalid_token"' } : {};
}
