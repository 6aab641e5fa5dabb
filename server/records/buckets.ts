/**
 * Which bucket a new record goes to: the one named, else by the type's selection.
 *
 * Round robin takes turns, record by record; `thread` takes them too, but a transaction keeps to
 * the bucket of its first record; `partitioned` takes a hash of the values, so that equal values
 * always meet in one bucket. There those values never change, as the bucket is part of the id.
 */
import {compareBytes} from '#server/base/utf8.ts';
import {Refusal} from '#server/base/errors.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {encodeKey} from '#server/layout/key-encoding.ts';
import type {MapValue} from '#server/model/value.ts';
import type {RecordContext} from './context.ts';
import type {WriterNotes} from './writer-notes.ts';

/**
 * @param bucketName - Undefined: by the type's selection.
 * @param notes - Know the buckets to which the transaction keeps.
 * @throws {Refusal} `schema.conflict` when the bucket named is not one for such a record.
 */
export function selectBucket(
  context: RecordContext,
  type: CatalogType,
  bucketName: string | undefined,
  properties: MapValue,
  notes: Pick<WriterNotes, 'bucketsKept'>,
): number {
  if (bucketName !== undefined) {
    const {id} = context.catalog.requireBucket(bucketName);
    requirePlace(context, type, id, properties);
    return id;
  }
  const partition = partitionOf(type, properties);
  if (partition !== undefined) return partition;
  if (type.definition.bucketSelection.kind === 'round-robin') return nextBucket(context, type);
  notes.bucketsKept ??= new Map();
  const bucket = notes.bucketsKept.get(type.id) ?? nextBucket(context, type);
  notes.bucketsKept.set(type.id, bucket);
  return bucket;
}

function nextBucket({bucketTurns}: RecordContext, {id, bucketIds}: CatalogType): number {
  if (bucketIds.length === 1) return bucketIds[0] as number;
  const turn = bucketTurns.get(id) ?? 0;
  bucketTurns.set(id, (turn + 1) % bucketIds.length);
  return bucketIds[turn % bucketIds.length] as number;
}

/** The bucket that a record's values lead to; undefined where they do not decide it. */
export function partitionOf(type: CatalogType, properties: MapValue): number | undefined {
  const {bucketSelection} = type.definition;
  if (bucketSelection.kind !== 'partitioned') return undefined;
  const hash = hashOf(partitionKey(bucketSelection.properties, properties));
  return type.bucketIds[hash % type.bucketIds.length];
}

/**
 * Refuses a bucket that is not the type's, or in which nobody would look for such a record.
 *
 * @throws {Refusal} `schema.conflict`.
 */
export function requirePlace(
  {catalog}: RecordContext,
  type: CatalogType,
  bucketId: number,
  properties: MapValue,
): void {
  const bucket = catalog.bucketById(bucketId)?.name ?? bucketId;
  if (!type.bucketIds.includes(bucketId)) {
    throw new Refusal('schema.conflict', `bucket '${bucket}' does not belong to '${type.name}'`);
  }
  const partition = partitionOf(type, properties);
  if (partition === undefined || partition === bucketId) return;
  const right = catalog.bucketById(partition)?.name ?? partition;
  throw new Refusal(
    'schema.conflict',
    `type '${type.name}' is partitioned, and this record's values lead to bucket '${right}', ` +
      `not to '${bucket}': leave the bucket out`,
  );
}

/**
 * Refuses a change of the values that decide the bucket of a record.
 *
 * @throws {Refusal} `value.validation`.
 */
export function requireSamePartition(type: CatalogType, before: MapValue, after: MapValue): void {
  const {bucketSelection} = type.definition;
  if (bucketSelection.kind !== 'partitioned') return;
  const {properties} = bucketSelection;
  const [old, next] = [partitionKey(properties, before), partitionKey(properties, after)];
  if (compareBytes(old, next) === 0) return;
  throw new Refusal(
    'value.validation',
    `${properties.join(', ')} of '${type.name}' decides the bucket of a record (partitioned), ` +
      'which is part of its id: delete the record and insert it anew',
    {detail: {type: type.name, properties: properties.join(', ')}},
  );
}

function partitionKey(names: readonly string[], properties: MapValue): Uint8Array {
  return encodeKey(names.map(name => properties.get(name) ?? null));
}

/** FNV-1a, 32 bits: it decides where stored records are, so it never changes. */
function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
