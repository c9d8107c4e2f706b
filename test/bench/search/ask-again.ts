/**
 * A request that may be sent twice: workerd closes a connection that is idle for five seconds, at times just when it is
 * used again.
 */
export async function askAgain(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return fetch(url, init);
  }
}
