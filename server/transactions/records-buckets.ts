/**
 * Which bucket a new record goes to: the one named, else by the type's selection.
 *
 * Round robin (and `thread`, which is the same here: one thread makes records) takes turns;
 * `partitioned` takes a hash of the values, so that equal values always meet in one bucket.
 */
import {Refusal} from '#server/base/errors.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {encodeKey} from '#server/layout/key-encoding.ts';
import type {MapValue} from '#server/model/value.ts';
import type {RecordContext} from './records-context.ts';

export function selectBucket(
  context: RecordContext,
  type: CatalogType,
  bucketName: string | undefined,
  properties: MapValue,
): number {
  const {bucketIds} = type;
  if (bucketName !== undefined) {
    const {id} = context.catalog.requireBucket(bucketName);
    if (bucketIds.includes(id)) return id;
    throw new Refusal(
      'schema.conflict',
      `bucket '${bucketName}' does not belong to '${type.name}'`,
    );
  }
  const selection = type.definition.bucketSelection;
  let turn = 0;
  if (selection.kind === 'partitioned') {
    turn = hashOf(encodeKey(selection.properties.map(name => properties.get(name) ?? null)));
  } else if (bucketIds.length > 1) {
    turn = context.bucketTurns.get(type.id) ?? 0;
    context.bucketTurns.set(type.id, (turn + 1) % bucketIds.length);
  }
  return bucketIds[turn % bucketIds.length] as number;
}

/** FNV-1a, 32 bits: it decides where stored records are, so it never changes. */
function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
