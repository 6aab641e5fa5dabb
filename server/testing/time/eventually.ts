/**
 * Waiting in a test for what comes by itself. The bound is for what hangs: no machine is too slow
 * for what is only slow.
 */

const hangMillis = 50_000;

/** Looks take processors from what is waited for: the longer it has taken, the rarer they are. */
const pollMillisOf = (waitedMillis: number): number =>
  Math.min(100, Math.max(5, waitedMillis / 20));

export interface EventuallyOptions {
  /** A longer bound, for what takes several starts of a process, or a cluster. */
  readonly millisMax?: number;
  /** The time between two looks, where each of them uses something up. */
  readonly pollMillis?: number;
  /** What a person wants to read when it did not come, such as the end of a log. */
  readonly told?: () => string;
}

/**
 * Resolves when `holds` does; one that rejects does not hold yet.
 *
 * @throws {Error} that says what did not come, and what `holds` last failed with.
 */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  options: EventuallyOptions = {},
): Promise<void> {
  const {millisMax = hangMillis, pollMillis, told = () => ''} = options;
  const begunAt = performance.now();
  let failure: unknown;
  for (;;) {
    try {
      failure = undefined;
      if (await holds()) return;
    } catch (error) {
      failure = error;
    }
    const waitedMillis = performance.now() - begunAt;
    if (waitedMillis > millisMax) {
      throw new Error(`not after ${millisMax} ms: ${what}\n${told()}`, {cause: failure});
    }
    const pause = pollMillis ?? pollMillisOf(waitedMillis);
    await new Promise(resolve => setTimeout(resolve, pause));
  }
}
