/**
 * Turns of the event loop for work that pauses and goes on.
 *
 * The runtime runs everything that is due in one turn before it looks at connections again: sixty
 * statements that go on for a millisecond each would let a request wait for sixty. So whoever gave
 * way is called in the order of coming, and when those of one turn have taken their time the others
 * wait for the next one:
 *
 *     turn 1   connections   A B       (2 ms are over; C and D wait)
 *     turn 2   connections   C D
 */

/** How long those who go on may take of one turn, but for the last of them. */
const turnMsMax = 2;

export class Turns {
  readonly #monotonic: () => number;
  readonly #soon: (task: () => void) => void;
  readonly #waiting: (() => void)[] = [];
  /** When those of this turn began; undefined: none has. */
  #begunAt: number | undefined;

  /** @param soon - Calls a task in the next turn, tasks in the order in which they came. */
  constructor(monotonic: () => number, soon: (task: () => void) => void) {
    this.#monotonic = monotonic;
    this.#soon = soon;
  }

  /** Resolves in a later turn. */
  next(): Promise<void> {
    this.#soon(this.#goOn);
    return new Promise(resolve => void this.#waiting.push(resolve));
  }

  /** Comes once for each that waits. */
  readonly #goOn = (): void => {
    if (this.#begunAt === undefined) {
      this.#begunAt = this.#monotonic();
      // It comes before all others of the next turn.
      this.#soon(() => (this.#begunAt = undefined));
    } else if (this.#monotonic() - this.#begunAt > turnMsMax) {
      this.#soon(this.#goOn);
      return;
    }
    this.#waiting.shift()?.();
  };
}
