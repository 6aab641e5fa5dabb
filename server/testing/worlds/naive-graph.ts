/**
 * A graph in plain maps: the naive twin of execution's data access, for tests only.
 *
 * No layout, no transactions, no cleverness: records in the order of their creation, edges
 * found by looking at all of them, indexes by looking at all records.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {
  EdgeTypes,
  Graph,
  Hop,
  HopCounts,
  HopEnds,
  IndexEntry,
  IndexLimit,
  IndexSpan,
  NewRecord,
  ScanOrder,
  Source,
  WritableGraph,
  WholeKey,
} from '#server/execution/graph.ts';
import {compareTotal, equalValues} from '#server/model/compare.ts';
import {compareRids, ridsEqual} from '#server/model/rid.ts';
import {type RecordKind, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {EdgeChoice} from '#server/caches/adjacency-chunk.ts';

export class NaiveRecord extends RecordValue {
  readonly rid: Rid;
  readonly typeName: string;
  readonly kind: RecordKind;
  readonly #properties: ReadonlyMap<string, Value>;
  readonly from: Rid | undefined;
  readonly to: Rid | undefined;

  constructor(
    rid: Rid,
    type: {readonly name: string; readonly kind: RecordKind},
    properties: ReadonlyMap<string, Value>,
    ends: {readonly from?: Rid | undefined; readonly to?: Rid | undefined} = {},
  ) {
    super();
    this.rid = rid;
    this.typeName = type.name;
    this.kind = type.kind;
    this.#properties = properties;
    this.from = ends.from;
    this.to = ends.to;
  }

  get(name: string): Value | undefined {
    return this.#properties.get(name);
  }

  propertyNames(): readonly string[] {
    return [...this.#properties.keys()];
  }
}

/** A list in portions. */
export function listSource<T>(list: readonly T[]): Source<T> {
  let at = 0;
  return {
    next(max) {
      if (at >= list.length) return undefined;
      at += max;
      return list.slice(at - max, at);
    },
    close() {
      at = list.length;
    },
  };
}

export class NaiveGraph implements Graph, WritableGraph {
  readonly catalog: Catalog;
  readonly all: NaiveRecord[] = [];
  readonly #positions = new Map<number, number>();
  /** Sources opened and not closed: zero after every run. */
  openSources = 0;

  constructor(catalog: Catalog) {
    this.catalog = catalog;
  }

  ranked(): never {
    throw new Error('plain records have no search index');
  }

  #open<T>(list: readonly T[]): Source<T> {
    const source = listSource(list);
    this.openSources++;
    let open = true;
    return {
      next: max => source.next(max),
      close: () => {
        if (open) this.openSources--;
        open = false;
      },
    };
  }

  #scan(keep: (record: NaiveRecord) => boolean, order: ScanOrder): Source<RecordValue> {
    const found = this.all
      .filter(keep)
      .filter(record => order.test?.(record) ?? true)
      .sort((left, right) => compareRids(left.rid, right.rid));
    return this.#open(order.descending ? found.reverse() : found);
  }

  scanType(type: string, polymorphic: boolean, order: ScanOrder): Source<RecordValue> {
    this.catalog.requireType(type);
    return this.#scan(
      record => (polymorphic ? this.isSubtype(record.typeName, type) : record.typeName === type),
      order,
    );
  }

  scanColumns(): undefined {
    return undefined;
  }

  scanBuckets(buckets: readonly number[], order: ScanOrder): Source<RecordValue> {
    return this.#scan(record => buckets.includes(record.rid.bucket), order);
  }

  record(rid: Rid): RecordValue | undefined {
    return this.all.find(record => ridsEqual(record.rid, rid));
  }

  records(rids: readonly Rid[]): readonly (RecordValue | undefined)[] {
    return rids.map(rid => this.record(rid));
  }

  edgeTypes(names: readonly string[]): EdgeTypes {
    if (names.length === 0) return undefined;
    return new Set(names.flatMap(name => [...this.catalog.requireType(name).familyIds]));
  }

  #hopsOf(vertex: Rid, source: number, {direction, types, ends}: EdgeChoice): Hop[] {
    const hops: Hop[] = [];
    for (const outgoing of [true, false]) {
      if (direction === (outgoing ? 'in' : 'out')) continue;
      const found: Hop[] = [];
      for (const edge of this.all) {
        const {from, to, rid} = edge;
        const typeId = this.catalog.requireType(edge.typeName).id;
        if (from === undefined || to === undefined || types?.has(typeId) === false) continue;
        const here = outgoing ? from : to;
        const other = outgoing ? to : from;
        if (ends?.(other.bucket) === false) continue;
        if (ridsEqual(here, vertex)) found.push({source, edge: rid, other, typeId, outgoing});
      }
      found.sort(
        (a, b) =>
          a.typeId - b.typeId || compareRids(a.other, b.other) || compareRids(a.edge, b.edge),
      );
      hops.push(...found);
    }
    return hops;
  }

  hops(vertices: readonly Rid[], choice: EdgeChoice): Source<Hop> {
    return this.#open(vertices.flatMap((v, at) => this.#hopsOf(v, at, choice)));
  }

  hopsBetween(pairs: readonly HopEnds[], choice: EdgeChoice): Source<Hop> {
    return this.#open(
      pairs.flatMap(({vertex, other}, at) =>
        this.#hopsOf(vertex, at, choice).filter(hop => ridsEqual(hop.other, other)),
      ),
    );
  }

  hopEdges(hops: readonly Hop[]): readonly (RecordValue | undefined)[] {
    return this.records(hops.map(hop => hop.edge));
  }

  packedEdges(): undefined {
    return undefined;
  }

  degrees(vertices: readonly Rid[], choice: EdgeChoice): HopCounts {
    const counts = vertices.map(vertex => this.#hopsOf(vertex, 0, choice).length);
    return {counts, next: () => false, close: () => {}};
  }

  typesByBucket(): undefined {
    return undefined;
  }

  #entries(index: string): {readonly definition: IndexDefinition; readonly entries: IndexEntry[]} {
    const definition = this.catalog.requireIndex(index);
    const type = this.catalog.typeById(definition.typeId);
    const entries = this.all
      .filter(record => type !== undefined && this.isSubtype(record.typeName, type.name))
      .map(record => ({
        key: definition.properties.map(property => record.get(property.name) ?? null),
        rid: record.rid,
      }))
      .filter(entry => !entry.key.includes(null));
    entries.sort((a, b) => compareTotal(a.key, b.key) || compareRids(a.rid, b.rid));
    return {definition, entries};
  }

  indexPoint(index: string, key: readonly Value[]): readonly Rid[] {
    const {entries} = this.#entries(index);
    return entries.filter(entry => equalValues(entry.key, key)).map(entry => entry.rid);
  }

  indexRange(index: string, range: IndexSpan, descending: boolean): Source<Rid> {
    const rids = this.#span(index, range).map(entry => entry.rid);
    return this.#open(descending ? rids.reverse() : rids);
  }

  #span(index: string, range: IndexSpan): IndexEntry[] {
    const compare = (key: readonly Value[], limit: IndexLimit): number =>
      compareTotal(key.slice(0, limit.values.length), limit.values);
    return this.#entries(index).entries.filter(({key}) => {
      const low = range.from === undefined ? 1 : compare(key, range.from);
      const high = range.to === undefined ? -1 : compare(key, range.to);
      if (low < 0 || (low === 0 && range.from?.inclusive === false)) return false;
      return high < 0 || (high === 0 && range.to?.inclusive === true);
    });
  }

  indexEntries(
    index: string,
    which: IndexSpan | WholeKey,
    descending: boolean,
  ): Source<IndexEntry> {
    const only = 'key' in which ? {values: which.key, inclusive: true} : undefined;
    const entries = this.#span(index, 'key' in which ? {from: only, to: only} : which);
    return this.#open(descending ? entries.reverse() : entries);
  }

  countType(type: string, polymorphic: boolean): number {
    return this.all.filter(record =>
      polymorphic ? this.isSubtype(record.typeName, type) : record.typeName === type,
    ).length;
  }

  isSubtype(type: string, ancestor: string): boolean {
    const above = this.catalog.type(ancestor);
    const below = this.catalog.type(type);
    return above !== undefined && below !== undefined && above.familyIds.has(below.id);
  }

  typeExists(type: string): boolean {
    return this.catalog.type(type) !== undefined;
  }

  isShown(): boolean {
    return true;
  }

  create(requested: NewRecord): RecordValue {
    const type = this.catalog.requireType(requested.type);
    const bucket = type.bucketIds[0] ?? 0;
    const position = this.#positions.get(bucket) ?? 0;
    this.#positions.set(bucket, position + 1);
    const record = new NaiveRecord(
      new Rid(bucket, position),
      type,
      requested.properties,
      requested,
    );
    this.all.push(record);
    return record;
  }

  replace(rid: Rid, properties: ReadonlyMap<string, Value>): RecordValue | undefined {
    const at = this.all.findIndex(record => ridsEqual(record.rid, rid));
    const old = this.all[at];
    if (old === undefined) return undefined;
    const type = {name: old.typeName, kind: old.kind};
    const changed = new NaiveRecord(rid, type, properties, {from: old.from, to: old.to});
    this.all[at] = changed;
    return changed;
  }

  retype(rid: Rid, typeName: string): RecordValue | undefined {
    const at = this.all.findIndex(record => ridsEqual(record.rid, rid));
    const old = this.all[at];
    if (old === undefined) return undefined;
    const {kind, from, to} = old;
    const changed = new NaiveRecord(rid, {name: typeName, kind}, old.properties(), {from, to});
    this.all[at] = changed;
    return changed;
  }

  removeEdges(): undefined {
    return undefined;
  }

  delete(record: RecordValue): boolean {
    const at = this.all.findIndex(other => ridsEqual(other.rid, record.rid));
    if (at < 0) return false;
    this.all.splice(at, 1);
    const touches = (end: Rid | undefined): boolean =>
      end !== undefined && ridsEqual(end, record.rid);
    for (const edge of this.all.filter(other => touches(other.from) || touches(other.to))) {
      this.all.splice(this.all.indexOf(edge), 1);
    }
    return true;
  }
}
