/**
 * Changes of buckets, and the choice of buckets for a new type. Pure; see change.ts.
 */
import type {Value} from '#server/model/value.ts';
import type {Catalog} from './catalog.ts';
import {change, checkName, conflictRefusal, existsRefusal, type SchemaChange} from './change.ts';
import type {BucketDefinition, CatalogData} from './definition.ts';

export function createBucket(catalog: Catalog, name: string): SchemaChange {
  checkName(name, 'bucket');
  if (catalog.bucket(name) !== undefined) throw existsRefusal('BUCKET', name);
  const id = catalog.data.bucketIdNext;
  const bucket = {id, name, custom: new Map<string, Value>()};
  return change(catalog, {buckets: [...catalog.data.buckets, bucket], bucketIdNext: id + 1});
}

export function renameBucket(catalog: Catalog, name: string, newName: string): SchemaChange {
  const {id} = catalog.requireBucket(name);
  checkName(newName, 'bucket');
  if (catalog.bucket(newName) !== undefined) throw existsRefusal('BUCKET', newName);
  return change(catalog, {buckets: withBucket(catalog, id, {name: newName})});
}

/** Sets one custom attribute; null removes it. */
export function setBucketCustom(
  catalog: Catalog,
  name: string,
  key: string,
  value: Value,
): SchemaChange {
  const bucket = catalog.requireBucket(name);
  const custom = new Map(bucket.custom);
  if (value === null) custom.delete(key);
  else custom.set(key, value);
  return change(catalog, {buckets: withBucket(catalog, bucket.id, {custom})});
}

/** A bucket that a type uses cannot be dropped. */
export function dropBucket(catalog: Catalog, name: string): SchemaChange {
  const bucket = catalog.requireBucket(name);
  const holder = catalog.typeOfBucket(bucket.id);
  if (holder !== undefined) {
    throw conflictRefusal(
      `bucket '${name}' is used by type '${holder.name}': remove it there first`,
    );
  }
  const buckets = catalog.data.buckets.filter(other => other.id !== bucket.id);
  return change(catalog, {buckets}, {bucketIdsDropped: [bucket.id]});
}

/**
 * Buckets for a type: new ones `Type_0`, `Type_1`, ..., or those named, made when absent.
 * A named one that another type uses is refused.
 */
export function claimBuckets(
  catalog: Catalog,
  typeName: string,
  wanted: number | readonly string[],
): {
  readonly bucketIds: readonly number[];
  readonly changes: Pick<CatalogData, 'buckets' | 'bucketIdNext'>;
} {
  const buckets: BucketDefinition[] = [...catalog.data.buckets];
  let bucketIdNext = catalog.data.bucketIdNext;
  const bucketIds: number[] = [];
  const names = typeof wanted === 'number' ? freeNames(catalog, typeName, wanted) : new Set(wanted);
  for (const name of names) {
    checkName(name, 'bucket');
    const known = catalog.bucket(name);
    const holder = known === undefined ? undefined : catalog.typeOfBucket(known.id);
    if (holder !== undefined) {
      throw conflictRefusal(`bucket '${name}' is used by type '${holder.name}'`);
    }
    const id = known?.id ?? bucketIdNext++;
    if (known === undefined) buckets.push({id, name, custom: new Map()});
    bucketIds.push(id);
  }
  return {bucketIds, changes: {buckets, bucketIdNext}};
}

function freeNames(catalog: Catalog, typeName: string, count: number): Set<string> {
  const names = new Set<string>();
  for (let at = 0; names.size < count; at++) {
    const name = `${typeName}_${at}`;
    if (catalog.bucket(name) === undefined) names.add(name);
  }
  return names;
}

function withBucket(
  catalog: Catalog,
  id: number,
  update: Partial<BucketDefinition>,
): readonly BucketDefinition[] {
  return catalog.data.buckets.map(bucket => (bucket.id === id ? {...bucket, ...update} : bucket));
}
