/**
 * CHECK DATABASE ... COMPRESS: has the store of a database rewritten into its final shape, whole or
 * what belongs to some buckets, on a thread of its own while others read and write.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {Refusal, queryTerminated} from '#server/base/errors.ts';
import {adjacencyBucketRange} from '#server/layout/adjacency-key.ts';
import {externalBucketRange} from '#server/layout/external-key.ts';
import {indexRange} from '#server/layout/index-key.ts';
import {bucketRange} from '#server/layout/record-key.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {ScanRange, ShareableStore, StoreProperties} from '#server/storage/store.ts';
import type {Database} from './database.ts';

/** A thread that compacts stores, one order after the other. */
export interface CompactionThread {
  /** False when it was told to stop before the end. Rejects with what the store throws. */
  compact(order: CompactionOrder): Promise<boolean>;
  /** Resolves when no order is under way; they have to be told to stop before. */
  close(): Promise<void>;
}

export interface CompactionOrder {
  readonly store: ShareableStore;
  /** One after the other; none: everything. */
  readonly ranges: readonly ScanRange[];
  /** The first byte set to 1 stops it. */
  readonly stop: Uint8Array<SharedArrayBuffer>;
}

export interface CompactionMeans {
  readonly database: Database;
  /** Undefined: there is none. */
  readonly thread: CompactionThread | undefined;
  readonly timers: Timers;
  /** Why so many bytes may not be written to the disk now, if so. */
  readonly obstacle: (bytes: number) => string | undefined;
}

/** Bytes of the whole database in memory and in files, as the store counts them. */
export interface Compacted {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/** The time between two looks at the signal. */
const lookMs = 20;

/**
 * Compacts the ranges; all of the store where there are none.
 *
 * @throws {Refusal} `not-available` without a native store and a thread; `storage.full` where the
 *   disk has no room for a second copy; `query.terminated`.
 */
export async function compactStore(
  {database, thread, timers, obstacle}: CompactionMeans,
  ranges: readonly ScanRange[],
  signal: {readonly aborted: boolean} | undefined,
): Promise<Compacted> {
  if (thread === undefined || !database.sharesSnapshots) {
    const name = 'CHECK DATABASE COMPRESS';
    const message = `${name} needs the native store, and this server runs on another one`;
    throw new Refusal('not-available', message, {detail: {name}});
  }
  database.dropSnapshot();
  const before = database.store.properties();
  const room = obstacle(before.sstBytes);
  if (room !== undefined) throw new Refusal('storage.full', room);
  const stop = new Uint8Array(new SharedArrayBuffer(1));
  const {store, release} = database.shareStore();
  let cancelLook: () => void = () => {};
  const look = (): void => {
    if (signal?.aborted === true) Atomics.store(stop, 0, 1);
    else cancelLook = timers.after(lookMs, look);
  };
  look();
  try {
    if (!(await thread.compact({store, ranges, stop}))) {
      throw queryTerminated();
    }
    database.dropSnapshot();
    return {bytesBefore: bytesOf(before), bytesAfter: bytesOf(database.store.properties())};
  } finally {
    cancelLook();
    release();
  }
}

/** What belongs to the records of some buckets: they, what lies beside them, edges and entries. */
export function rangesOf(catalog: Catalog, bucketIds: ReadonlySet<number>): readonly ScanRange[] {
  const indexes = catalog.data.indexes.filter(({typeId}) =>
    catalog.typeById(typeId)?.familyBucketIds.some(id => bucketIds.has(id)),
  );
  return [
    ...[...bucketIds].flatMap(id => [
      bucketRange(id),
      externalBucketRange(id),
      adjacencyBucketRange(id),
    ]),
    ...indexes.map(({id}) => indexRange(id)),
  ];
}

function bytesOf({memtableBytes, sstBytes}: StoreProperties): number {
  return memtableBytes + sstBytes;
}
