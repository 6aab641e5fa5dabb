/**
 * A graph that shows and changes only what its user may: authorization for every language, plan
 * and function at once.
 *
 * Operators and functions reach data through `Graph` and `WritableGraph` alone, so a check here
 * cannot be walked around. Reading a record of a forbidden type is refused, not hidden: an answer
 * that silently lacks rows is a wrong answer. The right is asked once a type and statement.
 *
 * Records of a type are asked for with those of all its subtypes, whether there are any or not, and
 * so is a count: whatever is refused, no record has decided it, and a plan that goes by an index is
 * refused as one that goes by the records is. Of an index that holds more than is wanted, entries
 * of records that may not be read are passed over before anything is asked of them. Following an
 * edge asks to read its type, and an edge is made between vertices that may be updated.
 * `root`, and users whose groups allow everything, never pay for it (service.ts).
 */
import type {RecordRight} from '#server/access/rights.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Graph, NewRecord, ScanOrder, Source, WritableGraph} from '#server/execution/graph.ts';
import type {RecordValue, Rid, Value} from '#server/model/value.ts';
import type {IndexedPart} from '#server/plan/node.ts';
import {readableEntries} from './database/readable-entries.ts';
import {GuardedEdges} from './guarded-edges.ts';
import {isShownTo, type TypeGuard} from './type-guard.ts';

export function guardGraph(graph: Graph, guard: TypeGuard, catalog: Catalog): Graph {
  const edges = new GuardedEdges(graph, guard, catalog);
  const readable = <R extends RecordValue | undefined>(record: R): R => {
    if (record !== undefined) guard.require('readRecord', record.typeName);
    return record;
  };
  /** An id that is nobody's tells how many records a type has had. */
  const readableAt = (rid: Rid, record: RecordValue | undefined): RecordValue | undefined => {
    const type = record?.typeName ?? catalog.typeOfBucket(rid.bucket)?.name;
    if (type !== undefined) guard.require('readRecord', type);
    return record;
  };
  const guarded = (order: ScanOrder): ScanOrder => {
    const {test} = order;
    return {
      ...order,
      test: record => {
        guard.require('readRecord', record.typeName);
        return test === undefined || test(record);
      },
    };
  };
  return {
    scanType(type, polymorphic, order): Source<RecordValue> {
      for (const name of wantedOf({type, polymorphic}, catalog)) guard.require('readRecord', name);
      return graph.scanType(type, polymorphic, guarded(order));
    },
    scanColumns: wanted => {
      const type = catalog.type(wanted.type);
      // Columns show records of all types: what may be read of some only is read one by one.
      return guard.allowsAll('readRecord', type === undefined ? [] : familyOf(type))
        ? graph.scanColumns(wanted)
        : undefined;
    },
    scanBuckets(buckets, order) {
      for (const bucket of buckets) {
        const type = catalog.typeOfBucket(bucket);
        if (type !== undefined) guard.require('readRecord', type.name);
      }
      return graph.scanBuckets(buckets, guarded(order));
    },
    record: rid => readableAt(rid, graph.record(rid)),
    records: rids => graph.records(rids).map((record, at) => readableAt(rids[at] as Rid, record)),
    edgeTypes: names => edges.types(names),
    hops: (vertices, choice) => edges.hops(vertices, choice),
    hopsBetween: (pairs, choice) => edges.asked(graph.hopsBetween(pairs, choice)),
    packedEdges: (bucket, chunk) =>
      edges.allReadable ? graph.packedEdges(bucket, chunk) : undefined,
    hopEdges: (hops, vertices) => graph.hopEdges(hops, vertices).map(readable),
    degrees: (vertices, choice) => edges.degrees(vertices, choice),
    // Whoever is told of a record's type has looked at it.
    typesByBucket: () => undefined,
    ...guardedIndexes(graph, guard, catalog),
    isSubtype: (type, ancestor) => graph.isSubtype(type, ancestor),
    typeExists: type => graph.typeExists(type),
    isShown: type => isShownTo(guard.access, type),
  };
}

type Indexes = 'indexPoint' | 'indexRange' | 'indexEntries' | 'ranked' | 'countType';

/** Indexes and counts, which tell of records without showing them. */
function guardedIndexes(graph: Graph, guard: TypeGuard, catalog: Catalog): Pick<Graph, Indexes> {
  const requireAll = (types: readonly string[]): void => {
    for (const name of types) guard.require('readRecord', name);
  };
  /** Whether all that the index holds may be read; what is wanted of it has to be. */
  const requireIndex = (name: string, only: IndexedPart | undefined): boolean => {
    const type = catalog.typeById(catalog.requireIndex(name).typeId);
    if (type === undefined) return true;
    requireAll(only === undefined ? familyOf(type) : wantedOf(only, catalog));
    return guard.allowsAll('readRecord', familyOf(type));
  };
  const readableIds = (rids: readonly Rid[]): readonly Rid[] => {
    const records = graph.records(rids);
    return rids.filter((_rid, at) => {
      const record = records[at];
      return record !== undefined && guard.allowsAll('readRecord', [record.typeName]);
    });
  };
  return {
    indexPoint(index, key, only) {
      const isWhole = requireIndex(index, only);
      const rids = graph.indexPoint(index, key);
      return isWhole ? rids : readableIds(rids);
    },
    indexRange(index, range, descending, only) {
      const isWhole = requireIndex(index, only);
      const source = graph.indexRange(index, range, descending);
      return isWhole ? source : mapped(source, readableIds);
    },
    indexEntries(index, which, descending, only) {
      const isWhole = requireIndex(index, only);
      const source = graph.indexEntries(index, which, descending);
      const may = (record: RecordValue): boolean =>
        isWhole || guard.allowsAll('readRecord', [record.typeName]);
      return readableEntries(source, rids =>
        graph
          .records(rids)
          .map(record => (record !== undefined && may(record) ? record : undefined)),
      );
    },
    ranked(index, request, effort) {
      const type = catalog.typeById(catalog.requireIndex(index).typeId);
      // The scores of records follow from all others that the index holds.
      if (type !== undefined) requireAll(familyOf(type));
      return graph.ranked(index, request, effort);
    },
    countType(type, polymorphic) {
      requireAll(wantedOf({type, polymorphic}, catalog));
      return graph.countType(type, polymorphic);
    },
  };
}

/** The names of the types whose records are wanted, be there any or not. */
function wantedOf({type, polymorphic}: IndexedPart, catalog: Catalog): readonly string[] {
  const known = catalog.type(type);
  return known === undefined ? [type] : polymorphic ? familyOf(known) : [known.name];
}

/** The names of a type and all that extend it. */
function familyOf(type: CatalogType): readonly string[] {
  return [...type.family].map(({name}) => name);
}

/** A source whose portions are made others. */
function mapped<T>(source: Source<T>, map: (portion: readonly T[]) => readonly T[]): Source<T> {
  return {
    next(max) {
      const portion = source.next(max);
      return portion && map(portion);
    },
    close: () => source.close(),
  };
}

/** `graph` is the unguarded one: it tells the type of what is about to be changed. */
export function guardWrites(
  writes: WritableGraph,
  graph: Graph,
  {guard, catalog}: {readonly guard: TypeGuard; readonly catalog: Catalog},
): WritableGraph {
  const edges = new GuardedEdges(graph, guard, catalog);
  const requireAt = (right: RecordRight, rid: Rid): void => {
    const type = graph.record(rid)?.typeName ?? catalog.typeOfBucket(rid.bucket)?.name;
    if (type !== undefined) guard.require(right, type);
  };
  return {
    create(record: NewRecord): RecordValue | undefined {
      guard.require('createRecord', record.type);
      for (const end of [record.from, record.to]) {
        if (end !== undefined) requireAt('updateRecord', end);
      }
      return writes.create(record);
    },
    replace(rid: Rid, properties: ReadonlyMap<string, Value>, options): RecordValue | undefined {
      requireAt('updateRecord', rid);
      return writes.replace(rid, properties, options);
    },
    retype(rid: Rid, type: string): RecordValue | undefined {
      requireAt('updateRecord', rid);
      guard.require('createRecord', type);
      return writes.retype(rid, type);
    },
    removeEdges(vertex: RecordValue) {
      guard.require('deleteRecord', vertex.typeName);
      edges.requireDeletable(vertex);
      return writes.removeEdges(vertex);
    },
    delete(record: RecordValue): boolean {
      guard.require('deleteRecord', record.typeName);
      edges.requireDeletable(record);
      return writes.delete(record);
    },
  };
}
