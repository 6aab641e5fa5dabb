/**
 * The search index that a name means: its own, or `Type[properties]` of an index that the type
 * inherits, whose records of that type alone are searched.
 */
import type {Catalog} from './catalog.ts';
import type {CatalogType} from './catalog-type.ts';
import {indexOfKind} from './change-index.ts';
import type {IndexDefinition, IndexKind} from './definition.ts';

export interface RankedTarget {
  readonly index: IndexDefinition;
  /** The type whose records are searched; undefined: all that the index has. */
  readonly only: CatalogType | undefined;
}

const spelling = /^(.+)\[([^\][]+)\]$/u;

/** The type and the properties of a name that is spelt so. */
export function spelledIndex(
  name: string,
): {readonly typeName: string; readonly properties: readonly string[]} | undefined {
  const [, typeName, properties] = spelling.exec(name) ?? [];
  if (typeName === undefined || properties === undefined) return undefined;
  return {typeName, properties: properties.split(',').map(one => one.trim())};
}

/** An index of that name may be one of another kind; undefined where the name means none. */
export function rankedTarget(
  catalog: Catalog,
  name: string,
  kind: IndexKind,
): RankedTarget | undefined {
  const named = indexOfKind(catalog, name, kind);
  if (named !== undefined) return {index: named, only: undefined};
  const spelt = spelledIndex(name);
  const type = spelt && catalog.type(spelt.typeName);
  const index = type?.indexes.find(
    one =>
      one.kind === kind &&
      one.properties.length === spelt?.properties.length &&
      one.properties.every((property, at) => property.name === spelt.properties[at]),
  );
  if (index === undefined) return undefined;
  return {index, only: index.typeId === type?.id ? undefined : type};
}
