/**
 * Moves the documents of a partitioned type to the buckets that their values lead to, chunk by
 * chunk: `REBUILD TYPE ... WITH repartition = true`.
 *
 * A moved document gets a new id, for the bucket is part of it. Writers go on meanwhile: what they
 * insert lies right already, and a document that they change is taken in the next attempt.
 */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {recordTypeId} from '#server/layout/record.ts';
import {bucketRange, keyBehindRecord, ridOfRecordKey} from '#server/layout/record-key.ts';
import type {Rid} from '#server/model/value.ts';
import {RecordWriter} from './records.ts';
import type {BuildLimits, ChunkedWork} from './build.ts';
import type {RecordContext} from './context.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

interface Progress {
  readonly bucketAt: number;
  /** Key behind the last record that was looked at; undefined: start of the bucket. */
  readonly start: Uint8Array | undefined;
  readonly visited: number;
  readonly moved: number;
}

export class Repartition implements ChunkedWork {
  readonly #context: RecordContext;
  readonly #type: CatalogType;
  #progress: Progress = {bucketAt: 0, start: undefined, visited: 0, moved: 0};
  #pending: Progress = this.#progress;

  constructor(context: RecordContext, type: CatalogType) {
    this.#context = context;
    this.#type = type;
  }

  get done(): boolean {
    return this.#progress.bucketAt >= this.#type.bucketIds.length;
  }

  /** Documents looked at in committed chunks; one that was moved may be met again. */
  get recordsDone(): number {
    return this.#progress.visited;
  }

  get recordsMoved(): number {
    return this.#progress.moved;
  }

  fill(transaction: Transaction, limits: BuildLimits): void {
    let {start, visited, moved} = this.#progress;
    const {bucketAt} = this.#progress;
    const {rids, isEnd} = this.#nextRids(transaction, limits.recordsMax);
    const writer = new RecordWriter(transaction, this.#context);
    let taken = 0;
    for (const rid of rids) {
      if (transaction.writeBytes >= limits.writeBytesMax) break;
      if (writer.relocate(rid)) moved++;
      start = keyBehindRecord(rid);
      taken++;
    }
    visited += taken;
    this.#pending =
      isEnd && taken === rids.length
        ? {bucketAt: bucketAt + 1, start: undefined, visited, moved}
        : {bucketAt, start, visited, moved};
  }

  /** The next documents of the type in the bucket, and whether it has no more. */
  #nextRids(
    transaction: Transaction,
    countMax: number,
  ): {readonly rids: readonly Rid[]; readonly isEnd: boolean} {
    const {bucketAt, start} = this.#progress;
    const range = bucketRange(this.#type.bucketIds[bucketAt] as number);
    const walker = new RowWalker(transaction, [{start: start ?? range.start, end: range.end}]);
    const rids: Rid[] = [];
    let more = walker.next();
    for (; more && rids.length < countMax; more = walker.next()) {
      const {bytes, keyStart, keyEnd} = walker;
      if (recordTypeId(bytes, keyEnd) === this.#type.id) rids.push(ridOfRecordKey(bytes, keyStart));
    }
    walker.close();
    return {rids, isEnd: !more};
  }

  advance(): void {
    this.#progress = this.#pending;
  }
}
