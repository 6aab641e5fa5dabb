/**
 * Changes of indexes: create, mark ready, rebuild, drop. Pure; see change.ts.
 *
 * An index is created in state `building`: from that commit on writes keep its keys, and a
 * build adds those of older records. Kinds of models that are not there are refused by name.
 */
import {Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import type {Catalog} from './catalog.ts';
import type {CatalogType} from './catalog-type.ts';
import {change, checkName, conflictRefusal, existsRefusal, type SchemaChange} from './change.ts';
import {dropType} from './change-type.ts';
import type {
  CatalogData,
  IndexDefinition,
  IndexKind,
  IndexProperty,
  NullStrategy,
} from './definition.ts';
import {type DeclaredFamilies, type DeclaredFamily, indexOptions} from './index-families.ts';
import {nearestNameHint} from './nearest-name.ts';

const propertiesMax = 16;

export interface NewIndex {
  /** Default: `Type[p1,p2]`. */
  readonly name?: string | undefined;
  readonly typeName: string;
  readonly properties: readonly IndexProperty[];
  readonly kind: IndexKind;
  readonly unique: boolean;
  readonly nullStrategy?: NullStrategy | undefined;
  readonly manual?: boolean;
  /** What was written; see `indexOptions`. */
  readonly metadata?: MapValue | undefined;
}

const laterKinds = ['GEOSPATIAL'];

/** Reads the word behind CREATE INDEX ... (p): UNIQUE, NOTUNIQUE_HASH, ... */
export function parseIndexKind(
  word: string,
  families: DeclaredFamilies,
): {readonly family: DeclaredFamily; readonly unique: boolean} {
  const found = families.ofWord(word);
  if (found !== undefined) return found;
  const upper = word.toUpperCase();
  if (laterKinds.includes(upper)) {
    throw new Refusal('not-available', `Index type '${upper}' is not available yet`);
  }
  throw new Refusal('sql.syntax', `Index type '${word}' is not supported`);
}

export function parseNullStrategy(word: string): NullStrategy {
  const upper = word.toUpperCase();
  if (upper === 'SKIP' || upper === 'ERROR' || upper === 'INDEX') return upper;
  throw new Refusal('sql.syntax', `NULL_STRATEGY is SKIP, ERROR or INDEX, not '${word}'`);
}

/** The name of an index that is given none: `Item[sku,tagsbyitem]`. */
export function automaticIndexName(typeName: string, properties: readonly IndexProperty[]): string {
  const parts = properties.map(({name, by}) => (by === undefined ? name : `${name}by${by}`));
  return `${typeName}[${parts.join(',')}]`;
}

/**
 * The name that an index gets when it is given none. Where an index of another family has it, as
 * of a word and a range on one property, the family stands behind it: `Item[name]_full_text`.
 */
export function freeIndexName(
  catalog: Catalog,
  typeName: string,
  {properties, kind}: Pick<NewIndex, 'properties' | 'kind'>,
): string {
  const name = automaticIndexName(typeName, properties);
  const taken = catalog.index(name);
  if (taken === undefined || isAlike(catalog, taken, kind)) return name;
  return `${name}_${catalog.families.of({kind}).typeName.toLowerCase()}`;
}

/** Keyed families stand in for each other, of the others each is alone. */
function isAlike({families}: Catalog, index: IndexDefinition, kind: IndexKind): boolean {
  return families.of({kind}).isKeyed ? families.of(index).isKeyed : index.kind === kind;
}

/**
 * The index of a name; where that is of another family, the one of this family on the same
 * properties: a search names `Item[name]` whichever index was made first.
 */
export function indexOfKind(
  catalog: Catalog,
  name: string,
  kind: IndexKind,
): IndexDefinition | undefined {
  const named = catalog.index(name);
  const type = named && catalog.typeById(named.typeId);
  if (named === undefined || type === undefined || named.kind === kind) return named;
  return sameIndex(catalog, type, {properties: named.properties, kind}) ?? named;
}

/**
 * The search index that a name means: its own, or `Type[properties]` of an index that the type
 * inherits, whose records of that type alone are searched.
 */
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

export function createIndex(catalog: Catalog, requested: NewIndex): SchemaChange {
  const type = catalog.requireType(requested.typeName);
  if (requested.properties.length === 0 || requested.properties.length > propertiesMax) {
    throw new Refusal('argument', `an index has 1 to ${propertiesMax} properties`);
  }
  for (const property of requested.properties) checkIndexProperty(type, property);
  const family = catalog.families.of(requested);
  family.checkProperties?.(type, requested.properties);
  requireNullStrategy(family, requested.nullStrategy);
  const options = indexOptions(family, requested.metadata, requested.properties);
  const name = requested.name ?? freeIndexName(catalog, type.name, requested);
  checkName(name, 'index');
  if (catalog.index(name) !== undefined) throw existsRefusal('INDEX', name);
  const twin = sameIndex(catalog, type, requested);
  if (twin !== undefined) {
    throw new Refusal(
      'argument',
      `index '${twin.name}' is on the same properties of type '${type.name}': use IF NOT EXISTS`,
      {detail: {index: twin.name}},
    );
  }
  if (type.edge.lightweight) {
    throw conflictRefusal(`light edge type '${type.name}' has no records to index`);
  }
  const id = catalog.data.indexIdNext;
  const index: IndexDefinition = {
    id,
    name,
    typeId: type.id,
    properties: requested.properties,
    kind: requested.kind,
    unique: requested.unique,
    nullStrategy: requested.nullStrategy ?? 'SKIP',
    state: 'building',
    ...(options !== undefined && {options}),
    ...(requested.manual === true && {manual: true}),
  };
  return change(
    catalog,
    {indexes: [...catalog.data.indexes, index], indexIdNext: id + 1},
    {indexesToBuild: [index]},
  );
}

/** An index of such a family on the type over the same properties, whatever its name. */
export function sameIndex(
  catalog: Catalog,
  type: CatalogType,
  requested: Pick<NewIndex, 'properties' | 'kind'>,
): IndexDefinition | undefined {
  const wanted = automaticIndexName('', requested.properties);
  return catalog
    .ownIndexes(type.id)
    .find(
      index =>
        automaticIndexName('', index.properties) === wanted &&
        isAlike(catalog, index, requested.kind),
    );
}

/** The build is done: plans may read the index. What it takes the place of goes. */
export function markIndexReady(catalog: Catalog, indexId: number): SchemaChange {
  const built = catalog.indexById(indexId);
  if (built === undefined) return change(catalog, {});
  return put(catalog, {...built, state: 'ready'}, {});
}

/** The build failed: the index goes, and what it was to take the place of stays. */
export function withdrawIndex(catalog: Catalog, indexId: number): SchemaChange {
  const indexes = catalog.data.indexes.filter(index => index.id !== indexId);
  return change(catalog, {indexes}, {indexIdsDropped: [indexId]});
}

/**
 * Builds the index anew beside the one that is there, which serves until then: a second one of the
 * name, behind it.
 */
export function replaceIndex(catalog: Catalog, name: string): SchemaChange {
  const id = catalog.data.indexIdNext;
  const next: IndexDefinition = {...catalog.requireIndex(name), id, state: 'building'};
  return change(
    catalog,
    {indexes: [...catalog.data.indexes, next], indexIdNext: id + 1},
    {indexesToBuild: [next]},
  );
}

/** Drops the keys, which mean nothing any more, and builds the index anew under a new id. */
export function rebuildIndex(catalog: Catalog, name: string): SchemaChange {
  const old = catalog.requireIndex(name);
  const id = catalog.data.indexIdNext;
  const rebuilt: IndexDefinition = {...old, id, state: 'rebuilding'};
  const changed = put(catalog, rebuilt, {indexIdNext: id + 1});
  return {...changed, indexesToBuild: [rebuilt]};
}

/** Puts the index where the first one of its name is; all others of the name go. */
function put(
  catalog: Catalog,
  index: IndexDefinition,
  more: Partial<Pick<CatalogData, 'indexIdNext'>>,
): SchemaChange {
  const [first, ...others] = named(catalog, index.name);
  const indexes = catalog.data.indexes
    .filter(other => !others.includes(other))
    .map(other => (other === first ? index : other));
  const gone = named(catalog, index.name).filter(({id}) => id !== index.id);
  return change(catalog, {...more, indexes}, {indexIdsDropped: gone.map(({id}) => id)});
}

/** The index, and the one that is to take its place. */
function named(catalog: Catalog, name: string): readonly IndexDefinition[] {
  return catalog.data.indexes.filter(index => index.name === name);
}

/** One that is filled by hand goes with its entries. */
export function dropIndex(catalog: Catalog, name: string): SchemaChange {
  const old = catalog.requireIndex(name);
  if (old.manual === true) return dropType(catalog, name, {hasRecords: true});
  const dropped = named(catalog, name);
  const indexes = catalog.data.indexes.filter(index => index.name !== name);
  const names = old.properties.map(property => property.name).join();
  for (const {definition} of catalog.typeById(old.typeId)?.family ?? []) {
    const {bucketSelection: selection} = definition;
    if (!old.unique || selection.kind !== 'partitioned') continue;
    if (names !== selection.properties.join()) continue;
    throw conflictRefusal(`index '${name}' decides the buckets of its type (partitioned)`);
  }
  return change(catalog, {indexes}, {indexIdsDropped: dropped.map(index => index.id)});
}

/** What has no value has no place in a search. */
function requireNullStrategy(
  {isKeyed, typeName}: DeclaredFamily,
  strategy: NullStrategy | undefined,
): void {
  if (isKeyed || strategy === undefined || strategy === 'SKIP') return;
  throw new Refusal('argument', `Index type '${typeName}' has NULL_STRATEGY SKIP, not ${strategy}`);
}

function checkIndexProperty(type: CatalogType, requested: IndexProperty): void {
  if (requested.name === '@in' || requested.name === '@out') {
    if (type.kind === 'edge') return;
    throw conflictRefusal(`'${type.name}' is no edge type, so it has no ${requested.name}`);
  }
  const property = type.properties.get(requested.name);
  if (property === undefined) {
    const hint = nearestNameHint(requested.name, type.properties.keys());
    throw new Refusal(
      'schema.unknown-property',
      `Cannot create the index on '${type.name}.${requested.name}': ` +
        `the property does not exist${hint}`,
      {detail: {type: type.name, property: requested.name}},
    );
  }
  const wanted = requested.by === undefined ? undefined : requested.by === 'item' ? 'LIST' : 'MAP';
  if (wanted !== undefined && property.type !== wanted) {
    throw conflictRefusal(
      `BY ${(requested.by ?? '').toUpperCase()} needs a ${wanted}, ` +
        `and '${requested.name}' is a ${property.type}`,
    );
  }
}
