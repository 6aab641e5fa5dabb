/**
 * Clock and timers of a simulated world: time moves only from one timer to the next, and between
 * two of them everything that promises have to do is done.
 *
 * Deterministic as long as nothing inside waits for a socket, a file or a real timer: timers of one
 * moment run in the order in which they were set.
 */
import {setImmediate as turn} from 'node:timers/promises';
import type {Clock, Timers} from '#server/platform/clock.ts';

interface Scheduled {
  readonly at: number;
  readonly order: number;
  readonly task: () => void;
}

/** 2026-01-01: an arbitrary moment at which worlds begin. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

export class VirtualTime implements Clock, Timers {
  #now = 0;
  #order = 0;
  readonly #scheduled: Scheduled[] = [];

  now(): number {
    return EPOCH_MS + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  /** RFC 3339, whole seconds. */
  stamp(): string {
    return new Date(this.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  }

  after(delayMs: number, task: () => void): () => void {
    const scheduled = {at: this.#now + Math.max(0, delayMs), order: this.#order++, task};
    const place = this.#scheduled.findLastIndex(other => other.at <= scheduled.at) + 1;
    this.#scheduled.splice(place, 0, scheduled);
    return () => {
      const index = this.#scheduled.indexOf(scheduled);
      if (index >= 0) this.#scheduled.splice(index, 1);
    };
  }

  yield(): Promise<void> {
    return new Promise(resolve => void this.after(0, resolve));
  }

  sleep(ms: number): Promise<void> {
    return new Promise(resolve => void this.after(ms, resolve));
  }

  /** Lets `ms` pass, or less where `until` becomes true; says whether it did. */
  async run(ms: number, until: () => boolean = () => false): Promise<boolean> {
    const end = this.#now + ms;
    for (;;) {
      await turn();
      if (until()) return true;
      const next = this.#scheduled[0];
      if (next === undefined || next.at > end) break;
      this.#scheduled.shift();
      this.#now = Math.max(this.#now, next.at);
      next.task();
    }
    this.#now = end;
    return until();
  }
}
