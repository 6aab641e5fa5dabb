/** Records that a transaction made: nobody else can have seen, changed or deleted them. */
import {appended} from '#server/base/appended.ts';
import {ridsEqual} from '#server/model/rid.ts';
import type {Rid} from '#server/model/value.ts';

/** Up to this many a linear look is cheaper. */
const fewMax = 8;

export class CreatedRecords {
  /** The first ones. */
  #few: Rid[] = [];
  /** Positions by bucket, of the records beyond those. */
  #positions: Map<number, Set<number>> | undefined;

  add(rid: Rid): void {
    if (this.#few.length < fewMax) {
      this.#few = appended(this.#few, rid);
      return;
    }
    const {bucket, position} = rid;
    this.#positions ??= new Map();
    const positions = this.#positions.get(bucket);
    if (positions === undefined) this.#positions.set(bucket, new Set([position]));
    else positions.add(position);
  }

  has(rid: Rid): boolean {
    if (this.#positions?.get(rid.bucket)?.has(rid.position) === true) return true;
    return this.#few.some(made => ridsEqual(made, rid));
  }
}
