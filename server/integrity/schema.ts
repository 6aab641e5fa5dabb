/**
 * The schema in itself: what it refers to exists, and nothing belongs to two. Reading the catalog
 * asks for none of this, so that one wrong reference does not close a whole database.
 */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {CheckState} from './check-state.ts';
import type {Finding} from './finding.ts';

export function* checkSchema({context: {catalog}}: CheckState): Generator<Finding> {
  const {data} = catalog;
  const owners = new Map<number, string>();
  for (const type of catalog.types) {
    yield* typeFindings(type, (id: number) => catalog.typeById(id));
    for (const id of type.bucketIds) {
      const owner = owners.get(id);
      owners.set(id, type.name);
      const bucket = catalog.bucketById(id);
      if (bucket === undefined) yield broken(type.name, `it has no bucket ${id}`);
      else if (owner !== undefined) {
        yield broken(bucket.name, `both '${owner}' and '${type.name}' have the bucket`);
      }
    }
  }
  for (const index of data.indexes) {
    const type = catalog.typeById(index.typeId);
    if (type === undefined) {
      yield broken(index.name, `there is no type with number ${index.typeId} for the index`);
      continue;
    }
    for (const {name} of index.properties) {
      if (name.startsWith('@') || type.properties.has(name)) continue;
      yield broken(index.name, `'${type.name}' has no property '${name}' for the index`);
    }
  }
  const highest = (rows: readonly {readonly id: number}[]): number =>
    rows.reduce((most, {id}) => Math.max(most, id), 0);
  for (const [what, rows, next] of [
    ['type', data.types, data.typeIdNext],
    ['bucket', data.buckets, data.bucketIdNext],
    ['index', data.indexes, data.indexIdNext],
  ] as const) {
    if (highest(rows) < next) continue;
    yield broken('schema', `the next ${what} would get the number of one that exists, ${next}`);
  }
}

function* typeFindings(
  {definition, name, kind}: CatalogType,
  typeById: (id: number) => CatalogType | undefined,
): Generator<Finding> {
  for (const id of definition.superTypeIds) {
    const superType = typeById(id);
    if (superType === undefined) yield broken(name, `its supertype with number ${id} is not there`);
    else if (superType.kind !== kind && superType.kind !== 'document') {
      yield broken(name, `a ${kind} type extends the ${superType.kind} type '${superType.name}'`);
    }
  }
}

function broken(place: string, says: string): Finding {
  return {kind: 'schema-broken', place, says};
}
