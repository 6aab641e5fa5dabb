/**
 * How much a statement meets other commits on its records: remembered by statement, so that those
 * that never do are spared what helps those that do.
 */

/** Runs for which one conflict is remembered, and all of them together. */
const runsOfConflict = 64;
const runsMax = 1_024;

export class Contention {
  #runsLeft = 0;

  /** Whether the next run will probably meet another commit. */
  get isLikely(): boolean {
    return this.#runsLeft > 0;
  }

  /** A run met another commit. */
  met(): void {
    this.#runsLeft = Math.min(runsMax, this.#runsLeft + runsOfConflict);
  }

  /** A run was committed. */
  passed(): void {
    if (this.#runsLeft > 0) this.#runsLeft -= 1;
  }
}
