/**
 * Time, chance and timers as values from outside.
 *
 * Everything below `session/` takes these as arguments, so that a simulated world can
 * replay one seed to one trace. `real/` implements them on Node.
 */
export interface Clock {
  /** Wall clock, milliseconds since 1970-01-01 UTC. May jump; never used to order anything. */
  now(): number;
  /** Monotonic milliseconds with a fraction, from an arbitrary origin. */
  monotonic(): number;
  /**
   * Milliseconds for which this thread has had a processor; a system call of under a microsecond.
   * Absent where time is simulated.
   */
  worked?(): number;
}

export interface Random {
  /** A uniformly distributed 32-bit unsigned integer. */
  u32(): number;
  /** Fills `target` with random bytes (cryptographic strength in `real/`). */
  fill(target: Uint8Array): void;
}

export interface Timers {
  /** Calls `task` once after `delayMs`; the returned function cancels it (idempotent). */
  after(delayMs: number, task: () => void): () => void;
  /** Resolves after everything that is ready now has had its turn (setImmediate). */
  yield(): Promise<void>;
}
