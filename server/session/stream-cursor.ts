/**
 * A cursor over a run that is still under way.
 *
 * `begin` takes the first piece, so that errors before any row reject where the statement was
 * started. Whatever ends it (the last row, an error, `close`) ends the run exactly once.
 */
import {Refusal} from '#server/base/errors.ts';
import type {QueryResult} from '#server/execution/query-result.ts';
import type {ResultCursor, ResultSummary} from './session.ts';

export interface StreamCursorOptions {
  readonly result: QueryResult;
  readonly summary: ResultSummary;
  /** A timeout ends the result with the rows so far instead of failing it. */
  readonly partialOnTimeout: boolean;
  readonly onEnd: (failed: boolean) => void;
}

export class StreamCursor implements ResultCursor {
  readonly summary: ResultSummary;
  readonly #options: StreamCursorOptions;
  #first: Buffer | undefined;
  #hasFirst = false;
  #ended = false;

  constructor(options: StreamCursorOptions) {
    this.#options = options;
    this.summary = options.summary;
  }

  async begin(): Promise<void> {
    this.#first = await this.#pull();
    this.#hasFirst = true;
  }

  next(): Promise<Buffer | undefined> {
    if (!this.#hasFirst) return this.#pull();
    this.#hasFirst = false;
    const first = this.#first;
    this.#first = undefined;
    return Promise.resolve(first);
  }

  close(): void {
    this.#end(false);
  }

  async #pull(): Promise<Buffer | undefined> {
    if (this.#ended) return undefined;
    try {
      const piece = await this.#options.result.next();
      this.#count();
      if (piece === undefined) this.#end(false);
      return piece;
    } catch (error) {
      this.#count();
      if (this.#options.partialOnTimeout && isTimeout(error)) {
        this.summary.truncated = true;
        this.#end(false);
        return undefined;
      }
      this.#end(true);
      throw error;
    }
  }

  #count(): void {
    this.summary.returned = this.#options.result.returned;
    this.summary.truncated = this.#options.result.truncated;
  }

  #end(failed: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.result.close();
    this.#options.onEnd(failed);
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'query.timeout';
}
