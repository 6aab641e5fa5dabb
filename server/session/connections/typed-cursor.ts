/**
 * Rows as values, in portions of the reader's size, over the bytes in which they come from whatever
 * thread makes them (execution/result/typed-rows.ts).
 */
import {TypedRowReader} from '#server/execution/query-result.ts';
import type {Value} from '#server/model/value.ts';
import type {ResultCursor, ResultSummary, RowCursor} from '../session.ts';

export class TypedCursor implements RowCursor {
  readonly #cursor: ResultCursor;
  #rows: TypedRowReader | undefined;
  #ended = false;

  /** @param cursor - Gives rows in the encoding `typedRows`. */
  constructor(cursor: ResultCursor) {
    this.#cursor = cursor;
  }

  get columns(): readonly string[] | undefined {
    return this.#cursor.summary.columns;
  }

  get summary(): ResultSummary {
    return this.#cursor.summary;
  }

  async next(rowsMax: number): Promise<readonly (readonly Value[])[]> {
    const rows: (readonly Value[])[] = [];
    while (rows.length < rowsMax) {
      const row = this.#rows?.next();
      if (row !== undefined) rows.push(row);
      else if (!(await this.#nextPiece())) break;
    }
    return rows;
  }

  close(): void {
    this.#ended = true;
    this.#rows = undefined;
    this.#cursor.close();
  }

  async #nextPiece(): Promise<boolean> {
    this.#rows = undefined;
    if (this.#ended) return false;
    const piece = await this.#cursor.next();
    this.#ended ||= piece === undefined;
    if (piece === undefined) return false;
    // The cursor uses the bytes for its next piece, which is asked for behind the last row.
    this.#rows = new TypedRowReader(piece);
    return true;
  }
}
