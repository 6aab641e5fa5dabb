/**
 * Records by id for one run of an operator, each loaded once while it is remembered.
 *
 * Hops meet the same vertices again and again, within a batch and from batch to batch; loading
 * a record costs many times what finding it here does. Memory is bounded: past `bytesMax` all is
 * forgotten and the next ids are loaded anew. A run that writes remembers nothing from one call
 * to the next, so it sees its own changes.
 */
import {StoredRecord} from '#server/layout/stored-record.ts';
import type {RecordValue, Rid} from '#server/model/value.ts';
import type {Slot} from '#server/plan/expression.ts';
import type {Batch} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {idsOf, type RidKey, ridKey, withFound} from '../hops/vertex-ids.ts';

const bytesMax = 4 << 20;
/** What a record costs beside its bytes, and one that is not a stored record. */
const recordBytes = 128;

export class RecordMemo {
  readonly #context: ExecutionContext;
  /** Null: known to be gone. */
  readonly #known = new Map<RidKey, RecordValue | null>();
  #bytes = 0;

  constructor(context: ExecutionContext) {
    this.#context = context;
  }

  /** The records, in the order of `rids`; undefined for what does not exist. */
  records(rids: readonly Rid[]): readonly (RecordValue | undefined)[] {
    const {graph, writes} = this.#context;
    if (rids.length <= 1) return graph.records(rids);
    if (writes !== undefined || this.#bytes > bytesMax) this.#forget();
    const keys = rids.map(ridKey);
    const wanted: Rid[] = [];
    const wantedKeys: RidKey[] = [];
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at] as RidKey;
      if (this.#known.has(key)) continue;
      this.#known.set(key, null);
      wanted.push(rids[at] as Rid);
      wantedKeys.push(key);
    }
    const loaded = graph.records(wanted);
    loaded.forEach((record, at) => {
      if (record === undefined) return;
      this.#known.set(wantedKeys[at] as RidKey, record);
      this.#bytes += recordBytes + (record instanceof StoredRecord ? record.length : recordBytes);
    });
    return keys.map(key => this.#known.get(key) ?? undefined);
  }

  /** Puts records in the place of the ids in `slot`; rows whose record is gone are dropped. */
  complete(batch: Batch, slot: Slot): Batch {
    if (batch.rowCount === 0) return batch;
    const {rids, rows} = idsOf(batch, slot);
    return withFound(batch, slot, rows, this.records(rids));
  }

  #forget(): void {
    this.#known.clear();
    this.#bytes = 0;
  }
}
