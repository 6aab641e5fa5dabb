/**
 * `Graph` over a snapshot or a transaction: layout's keys and records, packed reads, no caches.
 *
 * Scans look at records where they lie: the test of a scan gets one cursor that moves from
 * record to record over the packed rows, and only what passes is copied.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {indexOfKind} from '#server/catalog/change-index.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {betweenRanges, EdgeCursor} from '#server/indexes/edge-cursor.ts';
import type {IndexFamilies} from '#server/indexes/index-family.ts';
import {IndexSearch} from '#server/indexes/range.ts';
import {
  type Effort,
  type RankedRequest,
  type ScoredRid,
  searchRanked,
} from '#server/indexes/ranked-search.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {allAdjacency, isLightEdge, readAdjacencyKey} from '#server/layout/adjacency-key.ts';
import {strayMembers} from '#server/layout/stray-member-key.ts';
import {recordTypeId} from '#server/layout/record.ts';
import {indexRange} from '#server/layout/index-key.ts';
import {bucketRange, recordKey} from '#server/layout/record-key.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import {LightEdge, type StoredRecord} from '#server/layout/stored-record.ts';
import {type RecordValue, Rid, type Value} from '#server/model/value.ts';
import {StrayMembers} from '#server/records/members.ts';
import {counterKey, decodeCounter} from '#server/transactions/system-keys.ts';
import {CompressedValueReader} from '#server/records/compressed-values.ts';
import type {ReadSchema} from '#server/records/context.ts';
import {loadMany, loadRecord} from '#server/records/read.ts';
import type {ScanRange} from '#server/storage/store.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';
import type {EdgeChoice} from '#server/caches/adjacency-chunk.ts';
import {type DerivedCaches, noCaches} from '#server/caches/derived-caches.ts';
import type {PinnedChunk} from '#server/caches/shared-adjacency.ts';
import type {
  ColumnPart,
  ColumnRequest,
  EdgeTypes,
  EntrySource,
  Graph,
  Hop,
  HopCounts,
  HopEnds,
  IdSpan,
  IndexSpan,
  RankedSearch,
  ScanOrder,
  Source,
  WholeKey,
} from './graph.ts';
import {columnParts} from './stored/column-scan.ts';
import {keptEntries} from './stored/kept-entries.ts';
import {StoredHopCounts} from './stored/hop-counts.ts';
import {HopSource} from './stored/hop-source.ts';
import {PackedEdges, pairHops} from './stored/packed-edges.ts';
import {RecordArena, ScannedRecord} from './stored/scanned-record.ts';

/** Records fetched one by one rather than packed. */
const singleGetsMax = 3;
const scanBufferBytesMin = 4 << 10;
const scanBufferBytesMax = 128 << 10;
/** Rows that one call of a scan's `next` looks at, so that its caller can pause. */
const rowsPerPortion = 4_096;
/** A portion of a scan ends behind the record whose uncompressed values exceed it. */
const foldedBytesMax = 4 << 20;
/** A type with at most this many records is its own sample. */
const sampledWholeMax = 512;
/** Places of a larger type where a sample is taken, and positions that are read at each. */
const sampledPlaces = 64;
const positionsPerPlace = 6;
/** Records of a megabyte each must not make a sample dear. */
const sampledBytesMax = 256 << 10;

export class GraphReader implements Graph {
  readonly #reader: ReadContext;
  readonly #catalog: Catalog;
  readonly #families: IndexFamilies;
  readonly #schema: RecordSchema;
  readonly #kept: DerivedCaches;
  readonly #compressed: CompressedValueReader;
  #searches: Map<string, IndexSearch> | undefined;

  /**
   * @param kept - Of the database that is read; nothing where it does not pay.
   * @param asked - Names of the properties that a record's reader wants; of others a compressed
   * value (compressed-values.ts) is read when it is asked for, as long as the snapshot is there.
   * Default: all.
   */
  constructor(
    reader: ReadContext,
    {catalog, families, schema}: ReadSchema,
    kept: DerivedCaches = noCaches,
    asked?: ReadonlySet<string>,
  ) {
    this.#kept = kept;
    this.#compressed = new CompressedValueReader(
      reader,
      asked && (id => asked.has(schema.propertyName(id))),
    );
    this.#reader = reader;
    this.#catalog = catalog;
    this.#families = families;
    this.#schema = schema;
  }

  scanType(name: string, polymorphic: boolean, order: ScanOrder): Source<RecordValue> {
    const type = this.#catalog.requireType(name);
    if (type.edge.lightweight) return this.#lightEdges(type, polymorphic, order);
    const typeIds = polymorphic ? type.familyIds : new Set([type.id]);
    const buckets = polymorphic ? type.familyBucketIds : type.bucketIds;
    return inTurn(this.#scan(bucketRanges(buckets, order), order, typeIds), () =>
      this.#foreign(buckets, order, typeIds),
    );
  }

  scanColumns(requested: ColumnRequest): Iterable<ColumnPart | undefined> | undefined {
    const columns = this.#kept.columns;
    const {type: name, polymorphic, properties, order} = requested;
    const type = this.#catalog.requireType(name);
    if (columns === undefined || type.edge.lightweight) return undefined;
    if (!columns.pays(this.countType(name, polymorphic))) return undefined;
    const typeIds = polymorphic ? type.familyIds : new Set([type.id]);
    const buckets = polymorphic ? type.familyBucketIds : type.bucketIds;
    return columnParts({
      reader: this.#reader,
      schema: this.#schema,
      cache: columns,
      buckets,
      typeIds,
      properties,
      recordsOf: ranges => this.#scan(ranges, order, typeIds),
      foreign: () => this.#foreign(buckets, order, typeIds),
    });
  }

  /** Records of the types that lie in none of the buckets: their labels were changed. */
  #foreign(
    buckets: readonly number[],
    {test}: ScanOrder,
    typeIds: ReadonlySet<number>,
  ): Source<RecordValue> {
    const members = new StrayMembers(this.#reader, typeIds, buckets);
    return {
      next: max => {
        const rids = members.next(Math.min(max, rowsPerPortion));
        if (rids === undefined) return undefined;
        const records = loadMany(this.#reader, this.#schema, rids, this.#compressed);
        return records.filter(record => record !== undefined).filter(test ?? everything);
      },
      close: () => members.close(),
    };
  }

  scanBuckets(buckets: readonly number[], order: ScanOrder): Source<RecordValue> {
    return this.#scan(bucketRanges(buckets, order), order, undefined);
  }

  /** The type is the header's, not the bucket's, so rows of other types are passed over. */
  #scan(
    ranges: readonly ScanRange[],
    order: ScanOrder,
    typeIds: ReadonlySet<number> | undefined,
  ): Source<RecordValue> {
    const {test, isOver, descending} = order;
    const options = {
      reverse: descending,
      pauses: true,
      bufferBytes: scanBufferBytesMin,
      bufferBytesMax: scanBufferBytesMax,
    };
    const walker = new RowWalker(this.#reader, ranges, options);
    const cursor = new ScannedRecord(this.#schema, this.#compressed);
    const arena = new RecordArena();
    const compressed = this.#compressed;
    return {
      next: max => {
        const records: StoredRecord[] = [];
        let compressedBytes = 0;
        for (let rows = 0; rows < rowsPerPortion && records.length < max; rows++) {
          if (!walker.next()) {
            if (rows === 0 && walker.ended) return undefined;
            break;
          }
          const {bytes, keyStart, keyEnd, end} = walker;
          if (typeIds !== undefined && !typeIds.has(recordTypeId(bytes, keyEnd))) continue;
          cursor.move(bytes, keyStart, keyEnd, end);
          if (test === undefined || test(cursor)) {
            records.push(cursor.copy(arena));
            if (cursor.isCompressed) compressedBytes += 1 + compressed.bytesAsked(cursor);
          }
          if (isOver?.() === true || compressedBytes > foldedBytesMax) break;
        }
        return compressedBytes === 0 ? records : compressed.decompressAll(records);
      },
      close: () => walker.close(),
    };
  }

  /** Light edges live in the adjacency keys alone: all of them are looked at. */
  #lightEdges(type: CatalogType, polymorphic: boolean, order: ScanOrder): Source<RecordValue> {
    const typeIds = polymorphic ? type.familyIds : new Set([type.id]);
    const walker = new RowWalker(this.#reader, [allAdjacency], {reverse: order.descending});
    return {
      next: max => {
        const edges: RecordValue[] = [];
        for (let rows = 0; rows < rowsPerPortion && edges.length < max; rows++) {
          if (!walker.next()) return rows === 0 ? undefined : edges;
          const {bytes, keyStart, keyEnd} = walker;
          const light = isLightEdge(bytes, keyEnd);
          const parts = readAdjacencyKey(bytes, keyStart, light);
          if (!light || parts.direction !== 0 || !typeIds.has(parts.edgeTypeId)) continue;
          const {edge: rid, edgeTypeId: typeId, vertex: from, other: to} = parts;
          const edge = new LightEdge({rid, typeId, from, to}, this.#schema);
          if (order.test?.(edge) ?? true) edges.push(edge);
          if (order.isOver?.() === true) break;
        }
        return edges;
      },
      close: () => walker.close(),
    };
  }

  record(rid: Rid): RecordValue | undefined {
    return loadRecord(this.#reader, this.#schema, rid, this.#compressed);
  }

  records(rids: readonly Rid[]): readonly (RecordValue | undefined)[] {
    if (rids.length > singleGetsMax)
      return loadMany(this.#reader, this.#schema, rids, this.#compressed);
    return rids.map(rid => this.record(rid));
  }

  edgeTypes(names: readonly string[]): EdgeTypes {
    if (names.length === 0) return undefined;
    return new Set(names.flatMap(name => [...this.#catalog.requireType(name).familyIds]));
  }

  hops(vertices: readonly Rid[], choice: EdgeChoice): Source<Hop> {
    return new HopSource(this.#reader, this.#packed(choice), {vertices, choice});
  }

  #packed(choice: EdgeChoice): PackedEdges {
    return new PackedEdges(this.#reader, this.#kept.adjacency, choice);
  }

  packedEdges(bucket: number, chunk: number): PinnedChunk | undefined {
    const adjacency = this.#kept.adjacency;
    if (adjacency === undefined || this.#reader.overlays(allAdjacency)) return undefined;
    return adjacency.chunkAt(bucket, chunk, this.#reader.snapshotIndex);
  }

  hopsBetween(pairs: readonly HopEnds[], choice: EdgeChoice): Source<Hop> {
    const {direction, types} = choice;
    const typeIds =
      types === undefined
        ? [...this.#catalog.types].filter(type => type.kind === 'edge').map(type => type.id)
        : [...types];
    return pairHops(pairs, this.#packed(choice), rest => {
      const ranges = betweenRanges(rest, direction, typeIds);
      return new EdgeCursor(this.#reader, ranges, {...choice, distinct: true});
    });
  }

  hopEdges(hops: readonly Hop[], vertices: readonly Rid[]): readonly (RecordValue | undefined)[] {
    const stored = this.records(hops.filter(hop => hop.edge.position >= 0).map(hop => hop.edge));
    let next = 0;
    return hops.map(hop => {
      if (hop.edge.position >= 0) return stored[next++];
      const here = vertices[hop.source] as Rid;
      const [from, to] = hop.outgoing ? [here, hop.other] : [hop.other, here];
      return new LightEdge({rid: hop.edge, typeId: hop.typeId, from, to}, this.#schema);
    });
  }

  degrees(vertices: readonly Rid[], choice: EdgeChoice): HopCounts {
    return new StoredHopCounts(this.#reader, this.#packed(choice), {vertices, choice});
  }

  typesByBucket(): ((bucket: number) => string | undefined) | undefined {
    const walker = new RowWalker(this.#reader, [strayMembers], {bufferBytes: 1 << 10});
    const isHome = !walker.next();
    walker.close();
    return isHome ? bucket => this.#catalog.typeOfBucket(bucket)?.name : undefined;
  }

  indexPoint(index: string, key: readonly Value[]): readonly Rid[] {
    return this.#search(index).point(key);
  }

  indexRange(index: string, range: IndexSpan, descending: boolean): Source<Rid> {
    const cursor = this.#search(index).range(range, {descending});
    return {next: max => cursor.nextRids(max), close: () => cursor.close()};
  }

  indexEntries(index: string, which: IndexSpan | WholeKey, descending: boolean): EntrySource {
    const search = this.#search(index);
    if (!('key' in which) && !descending) {
      const kept = keptEntries(this.#kept.indexes, {reader: this.#reader, search, span: which});
      if (kept !== undefined) return kept;
    }
    const cursor = 'key' in which ? search.under(which.key) : search.range(which, {descending});
    return {
      next: max => cursor.nextEntries(max),
      nextNumbers: (into, max) => cursor.nextNumbers(into, max),
      close: () => cursor.close(),
    };
  }

  ranked(
    name: string,
    {query, k, only, accept}: RankedSearch,
    effort: Effort,
  ): readonly ScoredRid[] {
    const named = 'kind' in query ? indexOfKind(this.#catalog, name, query.kind) : undefined;
    const index = named ?? this.#catalog.requireIndex(name);
    const reader = this.#reader;
    const {search, searches} = this.#kept;
    searches?.add(index.id);
    // Own writes are in nothing that is kept.
    const overlaid = reader.overlays(indexRange(index.id));
    const kept = overlaid ? undefined : search?.open(index, reader);
    const onSplit = searches && ((parts: number) => searches.addParts(index.id, parts));
    const source = {reader, index, kept, effort, settings: search?.settings, onSplit};
    return searchRanked(source, {query, k, ...this.#restriction(only, accept)}, this.#families);
  }

  /** Leads to the records of a type: by their buckets alone, where no record lies in another's. */
  #restriction(
    only: string | undefined,
    more: RankedSearch['accept'],
  ): Pick<RankedRequest, 'accept' | 'buckets'> {
    if (only === undefined) return {accept: more};
    const isOne = this.#typeTest(only);
    const accept: RankedSearch['accept'] =
      more === undefined
        ? isOne
        : (bucket, position) => isOne(bucket, position) && more(bucket, position);
    if (this.typesByBucket() === undefined) return {accept};
    return {accept, buckets: new Set(this.#catalog.requireType(only).familyBucketIds)};
  }

  /** Whether a record is of the type: most buckets say so, a stray record is asked itself. */
  #typeTest(name: string): (bucket: number, position: number) => boolean {
    const type = this.#catalog.requireType(name);
    const typeOf = this.typesByBucket();
    const isOne = new Map<number, boolean>();
    return (bucket, position) => {
      if (typeOf === undefined) {
        const record = loadRecord(this.#reader, this.#schema, new Rid(bucket, position));
        return record !== undefined && this.isSubtype(record.typeName, type.name);
      }
      let found = isOne.get(bucket);
      if (found === undefined) {
        const typeName = typeOf(bucket);
        found = typeName !== undefined && this.isSubtype(typeName, type.name);
        isOne.set(bucket, found);
      }
      return found;
    };
  }

  #search(name: string): IndexSearch {
    const known = this.#searches?.get(name);
    if (known !== undefined) return known;
    const index = this.#catalog.requireIndex(name);
    const type = this.#catalog.typeById(index.typeId);
    const search = new IndexSearch(
      this.#reader,
      index,
      type ?? this.#catalog.requireType(name),
      this.#catalog.families.of(index),
    );
    this.#searches ??= new Map();
    this.#searches.set(name, search);
    return search;
  }

  countType(name: string, polymorphic: boolean): number {
    const type = this.#catalog.requireType(name);
    let count = 0;
    for (const bucket of polymorphic ? type.familyBucketIds : type.bucketIds) {
      count += this.#reader.recordCount(bucket);
    }
    return count;
  }

  /**
   * Some records of a type and its subtypes, at places spread evenly over the positions that their
   * buckets have handed out: some dozens of seeks whatever the size, and the same data gives the
   * same sample. The record is a cursor: it is another one at the next call.
   */
  sample(name: string, visit: (record: RecordValue) => void): void {
    const type = this.#catalog.requireType(name);
    const walker = new RowWalker(this.#reader, this.#sampledRanges(type), {
      bufferBytes: scanBufferBytesMin,
      bufferBytesMax: scanBufferBytesMax,
    });
    const cursor = new ScannedRecord(this.#schema, this.#compressed);
    let bytesLeft = sampledBytesMax;
    try {
      while (bytesLeft > 0 && walker.next()) {
        const {bytes, keyStart, keyEnd, end} = walker;
        bytesLeft -= end - keyStart;
        if (!type.familyIds.has(recordTypeId(bytes, keyEnd))) continue;
        cursor.move(bytes, keyStart, keyEnd, end);
        visit(cursor);
      }
    } finally {
      walker.close();
    }
  }

  /** More places where more records are. */
  #sampledRanges({familyBucketIds}: CatalogType): readonly ScanRange[] {
    const counts = familyBucketIds.map(bucket => this.#reader.recordCount(bucket));
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (total <= sampledWholeMax) return familyBucketIds.map(bucketRange);
    return familyBucketIds.flatMap((bucket, at) => {
      const places = Math.ceil((sampledPlaces * (counts[at] ?? 0)) / total);
      const positions = decodeCounter(this.#reader.get(counterKey('position', bucket)));
      const step = Math.max(1, positions / Math.max(places, 1));
      return Array.from({length: places}, (_place, number) => {
        const first = Math.floor(number * step);
        const last = first + Math.min(positionsPerPlace, Math.ceil(step));
        return {start: recordKey(new Rid(bucket, first)), end: recordKey(new Rid(bucket, last))};
      });
    });
  }

  isSubtype(type: string, ancestor: string): boolean {
    if (type === ancestor) return true;
    const below = this.#catalog.type(type);
    return below !== undefined && this.#catalog.type(ancestor)?.familyIds.has(below.id) === true;
  }

  typeExists(type: string): boolean {
    return this.#catalog.type(type) !== undefined;
  }

  isShown(): boolean {
    return true;
  }
}

/** The ranges of the buckets, in the order of the scan. */
function bucketRanges(
  buckets: readonly number[],
  {descending, ids}: ScanOrder,
): readonly ScanRange[] {
  const ranges = rangesOf(buckets, ids);
  return descending ? ranges.reverse() : ranges;
}

function everything(): boolean {
  return true;
}

/** One source behind the other; the second is opened when the first has ended. */
function inTurn<T>(first: Source<T>, open: () => Source<T>): Source<T> {
  let current = first;
  let isSecond = false;
  return {
    next(max) {
      const found = current.next(max);
      if (found !== undefined || isSecond) return found;
      current.close();
      isSecond = true;
      current = open();
      return current.next(max);
    },
    close: () => current.close(),
  };
}

/** The keys of the buckets' records with ids within the span. */
function rangesOf(buckets: readonly number[], {from, to}: Partial<IdSpan> = {}): ScanRange[] {
  return buckets
    .filter(bucket => bucket >= (from?.bucket ?? bucket) && bucket <= (to?.bucket ?? bucket))
    .map(bucket => {
      const {start, end} = bucketRange(bucket);
      return {
        start: from?.bucket === bucket ? recordKey(from) : start,
        end: to?.bucket === bucket ? Uint8Array.of(...recordKey(to), 0) : end,
      };
    });
}
