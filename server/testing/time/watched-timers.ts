/**
 * Real timers that tell a test of each pause: what only shows between two steps of long work is
 * seen there, however fast or slow the machine is.
 */
import type {Timers} from '#server/platform/clock.ts';
import {createTimers} from '#server/platform/real/clock.ts';

export class WatchedTimers implements Timers {
  /** Called before each pause; what it throws is thrown by who pauses. */
  onPause: () => void = () => {};
  readonly #real = createTimers();

  after(delayMs: number, task: () => void): () => void {
    return this.#real.after(delayMs, task);
  }

  yield(): Promise<void> {
    this.onPause();
    return this.#real.yield();
  }
}
