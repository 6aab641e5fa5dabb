/**
 * Writes a change of the schema into a transaction: the catalog, new names, and what goes with
 * dropped buckets and indexes.
 *
 * One transaction, so one entry of the log: the new catalog and the emptied ranges are there
 * together or not at all. Everything is a range operation but the records of edges, whose
 * adjacency keys lie with their ends: those are deleted record by record before (their caller's
 * task), so a bucket of edges is empty when it gets here.
 */
import {Refusal} from '#server/base/errors.ts';
import {utf8Bytes} from '#server/base/utf8.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {SchemaChange} from '#server/catalog/change.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {adjacencyBucketRange} from '#server/layout/adjacency-key.ts';
import {externalBucketRange} from '#server/layout/external-key.ts';
import {indexRange} from '#server/layout/index-key.ts';
import {nameKey} from '#server/layout/name-key.ts';
import {bucketRange} from '#server/layout/record-key.ts';
import type {DatabaseSchema} from './database-schema.ts';
import {catalogKey} from '#server/transactions/system-keys.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

/** Puts `catalog` in force when the transaction commits. */
export function writeCatalog(
  transaction: Transaction,
  catalog: Catalog,
  schema: DatabaseSchema,
): void {
  for (const type of catalog.types) {
    for (const property of type.definition.properties) {
      if (schema.names.idOf(property.name).isNew) {
        transaction.put(nameKey(property.id), utf8Bytes(property.name));
      }
    }
  }
  transaction.put(catalogKey, schema.encode(catalog));
  transaction.newSchemaVersion = catalog.version;
}

/** Does the physical work of the change, but the building of indexes. */
export function writeDrops(transaction: Transaction, change: SchemaChange): void {
  for (const indexId of change.indexIdsDropped) {
    const {start, end} = indexRange(indexId);
    transaction.deleteRange(start, end);
  }
  for (const bucketId of change.bucketIdsDropped) emptyBucket(transaction, bucketId);
}

/** Removes every record of a bucket, what lies beside them, and its vertices' adjacency keys. */
export function emptyBucket(transaction: Transaction, bucketId: number): void {
  for (const {start, end} of [bucketRange(bucketId), adjacencyBucketRange(bucketId)]) {
    transaction.require({kind: 'range-untouched', start, end});
    transaction.deleteRange(start, end);
  }
  // Nobody writes there without writing the record.
  const beside = externalBucketRange(bucketId);
  transaction.deleteRange(beside.start, beside.end);
  const count = transaction.recordCount(bucketId);
  if (count > 0) transaction.count(bucketId, -count);
}

/** The commit fails when anybody writes a record of the bucket meanwhile. */
export function requireBucketUntouched(transaction: Transaction, bucketId: number): void {
  transaction.require({kind: 'range-untouched', ...bucketRange(bucketId)});
}

/**
 * Refuses to give a bucket with records to another type: they would be found under none.
 *
 * @throws {Refusal} `schema.conflict`.
 */
export function requireEmptyBucket(
  transaction: Transaction,
  catalog: Catalog,
  bucketId: number,
): void {
  const {start, end} = bucketRange(bucketId);
  transaction.require({kind: 'range-untouched', start, end});
  const walker = new RowWalker(transaction, [{start, end}], {keysOnly: true, rowsMax: 1});
  const hasRows = walker.next();
  walker.close();
  if (!hasRows && transaction.recordCount(bucketId) === 0) return;
  throw new Refusal(
    'schema.conflict',
    `bucket '${catalog.bucketById(bucketId)?.name ?? bucketId}' holds records: delete them or ` +
      'put them elsewhere before it is taken from its type',
  );
}
