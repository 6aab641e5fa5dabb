/**
 * Deletes the records of a bucket some at a time, each with everything that belongs to it.
 *
 * For buckets whose records leave traces elsewhere (edges lie with their ends, too): dropping or
 * truncating such a bucket is a sequence of bounded transactions.
 */
import {RowWalker} from '#server/indexes/row-walker.ts';
import {
  adjacencyBucketRange,
  directionOf,
  isLightEdge,
  outgoing,
  readAdjacencyKey,
} from '#server/layout/adjacency-key.ts';
import {bucketRange, ridOfRecordKey} from '#server/layout/record-key.ts';
import {LightEdge} from '#server/layout/stored-record.ts';
import type {Rid} from '#server/model/value.ts';
import {RecordWriter} from './records.ts';
import type {BuildLimits} from './build.ts';
import type {RecordContext} from './context.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

/** Deletes the next records of the bucket in `transaction`; how many. */
export function deleteSomeRecords(
  transaction: Transaction,
  context: RecordContext,
  bucketId: number,
  limits: BuildLimits,
): number {
  const writer = new RecordWriter(transaction, context);
  const rids = firstRids(transaction, bucketId, limits.recordsMax);
  let deleted = 0;
  for (const rid of rids) {
    if (transaction.writeBytes >= limits.writeBytesMax) break;
    writer.delete(rid);
    deleted += 1;
  }
  return deleted;
}

const rowsAtOnceMax = 20_000;

/**
 * Deletes the light edges of a bucket, chunk by chunk: they lie among the edges of all vertices.
 * A chunk whose commit met a concurrent write is filled again (`fill` without `advance`).
 */
export class LightEdgeRemoval {
  private readonly context: RecordContext;
  private readonly bucketId: number;
  private readonly buckets: readonly number[];
  private place: BucketPosition = {bucketAt: 0, start: undefined};
  private pending: BucketPosition | undefined;

  constructor(context: RecordContext, bucketId: number) {
    this.context = context;
    this.bucketId = bucketId;
    this.buckets = vertexBuckets(context);
  }

  get done(): boolean {
    return this.place.bucketAt >= this.buckets.length;
  }

  /** Deletes the next of them in `transaction`. */
  fill(transaction: Transaction, limits: BuildLimits): void {
    const {bucketAt, start} = this.place;
    const bucket = this.buckets[bucketAt];
    if (bucket === undefined) return;
    const range = adjacencyBucketRange(bucket);
    const walker = new RowWalker(transaction, [{start: start ?? range.start, end: range.end}]);
    const found: LightEdge[] = [];
    let next: Uint8Array | undefined;
    let more = walker.next();
    for (let rows = 0; more && rows < rowsAtOnceMax && found.length < limits.recordsMax; rows++) {
      const {bytes, keyStart, keyEnd} = walker;
      const isLight = isLightEdge(bytes, keyEnd);
      if (isLight && directionOf(bytes, keyStart) === outgoing) {
        const {vertex, other, edge, edgeTypeId} = readAdjacencyKey(bytes, keyStart, true);
        const ends = {rid: edge, typeId: edgeTypeId, from: vertex, to: other};
        if (edge.bucket === this.bucketId) found.push(new LightEdge(ends, this.context.schema));
      }
      next = Buffer.concat([bytes.subarray(keyStart, keyEnd), Buffer.alloc(1)]);
      more = walker.next();
    }
    walker.close();
    const writer = new RecordWriter(transaction, this.context);
    for (const edge of found) writer.deleteEdge(edge);
    this.pending = more ? {bucketAt, start: next} : {bucketAt: bucketAt + 1, start: undefined};
  }

  /** The last filled chunk is committed: the next one goes on behind it. */
  advance(): void {
    this.place = this.pending ?? this.place;
    this.pending = undefined;
  }
}

interface BucketPosition {
  readonly bucketAt: number;
  /** Key behind the last row that was looked at; undefined: start of the bucket. */
  readonly start: Uint8Array | undefined;
}

/**
 * Refuses the commit when any edge was made or deleted since the snapshot: the drop of light edges.
 */
export function requireEdgesUntouched(transaction: Transaction, context: RecordContext): void {
  for (const bucket of vertexBuckets(context)) {
    transaction.require({kind: 'range-untouched', ...adjacencyBucketRange(bucket)});
  }
}

function vertexBuckets({catalog}: RecordContext): readonly number[] {
  return [...catalog.types]
    .filter(type => type.kind === 'vertex')
    .flatMap(type => [...type.bucketIds]);
}

function firstRids(transaction: Transaction, bucketId: number, countMax: number): Rid[] {
  const rids: Rid[] = [];
  const walker = new RowWalker(transaction, [bucketRange(bucketId)]);
  while (rids.length < countMax && walker.next()) {
    rids.push(ridOfRecordKey(walker.bytes, walker.keyStart));
  }
  walker.close();
  return rids;
}
