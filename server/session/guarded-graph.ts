/**
 * A graph that shows and changes only what its user may: authorization for every language, plan
 * and function at once.
 *
 * Operators and functions reach data through `Graph` and `WritableGraph` alone, so a check here
 * cannot be walked around. Reading a record of a forbidden type is refused, not hidden: an answer
 * that silently lacks rows is a wrong answer. The right is asked once a type and statement. An
 * index is read only by who may read its type or a subtype, since its keys are values of records
 * and even a look-up that finds nothing tells something.
 * `root`, and users whose groups allow everything, never pay for it (service.ts).
 */
import type {DatabaseAccess} from '#server/access/decide.ts';
import type {RecordRight} from '#server/access/rights.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Graph, NewRecord, ScanOrder, Source, WritableGraph} from '#server/execution/graph.ts';
import type {RecordValue, Rid, Value} from '#server/model/value.ts';
import {readableEntries} from './database/readable-entries.ts';

/** Asks for rights on types and remembers what is allowed. */
export class TypeGuard {
  readonly #access: DatabaseAccess;
  readonly #user: string;
  readonly #allowed = new Set<string>();

  constructor(access: DatabaseAccess, user: string) {
    this.#access = access;
    this.#user = user;
  }

  /** @throws {Refusal} `security.denied`. */
  require(right: RecordRight, type: string): void {
    const key = `${right} ${type}`;
    if (this.#allowed.has(key)) return;
    if (!this.#access.allowsOnType(right, type)) {
      throw new Refusal(
        'security.denied',
        `User '${this.#user}' is not allowed to ${words[right]} records of type '${type}'`,
        {detail: {right, type}},
      );
    }
    this.#allowed.add(key);
  }

  /** Whether the right is given on each of the types. */
  allowsAll(right: RecordRight, types: readonly string[]): boolean {
    return types.every(type => this.#access.allowsOnType(right, type));
  }

  /** Asks for the right on any of the types. @throws {Refusal} `security.denied`, for the first. */
  requireOneOf(right: RecordRight, types: readonly string[]): void {
    const allowed = types.find(type => this.#access.allowsOnType(right, type)) ?? types[0];
    if (allowed !== undefined) this.require(right, allowed);
  }
}

const words: Readonly<Record<RecordRight, string>> = {
  createRecord: 'create',
  readRecord: 'read',
  updateRecord: 'update',
  deleteRecord: 'delete',
};

export function guardGraph(graph: Graph, guard: TypeGuard, catalog: Catalog): Graph {
  const requireIndex = (name: string): void => {
    const type = catalog.typeById(catalog.requireIndex(name).typeId);
    const subtypes = [...(type?.familyIds ?? [])].map(id => catalog.typeById(id)?.name ?? '');
    guard.requireOneOf('readRecord', type === undefined ? subtypes : [type.name, ...subtypes]);
  };
  const readable = <R extends RecordValue | undefined>(record: R): R => {
    if (record !== undefined) guard.require('readRecord', record.typeName);
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
      guard.require('readRecord', type);
      return graph.scanType(type, polymorphic, guarded(order));
    },
    scanColumns: requested => {
      const family = [...(catalog.type(requested.type)?.family ?? [])];
      // Columns show records of all types: what may be read of some only is read one by one.
      return guard.allowsAll(
        'readRecord',
        family.map(({name}) => name),
      )
        ? graph.scanColumns(requested)
        : undefined;
    },
    scanBuckets: (buckets, order) => graph.scanBuckets(buckets, guarded(order)),
    record: rid => readable(graph.record(rid)),
    records: rids => graph.records(rids).map(readable),
    edgeTypes: names => graph.edgeTypes(names),
    hops: (vertices, choice) => graph.hops(vertices, choice),
    hopsBetween: (pairs, choice) => graph.hopsBetween(pairs, choice),
    packedEdges: (bucket, chunk) => graph.packedEdges(bucket, chunk),
    hopEdges: (hops, vertices) => graph.hopEdges(hops, vertices).map(readable),
    degrees: (vertices, choice) => graph.degrees(vertices, choice),
    // Whoever is told of a record's type has looked at it.
    typesByBucket: () => undefined,
    indexPoint(index, key) {
      requireIndex(index);
      return graph.indexPoint(index, key);
    },
    indexRange(index, range, descending) {
      requireIndex(index);
      return graph.indexRange(index, range, descending);
    },
    indexEntries(index, which, descending) {
      requireIndex(index);
      const source = graph.indexEntries(index, which, descending);
      return readableEntries(source, rids => graph.records(rids).map(readable));
    },
    ranked(index, request, effort) {
      requireIndex(index);
      return graph.ranked(index, request, effort);
    },
    countType(type, polymorphic) {
      guard.require('readRecord', type);
      return graph.countType(type, polymorphic);
    },
    isSubtype: (type, ancestor) => graph.isSubtype(type, ancestor),
    typeExists: type => graph.typeExists(type),
  };
}

/** `graph` is the unguarded one: it tells the type of what is about to be changed. */
export function guardWrites(writes: WritableGraph, graph: Graph, guard: TypeGuard): WritableGraph {
  return {
    create(record: NewRecord): RecordValue | undefined {
      guard.require('createRecord', record.type);
      return writes.create(record);
    },
    replace(rid: Rid, properties: ReadonlyMap<string, Value>, options): RecordValue | undefined {
      const record = graph.record(rid);
      if (record !== undefined) guard.require('updateRecord', record.typeName);
      return writes.replace(rid, properties, options);
    },
    retype(rid: Rid, type: string): RecordValue | undefined {
      const record = graph.record(rid);
      if (record !== undefined) guard.require('updateRecord', record.typeName);
      guard.require('createRecord', type);
      return writes.retype(rid, type);
    },
    removeEdges(vertex: RecordValue) {
      guard.require('deleteRecord', vertex.typeName);
      return writes.removeEdges(vertex);
    },
    delete(record: RecordValue): boolean {
      guard.require('deleteRecord', record.typeName);
      return writes.delete(record);
    },
  };
}
