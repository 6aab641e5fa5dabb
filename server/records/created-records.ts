/** Records that a transaction made: nobody else can have seen, changed or deleted them. */
import type {Rid} from '#server/model/value.ts';

export class CreatedRecords {
  /** Positions by bucket. */
  readonly #positions = new Map<number, Set<number>>();

  add({bucket, position}: Rid): void {
    let positions = this.#positions.get(bucket);
    if (positions === undefined) {
      positions = new Set();
      this.#positions.set(bucket, positions);
    }
    positions.add(position);
  }

  has({bucket, position}: Rid): boolean {
    return this.#positions.get(bucket)?.has(position) === true;
  }
}
