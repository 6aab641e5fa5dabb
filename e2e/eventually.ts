/** Waits for a condition of the world, which is asked again and again until it holds. */
import {setTimeout as sleep} from 'node:timers/promises';

export interface Patience {
  /** Default: a minute. */
  readonly seconds?: number;
  readonly everyMs?: number;
}

/**
 * Resolves with the first answer of `ask` that is neither false nor undefined. An `ask` that throws
 * has no answer yet.
 *
 * @param what - Completes the sentence "... did not come about within 60 s".
 * @throws {Error} with the last reason, when the time is over.
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | false | undefined> | T | false | undefined,
  {seconds = 60, everyMs = 200}: Patience = {},
): Promise<T> {
  const end = performance.now() + seconds * 1_000;
  let last = 'nothing was said about why';
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== false && answer !== undefined) return answer;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    if (performance.now() > end) {
      throw new Error(`${what} did not come about within ${seconds} s: ${last}`);
    }
    await sleep(everyMs);
  }
}
