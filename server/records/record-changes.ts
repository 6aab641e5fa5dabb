/**
 * Which records a transaction made, changed or deleted, for whoever follows its commit.
 *
 * Types are always complete; records are named while they are few. A statement that was taken back
 * may leave names behind: what is named may have changed, what is not has not.
 */
import {appended} from '#server/base/appended.ts';
import type {Rid} from '#server/model/value.ts';

export interface ChangedRecord {
  readonly typeId: number;
  readonly rid: Rid;
}

const recordsMax = 1_000;

export class RecordChanges {
  #records: ChangedRecord[] | undefined = [];
  /** Names the types when there are too many records to name. */
  #typeIds: Set<number> | undefined;

  get typeIds(): ReadonlySet<number> {
    return this.#typeIds ?? new Set(this.#records?.map(({typeId}) => typeId));
  }

  /** Undefined: too many to name. */
  get records(): readonly ChangedRecord[] | undefined {
    return this.#records;
  }

  add(typeId: number, rid: Rid): void {
    const records = this.#records;
    if (records === undefined) this.#typeIds?.add(typeId);
    else if (records.length < recordsMax) this.#records = appended(records, {typeId, rid});
    else {
      this.#typeIds = new Set([...this.typeIds, typeId]);
      this.#records = undefined;
    }
  }
}
