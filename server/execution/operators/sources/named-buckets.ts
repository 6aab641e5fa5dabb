/** Buckets that are named by values when a statement runs, as a parameter does. */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Value} from '#server/model/value.ts';
import {itemsOf} from '../../expressions/access.ts';

/** Numbers of buckets. @throws {Refusal} `schema.unknown-bucket`, `query.parameter`. */
export function bucketsNamed(value: Value, catalog: Catalog): readonly number[] {
  const items = itemsOf(value);
  if (items !== undefined) return items.flatMap(item => bucketsNamed(item, catalog));
  if (typeof value === 'string') return [catalog.requireBucket(value).id];
  if (typeof value === 'number') return [catalog.requireBucketById(value).id];
  throw new Refusal('query.parameter', 'a bucket is given by its name or number');
}

/** The one bucket that a new record goes to, with the type that it is of. */
export function bucketNamed(
  value: Value,
  catalog: Catalog,
): {readonly bucket: string; readonly type: string} {
  const [id, ...more] = bucketsNamed(value, catalog);
  if (id === undefined || more.length > 0) {
    throw new Refusal('query.parameter', 'a new record goes to one bucket');
  }
  const bucket = catalog.requireBucketById(id).name;
  const type = catalog.typeOfBucket(id)?.name;
  if (type === undefined) {
    throw new Refusal('query.parameter', `bucket '${bucket}' belongs to no type`);
  }
  return {bucket, type};
}
