/** Timers and a clock that move only when a test says so. */
import type {Clock, Timers} from '#server/platform/clock.ts';

export class ManualTimers implements Timers, Clock {
  #now = 0;
  #tasks: {at: number; task: () => void}[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, task: () => void): () => void {
    const entry = {at: this.#now + delayMs, task};
    this.#tasks.push(entry);
    return () => {
      this.#tasks = this.#tasks.filter(other => other !== entry);
    };
  }

  yield(): Promise<void> {
    return Promise.resolve();
  }

  /** Moves time on and runs what became due, in order of time. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = this.#tasks.filter(entry => entry.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#tasks = this.#tasks.filter(entry => entry !== due);
      this.#now = Math.max(this.#now, due.at);
      due.task();
    }
    this.#now = end;
  }
}
