/**
 * Arrays of a prepared plan that wait for its next run: a short run would spend more on the making
 * of typed arrays, and on the garbage that they leave, than on its rows.
 *
 * Runs of one plan may be under way at once, so each takes its own. What a run ends without giving
 * back is garbage like any other. Invariant: arrays that are held are not in here.
 */
export class SpareArrays<Arrays> {
  readonly #make: () => Arrays;
  #waiting: Arrays | undefined;

  constructor(make: () => Arrays) {
    this.#make = make;
  }

  /** With what the run before has left in them. */
  take(): Arrays {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting ?? this.#make();
  }

  /** Nobody reads them any more. */
  give(arrays: Arrays): void {
    this.#waiting = arrays;
  }
}
