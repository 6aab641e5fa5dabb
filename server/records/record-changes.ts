/**
 * Which records a transaction made, changed or deleted, for whoever follows its commit.
 *
 * Types are always complete; records are named while they are few. A statement that was taken back
 * may leave names behind: what is named may have changed, what is not has not.
 */
import type {Rid} from '#server/model/value.ts';

export interface ChangedRecord {
  readonly typeId: number;
  readonly rid: Rid;
}

const recordsMax = 1_000;

export class RecordChanges {
  readonly typeIds = new Set<number>();
  #records: ChangedRecord[] | undefined = [];

  /** Undefined: too many to name. */
  get records(): readonly ChangedRecord[] | undefined {
    return this.#records;
  }

  add(typeId: number, rid: Rid): void {
    this.typeIds.add(typeId);
    if (this.#records === undefined) return;
    if (this.#records.length < recordsMax) this.#records.push({typeId, rid});
    else this.#records = undefined;
  }
}
