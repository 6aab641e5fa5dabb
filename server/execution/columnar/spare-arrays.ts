/**
 * Typed arrays of one size that wait for the next run: a short run would spend more on the making
 * of its arrays, and on the garbage that they leave, than on its rows.
 *
 * Whoever takes one owns it until he gives it back; what is never given back is garbage like any
 * other. Invariant: an array that is held is not in here. A thread has its own.
 */
export class SpareArrays<Numbers> {
  readonly #make: () => Numbers;
  readonly #countMax: number;
  readonly #waiting: Numbers[] = [];

  /** @param countMax - No more than so many wait. */
  constructor(countMax: number, make: () => Numbers) {
    this.#make = make;
    this.#countMax = countMax;
  }

  /** Hands out an array with what was left in it. */
  take(): Numbers {
    return this.#waiting.pop() ?? this.#make();
  }

  /** Nobody reads it any more. */
  give(numbers: Numbers): void {
    if (this.#waiting.length < this.#countMax) this.#waiting.push(numbers);
  }
}
