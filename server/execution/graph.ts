/**
 * What execution needs of the data: records, edges and index entries as of one point in time.
 *
 * The narrow side of storage towards operators and functions: names and values in, records and
 * ids out, several at a time. `graph-reader.ts` and `graph-writer.ts` implement it over a
 * transaction. Everything is synchronous. Unknown names are refused (`schema.unknown-*`).
 */
import type {Effort, RankedRequest, ScoredRid} from '#server/indexes/ranked-search.ts';
import type {RecordKind, RecordValue, Rid, Value} from '#server/model/value.ts';
import type {IndexedPart} from '#server/plan/node.ts';
import type {EdgeRemoval} from '#server/records/records.ts';
import type {EdgeChoice} from '#server/caches/adjacency-chunk.ts';
import type {PinnedChunk} from '#server/caches/shared-adjacency.ts';
import type {Column} from '#server/caches/row-group.ts';

/** Gives things in portions; `close` is idempotent and must be called. */
export interface Source<T> {
  /**
   * The next portion of up to `max` things, or undefined at the end. A portion may be empty:
   * much was looked at and nothing fitted, and the caller may want to pause.
   */
  next(max: number): readonly T[] | undefined;
  close(): void;
}

/** Decides on a record before it becomes a value; may look at its packed bytes. */
export type RecordTest = (record: RecordValue) => boolean;

export interface ScanOrder {
  readonly descending: boolean;
  /** Records of other ids need not be given; those within are, as far as `test` lets them. */
  readonly ids?: IdSpan | undefined;
  /** The test that records have to pass; undefined: all do. */
  readonly test?: RecordTest | undefined;
  /** Asked behind each test: whether the portion is to end here, so that the caller can pause. */
  readonly isOver?: (() => boolean) | undefined;
}

export interface ColumnRequest {
  readonly type: string;
  readonly polymorphic: boolean;
  readonly properties: readonly string[];
  /** The order of the scan for the parts that are read as records. */
  readonly order: ScanOrder;
}

/** Ids from the one to the other, both included; undefined: no bound. */
export interface IdSpan {
  readonly from: Rid | undefined;
  readonly to: Rid | undefined;
}

export interface IndexSpan {
  readonly from: IndexLimit | undefined;
  readonly to: IndexLimit | undefined;
}

/** What is under one key, in indexes without an order too. */
export interface WholeKey {
  readonly key: readonly Value[];
}

/** Edge types resolved with their subtypes; undefined stands for every type. */
export type EdgeTypes = ReadonlySet<number> | undefined;

/** One edge seen from one of its ends. */
export interface Hop {
  /** Index of the starting vertex in the list that was asked for. */
  readonly source: number;
  readonly edge: Rid;
  readonly other: Rid;
  readonly typeId: number;
  /** False when the edge was followed against its direction. */
  readonly outgoing: boolean;
}

/** Counts as long as it is asked to go on. */
export interface HopCounts {
  /** The count at each place in the list of vertices; right when `next` has answered false. */
  readonly counts: readonly number[];
  /** Counts some thousand edges more; false when all are counted. */
  next(): boolean;
  close(): void;
}

/** Where a hop starts and ends. */
export interface HopEnds {
  readonly vertex: Rid;
  readonly other: Rid;
}

export interface IndexEntry {
  readonly key: readonly Value[];
  readonly rid: Rid;
}

export interface EntrySource extends Source<IndexEntry> {
  /**
   * The next entries whose values are whole numbers or null, in arrays by part of the key (NaN for
   * null; no array: not wanted), as far as the last part that is wanted; how many, up to `max`: 0
   * when the next entry has other values and is to be taken by `next`. Undefined at the end, and
   * the method where entries must be looked at one by one.
   */
  readonly nextNumbers?: (
    into: readonly (Float64Array | undefined)[],
    max: number,
  ) => number | undefined;
}

export interface IndexLimit {
  readonly values: readonly Value[];
  readonly inclusive: boolean;
}

/** Part of a scan that has columns where they are kept. */
export interface ColumnPart {
  /** Undefined: only the records tell. */
  readonly columns: readonly Column[] | undefined;
  /** Writes the rows of the part's records into `into`; how many. Only with columns. */
  select(into: Uint16Array): number;
  /** The id of the record at a row; undefined without columns. */
  readonly ridOf: ((row: number) => Rid) | undefined;
  /** The same records, as a scan gives them. */
  records(): Source<RecordValue>;
}

/** What of a search index is asked. */
export interface RankedSearch extends Pick<RankedRequest, 'query' | 'k' | 'accept'> {
  readonly only?: string | undefined;
}

export interface Graph {
  scanType(type: string, polymorphic: boolean, order: ScanOrder): Source<RecordValue>;
  /**
   * Works like `scanType` in ascending order, in parts that have columns of `properties` where they
   * are kept (stored/column-scan.ts); undefined where that does not pay or is not to be.
   */
  scanColumns(scan: ColumnRequest): Iterable<ColumnPart | undefined> | undefined;
  scanBuckets(buckets: readonly number[], order: ScanOrder): Source<RecordValue>;
  record(rid: Rid): RecordValue | undefined;
  /** The records, in the order of `rids`; undefined for what does not exist. */
  records(rids: readonly Rid[]): readonly (RecordValue | undefined)[];
  /** Resolves names of edge types; none named: every type. */
  edgeTypes(names: readonly string[]): EdgeTypes;
  /**
   * Edges of the vertices, vertex by vertex; of one vertex outgoing ones first, by edge type,
   * other end, edge. A loop is met once each way.
   */
  hops(vertices: readonly Rid[], choice: EdgeChoice): Source<Hop>;
  /**
   * Edges between the ends of each pair (each pair at most once), as `hops` would give them from
   * `vertex`; `source` counts the pairs. Cost: a few keys a pair, whatever the degrees.
   */
  hopsBetween(pairs: readonly HopEnds[], choice: EdgeChoice): Source<Hop>;
  /** The edges themselves; `vertices` as given to `hops`. Light edges are made up from the hop. */
  hopEdges(hops: readonly Hop[], vertices: readonly Rid[]): readonly (RecordValue | undefined)[];
  /**
   * The edges of 65,536 vertices of a bucket, packed, where they are in memory and hold for this
   * point in time; what is not there is asked of `hops`, which uses the same.
   */
  packedEdges(bucket: number, chunk: number): PinnedChunk | undefined;
  /** How many edges each of the vertices has; none is named twice. */
  degrees(vertices: readonly Rid[], choice: EdgeChoice): HopCounts;
  /**
   * The type of the records in a bucket; undefined as a whole when it does not tell: records may
   * lie in a bucket of another type, or looking at one says more than its type.
   */
  typesByBucket(): ((bucket: number) => string | undefined) | undefined;
  /**
   * Ids under one full key, in id order.
   *
   * @param only - The caller wants no others and passes over them itself: their rights count.
   */
  indexPoint(index: string, key: readonly Value[], only?: IndexedPart): readonly Rid[];
  indexRange(index: string, range: IndexSpan, descending: boolean, only?: IndexedPart): Source<Rid>;
  /** Works like `indexRange`, with the values of the keys; without bounds all entries. */
  indexEntries(
    index: string,
    which: IndexSpan | WholeKey,
    descending: boolean,
    only?: IndexedPart,
  ): EntrySource;
  /**
   * The best records of a search index, best first, of equal scores the lesser id.
   *
   * `only` names a type: only its records and those of its subtypes. `accept` is asked of those
   * that would be among the `k`; others are not.
   *
   * @throws {Refusal} for a query that cannot be read, and what `effort` throws.
   */
  ranked(index: string, request: RankedSearch, effort: Effort): readonly ScoredRid[];
  /** Records of a type, from its counters. */
  countType(type: string, polymorphic: boolean): number;
  /** Whether `type` is `ancestor` or inherits from it; false for unknown names. */
  isSubtype(type: string, ancestor: string): boolean;
  typeExists(type: string): boolean;
  /** Whether the type is told to whoever asks when he lists the schema. */
  isShown(type: string): boolean;
}

export interface NewRecord {
  readonly what: RecordKind | 'any';
  readonly type: string;
  readonly bucket: string | undefined;
  readonly properties: ReadonlyMap<string, Value>;
  /** Ends of an edge. */
  readonly from?: Rid;
  readonly to?: Rid;
  readonly unidirectional?: boolean;
  /** The id that it had before it was deleted. */
  readonly rid?: Rid;
}

/** Writes into the transaction; what is written is visible to `Graph` at once. */
export interface WritableGraph {
  /**
   * Undefined when a trigger forbids it.
   *
   * @throws {Refusal} `value.*`, `schema.*`, `record.not-found` for a missing end.
   */
  create(record: NewRecord): RecordValue | undefined;
  /** Puts `properties` in the place of the record's own; undefined when it is gone or may not. */
  replace(
    rid: Rid,
    properties: ReadonlyMap<string, Value>,
    options: {readonly applyDefaults: boolean},
  ): RecordValue | undefined;
  /** Gives a vertex another type, which exists; undefined when it is gone. */
  retype(rid: Rid, type: string): RecordValue | undefined;
  /**
   * Begins to remove the edges of a vertex that is deleted next, some at a time, so that a hub does
   * not hold the thread; undefined where somebody is asked before any of them goes.
   */
  removeEdges(vertex: RecordValue): EdgeRemoval | undefined;
  /** Removes the record, a vertex with its edges; false when it is gone already or may not go. */
  delete(record: RecordValue): boolean;
}
