/** How busy the network thread is, told to the thread of an archive in a word of shared memory. */
import type {Timers} from '#server/platform/clock.ts';

const everyMs = 50;
const one = 1_000;

/** Tells it until it is ended; made on the network thread. */
export class BusyShare {
  readonly memory = new SharedArrayBuffer(4);
  readonly #word = new Int32Array(this.memory);
  readonly #timers: Pick<Timers, 'after'>;
  #last = performance.eventLoopUtilization();
  #cancel = (): void => {};

  constructor(timers: Pick<Timers, 'after'>) {
    this.#timers = timers;
    this.#later();
  }

  end(): void {
    this.#cancel();
  }

  #later(): void {
    this.#cancel = this.#timers.after(everyMs, () => {
      const now = performance.eventLoopUtilization();
      const {utilization} = performance.eventLoopUtilization(now, this.#last);
      this.#last = now;
      Atomics.store(this.#word, 0, Math.round(utilization * one));
      this.#later();
    });
  }
}

/** Reads what the network thread told last, from 0 to 1. */
export function toldBusyShare(memory: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(memory), 0) / one;
}
