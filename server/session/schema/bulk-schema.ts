/**
 * Whether records made under one catalog may be committed under a newer one.
 *
 * They may when nothing was changed that their bytes and keys depend on: the types that are in
 * the entry, with their properties, buckets and indexes.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {BulkEntry} from '#server/bulk/entry.ts';

/** The version to commit under. @throws {Refusal} `commit.conflict`. */
export function schemaVersionFor(entry: BulkEntry, made: Catalog, current: Catalog): number {
  if (made.version === current.version) return current.version;
  for (const name of entry.types) {
    if (fingerprint(made, name) === fingerprint(current, name)) continue;
    throw new Refusal(
      'commit.conflict',
      `the type '${name}' was changed while the batch wrote records of it: nothing of what ` +
        'follows the counts was stored',
    );
  }
  return current.version;
}

function fingerprint(catalog: Catalog, name: string): string | undefined {
  const type = catalog.type(name);
  if (type === undefined) return undefined;
  const {id, kind, edge, bucketIds, definition} = type;
  const indexes = type.indexes.map(({state: _, ...index}) => index);
  const parts = [
    id,
    kind,
    edge,
    bucketIds,
    definition.bucketSelection,
    [...type.properties.values()],
    indexes,
  ];
  return JSON.stringify(parts, (_, value: unknown) => {
    if (value instanceof Map) return [...value];
    return typeof value === 'bigint' ? `${value}n` : value;
  });
}
