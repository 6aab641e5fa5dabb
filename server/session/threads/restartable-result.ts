/**
 * The answer of a read that runs here until it holds the thread for long, and then begins again
 * where it does not.
 *
 * Estimates are wrong at times, and one call of a function over megabytes cannot pause. As long as
 * nothing of the answer was given away, beginning again over the same snapshot is not noticed.
 */
import type {Budget} from '#server/execution/budget.ts';
import {ThreadNeeded} from '#server/execution/missing-prerequisites.ts';
import {type Pause, pause} from '#server/execution/batch.ts';
import type {PulledResult, Streaming} from '../statements/stream-cursor.ts';

export class RestartableResult implements PulledResult {
  readonly #budget: Budget;
  readonly #move: () => Streaming;
  #current: Streaming;

  /** @param move - Begins again, not movable any more. */
  constructor(here: Streaming & {readonly budget: Budget}, move: () => Streaming) {
    this.#current = here;
    this.#budget = here.budget;
    this.#move = move;
  }

  get returned(): number {
    return this.#current.result.returned;
  }

  get truncated(): boolean {
    return this.#current.result.truncated;
  }

  get limit(): number {
    return this.#current.result.limit;
  }

  get isWhole(): boolean {
    return this.#current.result.isWhole;
  }

  pull(): Buffer | Pause | undefined {
    try {
      const piece = this.#current.result.pull();
      if (piece !== pause) this.#budget.moves = undefined;
      return piece;
    } catch (error) {
      if (!(error instanceof ThreadNeeded)) throw error;
      this.#current.close();
      this.#current = this.#move();
      return pause;
    }
  }

  rest(): Promise<void> {
    return this.#current.result.rest();
  }

  close(): void {
    this.#current.result.close();
  }

  /** Ends what makes the answer. */
  end(): void {
    this.#current.close();
  }
}
