/**
 * Deletes the records of a bucket some at a time, each with everything that belongs to it.
 *
 * For buckets whose records leave traces elsewhere (edges lie with their ends, too): dropping or
 * truncating such a bucket is a sequence of bounded transactions.
 */
import {RowWalker} from '#server/indexes/row-walker.ts';
import {bucketRange, ridOfRecordKey} from '#server/layout/record-key.ts';
import type {Rid} from '#server/model/value.ts';
import {RecordWriter} from './records.ts';
import type {BuildLimits} from './records-build.ts';
import type {RecordContext} from './records-context.ts';
import type {Transaction} from './transaction-contract.ts';

/** Deletes the next records of the bucket in `transaction`; how many. */
export function deleteSomeRecords(
  transaction: Transaction,
  context: RecordContext,
  bucketId: number,
  limits: BuildLimits,
): number {
  const writer = new RecordWriter(transaction, context);
  const rids = firstRids(transaction, bucketId, limits.recordsMax);
  let deleted = 0;
  for (const rid of rids) {
    if (transaction.writeBytes >= limits.writeBytesMax) break;
    writer.delete(rid);
    deleted += 1;
  }
  return deleted;
}

function firstRids(transaction: Transaction, bucketId: number, countMax: number): Rid[] {
  const rids: Rid[] = [];
  const walker = new RowWalker(transaction, [bucketRange(bucketId)]);
  while (rids.length < countMax && walker.next()) {
    rids.push(ridOfRecordKey(walker.bytes, walker.keyStart));
  }
  walker.close();
  return rids;
}
