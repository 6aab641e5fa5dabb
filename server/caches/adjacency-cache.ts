/**
 * The adjacency of one database in memory: chunks of packed edges (adjacency-chunk.ts), made where
 * hops are read again and again, kept right by the change feed, given up when memory is short.
 *
 * A chunk is made when as much was read from the keys of its vertices as making it costs (within a
 * factor): then it pays whatever comes, and no plan has to foresee it. It is made in short turns
 * between statements, from a store snapshot of its own. What is told of the chunk's vertices from
 * before that snapshot on makes them *dirty*: they are read from the keys, and when that has cost
 * enough again, the chunk is made anew. See docs/design/0012-packed-edges.md.
 * Invariant W2: of a vertex that is not dirty, a chunk shows exactly the edges of every store
 * snapshot that is not older than the chunk's.
 */
import {Corruption, Refusal} from '#server/base/errors.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {allAdjacency, vertexBucketOf, vertexPositionOf} from '#server/layout/adjacency-key.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import {type Reader, StoreFailure} from '#server/storage/store.ts';
import type {ChangeListener, ChangeSubscription} from '#server/transactions/change-feed.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {Database} from '#server/engine/database.ts';
import {type AdjacencyChunk, ChunkBuilder, chunkRange, chunkVertices} from './adjacency-chunk.ts';
import {
  type PinnedChunk,
  type KeysRead,
  type PackedAdjacency,
  seekKeys,
  type SharedChunk,
} from './shared-adjacency.ts';
import type {Droppable, CacheMemory} from './cache-memory.ts';

/** Reads of keys, within `readsMs`, that a chunk is worth; of a larger one a share of its size. */
const readsMinDefault = 16_384;
const readsShare = 4;
const readsMs = 60_000;
/** More dirty vertices are not remembered: the chunk is given up. */
const dirtyMax = chunkVertices / 4;
/** What had no room, or could not be made, is not tried again for so long. */
const refusedMs = 60_000;
const sliceMs = 2;
const rowsPerLook = 512;
const chunksPerBucketMax = 1 << 16;
const scanned = {bufferBytes: 64 << 10, bufferBytesMax: 512 << 10, once: true};

class Slot implements Droppable {
  readonly bucket: number;
  readonly number: number;
  chunk: AdjacencyChunk | undefined;
  /** Log index of the store snapshot that the chunk was made from. */
  base: LogIndex = 0;
  dirty = new Set<number>();
  /** Changed since the chunk that is being made was begun; undefined: none is. */
  pending: Set<number> | undefined;
  reads = 0;
  readsSince: number;
  /** Keys that reading them pays to make the chunk. */
  worth: number;
  refusedUntil = 0;

  constructor(
    bucket: number,
    number: number,
    {worth, now}: {readonly worth: number; readonly now: number},
  ) {
    this.bucket = bucket;
    this.number = number;
    this.worth = worth;
    this.readsSince = now;
  }

  changed(vertex: number): void {
    this.pending?.add(vertex);
    if (this.chunk === undefined) return;
    this.dirty.add(vertex);
    if (this.dirty.size > dirtyMax) this.drop();
  }

  drop(): void {
    this.chunk = undefined;
    // Whoever uses the chunk still goes on with the set that belongs to it.
    this.dirty = new Set();
  }
}

export interface AdjacencyCacheOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly memory: CacheMemory;
  /** Keys that must have been read before a chunk is made. Default: some milliseconds' worth. */
  readonly readsMin?: number;
}

export class AdjacencyCache implements ChangeListener, PackedAdjacency {
  readonly #options: AdjacencyCacheOptions;
  readonly #slots = new Map<number, Slot>();
  readonly #wanted = new Set<Slot>();
  /** All chunks of a database are of one run: none gives way to another of them. */
  readonly #run: number;
  readonly #readsMin: number;
  #subscription: ChangeSubscription | undefined;
  /** The newest entry that the change feed reported. */
  #reportedIndex: LogIndex = 0;
  #building: Promise<void> | undefined;

  constructor(options: AdjacencyCacheOptions) {
    this.#options = options;
    this.#readsMin = options.readsMin ?? readsMinDefault;
    this.#run = options.memory.beginRun();
  }

  chunkAt(bucket: number, number: number, snapshot: LogIndex): PinnedChunk | undefined {
    const slot = this.#slots.get(bucket * chunksPerBucketMax + number);
    const chunk = slot?.chunk;
    return slot === undefined || chunk === undefined || snapshot < slot.base
      ? undefined
      : {chunk, dirty: slot.dirty};
  }

  /** Every chunk that holds for the snapshot, for a run on another thread. */
  share(snapshot: LogIndex): readonly SharedChunk[] {
    return Array.from(this.#slots.values(), ({bucket, number}) => {
      const held = this.chunkAt(bucket, number, snapshot);
      if (held === undefined) return [];
      const {shapes, offsets, codes, others, edges} = held.chunk;
      const parts = {shapes, offsets, codes, others, edges};
      return [{bucket, number, parts, dirty: new Set(held.dirty)}];
    }).flat();
  }

  /** What a run on another thread read without packed edges. */
  noteKeysRead(reads: readonly KeysRead[]): void {
    for (const {bucket, number, keys} of reads) this.#note(bucket, number, keys);
  }

  /** Begins to make the vertex's chunk when it pays. */
  noteRead(bucket: number, position: number, keys: number): void {
    this.#note(bucket, Math.floor(position / chunkVertices), keys + seekKeys);
  }

  #note(bucket: number, number: number, keys: number): void {
    if (number >= chunksPerBucketMax || this.#options.memory.bytesMax === 0) return;
    const key = bucket * chunksPerBucketMax + number;
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      const now = this.#options.clock.monotonic();
      slot = new Slot(bucket, number, {worth: this.#readsMin, now});
      this.#slots.set(key, slot);
    }
    slot.reads += keys;
    if (slot.reads >= slot.worth) this.#want(slot);
  }

  /** Stops to listen and lets go of everything. */
  close(): void {
    this.#subscription?.end();
    this.#subscription = undefined;
    this.#wanted.clear();
    for (const slot of this.#slots.values()) {
      this.#options.memory.forget(slot);
      slot.drop();
      slot.pending = undefined;
    }
    this.#slots.clear();
  }

  /** Resolves when no chunk is being made. */
  async settled(): Promise<void> {
    while (this.#building !== undefined) await this.#building;
  }

  /** Vertices whose chunks are there, and the keys in them; for figures. */
  get figures(): {readonly chunks: number; readonly entries: number; readonly bytes: number} {
    const chunks = [...this.#slots.values()].flatMap(({chunk}) => (chunk ? [chunk] : []));
    return {
      chunks: chunks.length,
      entries: chunks.reduce((sum, {entries}) => sum + entries, 0),
      bytes: chunks.reduce((sum, {bytes}) => sum + bytes, 0),
    };
  }

  edgeChanged(bytes: Uint8Array, at: number, index: LogIndex): void {
    this.#reportedIndex = index;
    const position = vertexPositionOf(bytes, at);
    const number = Math.floor(position / chunkVertices);
    const slot = this.#slots.get(vertexBucketOf(bytes, at) * chunksPerBucketMax + number);
    slot?.changed(position - number * chunkVertices);
  }

  rangeEmptied(start: Uint8Array, end: Uint8Array, index: LogIndex): void {
    const isApart =
      Buffer.compare(end, allAdjacency.start) <= 0 || Buffer.compare(start, allAdjacency.end) >= 0;
    if (isApart) return;
    this.#reportedIndex = index;
    for (const slot of this.#slots.values()) {
      this.#options.memory.forget(slot);
      slot.drop();
      slot.pending = undefined;
    }
  }

  #want(slot: Slot): void {
    const now = this.#options.clock.monotonic();
    const isSlow = now - slot.readsSince > readsMs;
    slot.readsSince = now;
    // What was read long ago counts half.
    slot.reads = isSlow ? slot.worth / 2 : 0;
    if (isSlow || now < slot.refusedUntil) return;
    this.#wanted.add(slot);
    this.#building ??= this.#build().finally(() => {
      this.#building = undefined;
    });
  }

  async #build(): Promise<void> {
    this.#subscription ??= this.#subscribe();
    for (const slot of this.#wanted) {
      this.#wanted.delete(slot);
      slot.pending = new Set();
      const chunk = await this.#make(slot);
      // Gone, when a range of keys was emptied meanwhile.
      const pending = slot.pending;
      slot.pending = undefined;
      if (chunk === undefined || pending === undefined || !this.#admit(slot, chunk.chunk)) {
        slot.refusedUntil = this.#options.clock.monotonic() + refusedMs;
        continue;
      }
      slot.chunk = chunk.chunk;
      slot.base = chunk.base;
      slot.dirty = pending;
      slot.worth = Math.max(this.#readsMin, chunk.chunk.entries / readsShare);
    }
  }

  #subscribe(): ChangeSubscription {
    const subscription = this.#options.database.onChange(this);
    this.#reportedIndex = subscription.heardSince;
    return subscription;
  }

  #admit(slot: Slot, {bytes}: AdjacencyChunk): boolean {
    const {memory} = this.#options;
    memory.forget(slot);
    if (!memory.makeRoom(bytes, this.#run)) {
      slot.drop();
      return false;
    }
    memory.hold(slot, bytes, this.#run);
    return true;
  }

  /** Undefined when the database ends, the keys do not fit or cannot be read. */
  async #make(
    slot: Slot,
  ): Promise<{readonly chunk: AdjacencyChunk; readonly base: LogIndex} | undefined> {
    const {database, timers} = this.#options;
    // What was told before is in flight at most: the snapshot must show it.
    const told = this.#reportedIndex;
    try {
      for (;;) {
        await timers.yield();
        const reader = database.read();
        try {
          const base = reader.snapshotIndex;
          // What was told of may have been taken back since.
          if (base < Math.min(told, this.#reportedIndex)) continue;
          const chunk = await this.#pack(slot, reader);
          return chunk && {chunk, base};
        } finally {
          reader.close();
        }
      }
    } catch (error) {
      // Whoever reads these keys for an answer is told; nothing depends on the chunk.
      const isExpected =
        error instanceof Refusal || error instanceof StoreFailure || error instanceof Corruption;
      if (!isExpected) throw error;
      return undefined;
    }
  }

  async #pack(slot: Slot, reader: Reader): Promise<AdjacencyChunk | undefined> {
    const {database, clock, timers, memory} = this.#options;
    const builder = new ChunkBuilder(slot.number);
    const walker = new RowWalker(reader, [chunkRange(slot.bucket, slot.number)], scanned);
    try {
      for (let sliceEnd = clock.monotonic() + sliceMs; ; ) {
        for (let rows = 0; rows < rowsPerLook; rows++) {
          if (!walker.next()) return builder.fits ? builder.finish() : undefined;
          builder.add(walker.bytes, walker.keyStart, walker.keyEnd);
        }
        if (!builder.fits || builder.bytes > memory.bytesMax) return undefined;
        if (clock.monotonic() < sliceEnd) continue;
        await timers.yield();
        if (database.fence !== undefined) return undefined;
        sliceEnd = clock.monotonic() + sliceMs;
      }
    } finally {
      walker.close();
    }
  }
}
