/**
 * How long to wait before something that failed is tried again: the one rule of every loop that
 * tries again with growing delays. A loop holds its policy as a constant and counts for itself.
 *
 *     firstMs 5, mostMs 50    tries    1   2   3   4   5   6
 *                             delay      5  10  20  40  50
 */

/** A source of chance; `Random` of the platform is one. */
export interface Chance {
  /** A uniformly distributed 32-bit unsigned integer. */
  u32(): number;
}

export interface RetryPolicy {
  /** The delay before the second try. */
  readonly firstMs: number;
  /** No delay is longer, but for what `around` adds. */
  readonly mostMs: number;
  /** Each delay is so many times the one before; 2 without it. */
  readonly factor?: number;
}

/**
 * Which part of a delay is waited, so that those who failed together do not come back in step:
 * `full`: from none of it to all; `around`: from half of it to one and a half.
 */
export type Jitter = 'full' | 'around';

/** The delay of a policy behind `failures` earlier ones, without jitter. */
export function retryDelayMs({firstMs, mostMs, factor = 2}: RetryPolicy, failures: number): number {
  return Math.min(mostMs, firstMs * factor ** failures);
}

/** The same delay, of which chance takes a part. */
export function jitteredDelayMs(
  policy: RetryPolicy,
  failures: number,
  {jitter, random}: {readonly jitter: Jitter; readonly random: Chance},
): number {
  const part = random.u32() / 2 ** 32;
  return retryDelayMs(policy, failures) * (jitter === 'full' ? part : part + 0.5);
}
