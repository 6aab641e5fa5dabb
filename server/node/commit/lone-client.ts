/**
 * Whether commits come one after another, each behind the answer to the one before, while nobody
 * else is there: then whoever writes an entry keeps nobody waiting. With a second client one is
 * worked for here while the disk works for the other, which is more than either saves alone.
 */

/** So many in a row tell. */
const loneMin = 16;

export class LoneClient {
  readonly #idleTime: () => number;
  #inRow = 0;
  /** When it was served last. */
  #idleMs = 0;

  /** `idleTime`: for how long the event loop has waited for events so far, in milliseconds. */
  constructor(idleTime: () => number = () => performance.nodeTiming.idleTime) {
    this.#idleTime = idleTime;
  }

  /** An entry comes; `isIdle`: nothing is under way. Answers whether its client is alone. */
  comes(isIdle: boolean): boolean {
    // A request that was there already would have been read without waiting for events.
    const hasWaited = isIdle && this.#idleTime() > this.#idleMs;
    this.#inRow = hasWaited ? this.#inRow + 1 : 0;
    return this.#inRow > loneMin;
  }

  /** An entry was written while everybody else waited. */
  served(): void {
    this.#idleMs = this.#idleTime();
  }
}
