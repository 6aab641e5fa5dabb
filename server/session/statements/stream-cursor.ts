/**
 * A cursor over a run that is still under way.
 *
 * `begin` takes the first piece, so that errors before any row reject where the statement was
 * started; a short answer is whole then and gives back what it used before anyone reads it.
 * Whatever ends it (the last piece, an error, `close`) ends the run exactly once.
 */
import {Refusal} from '#server/base/errors.ts';
import {type Pause, pause} from '#server/execution/batch.ts';
import type {ExecutionPermit} from './admission.ts';
import type {ResultCursor, ResultSummary} from '../session.ts';

/** An answer that is being made, here (QueryResult) or elsewhere. */
export interface PulledResult {
  /** Rows of the pieces so far. */
  readonly returned: number;
  readonly truncated: boolean;
  /** Cap of rows in force, -1 for none; known with the first piece. */
  readonly limit: number;
  /** Nothing comes behind the piece that was pulled last. */
  readonly isWhole: boolean;
  /** The next piece; `pause` when it takes longer, undefined at the end. */
  pull(): Buffer | Pause | undefined;
  /** Resolves when it is time to pull again after a `pause`. */
  rest(): Promise<void>;
  close(): void;
}

/** Such an answer, and the end of what makes it. */
export interface Streaming {
  readonly result: PulledResult;
  readonly close: () => void;
}

export interface StreamCursorOptions {
  readonly result: PulledResult;
  readonly summary: ResultSummary;
  /** Held while rows are made, given back while nobody asks for them. */
  readonly place: ExecutionPermit;
  /** A timeout ends the result with the rows so far instead of failing it. */
  readonly partialOnTimeout: boolean;
  /** Told what it failed with; undefined: it did not. */
  readonly onEnd: (failure: unknown) => void;
}

const nothing = Buffer.alloc(0);

export class StreamCursor implements ResultCursor {
  readonly summary: ResultSummary;
  readonly #options: StreamCursorOptions;
  #first: Buffer | undefined;
  #hasFirst = false;
  #ended = false;
  #failure: Refusal | undefined;

  constructor(options: StreamCursorOptions) {
    this.#options = options;
    this.summary = options.summary;
  }

  /** Itself with its first piece; a promise only when the plan pauses before that. */
  begin(): this | Promise<this> {
    const piece = this.#pull();
    return piece === pause ? this.#pullOn().then(first => this.#holds(first)) : this.#holds(piece);
  }

  get whole(): Buffer | undefined {
    if (!this.#ended || !this.#hasFirst || this.#failure !== undefined) return undefined;
    return this.#first ?? nothing;
  }

  async next(): Promise<Buffer | undefined> {
    if (this.#hasFirst) {
      const first = this.#first;
      this.#hasFirst = false;
      this.#first = undefined;
      return first;
    }
    const {place} = this.#options;
    place.resume();
    const pulled = this.#pull();
    const piece = pulled === pause ? await this.#pullOn() : pulled;
    place.park();
    return piece;
  }

  close(): void {
    this.#end(undefined);
  }

  /** Ends the run even if nobody ever asks for another piece; who asks is told. */
  terminate(reason: Refusal): void {
    if (this.#ended) return;
    this.#failure = reason;
    this.#end(this.#failure);
  }

  #holds(first: Buffer | undefined): this {
    this.#first = first;
    this.#hasFirst = true;
    this.#options.place.park();
    return this;
  }

  /** Goes on behind a pause. */
  async #pullOn(): Promise<Buffer | undefined> {
    for (;;) {
      await this.#options.result.rest();
      const piece = this.#pull();
      if (piece !== pause) return piece;
    }
  }

  #pull(): Buffer | Pause | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#ended) return undefined;
    const {result} = this.#options;
    try {
      const piece = result.pull();
      this.#count();
      if (piece === undefined || result.isWhole) this.#end(undefined);
      return piece;
    } catch (error) {
      this.#count();
      if (this.#options.partialOnTimeout && isTimeout(error)) {
        this.summary.truncated = true;
        this.#end(undefined);
        return undefined;
      }
      this.#end(error);
      throw error;
    }
  }

  #count(): void {
    this.summary.returned = this.#options.result.returned;
    this.summary.truncated = this.#options.result.truncated;
    this.summary.limit = this.#options.result.limit;
  }

  #end(failure: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.result.close();
    this.#options.onEnd(failure);
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'query.timeout';
}
