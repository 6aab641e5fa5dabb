/**
 * The crashable twin of RocksDB behind the contract of store.ts: the whole key space in memory,
 * every version of it one pointer, and a power loss that may be ordered at any call.
 *
 * Simulations run on it and the contract test compares it with the real stores. What may survive
 * is decided in shelf.ts; here `write` only keeps its promise about what must.
 * Invariant D2: nothing leaves or enters without a copy, so no caller shares bytes with the map.
 */
import {assert} from '#server/base/assert.ts';
import {compareBytes} from '#server/base/utf8.ts';
import type {Random} from '#server/platform/clock.ts';
import {PackedBatch} from '../packed-batch.ts';
import {packLookups, PackingScanner, type RowSource} from '../packed-rows.ts';
import {
  type WriteBatch,
  type PackedRows,
  type ScanOptions,
  type Scanner,
  type ScanRange,
  type Store,
  StoreFailure,
  type StoreProperties,
  type StoreSnapshot,
  type WriteOptions,
} from '../store.ts';
import {MapCursor, mapGet, type PersistentMap} from './persistent-map.ts';
import {applyChange, type Change, crashImage, type Image, InMemoryDisk} from './shelf.ts';

/** Moments at which a simulated power loss can strike inside a call. */
export type MemoryStorePoint = 'write' | 'sync' | 'checkpoint';

export interface MemoryStoreOptions {
  /** Where the directories lie; stores of one simulated machine share one. Default: a new one. */
  readonly shelf?: InMemoryDisk;
  readonly path?: string;
  /** Refuse an absent store instead of creating it. */
  readonly mustExist?: boolean;
  /**
   * Called when a call has begun its change and promised nothing yet. May throw to stop the
   * simulated process there; the shelf is then to be crashed.
   */
  readonly onPoint?: (point: MemoryStorePoint) => void;
  /** Whether the simulated disk takes so many bytes more. Default: always. */
  readonly takeRoom?: (bytes: number) => boolean;
}

export interface MemoryStore extends Store {
  /** A power loss: this handle is dead, `reopen` finds one of the states that may survive. */
  crash(random: Random): void;
  /** A killed process (the machine lives): this handle is dead, every write is there again. */
  kill(): void;
  /** Opens the directory again after `close`, `crash` or `kill`. */
  reopen(): MemoryStore;
}

/** Opens or creates a store; throws StoreFailure when it is open already or must exist. */
export function createMemoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new TwinStore(options);
}

class TwinStore implements MemoryStore {
  readonly shareable = undefined;
  readonly #options: MemoryStoreOptions;
  readonly #shelf: InMemoryDisk;
  readonly #image: Image;
  readonly #snapshots = new Map<bigint, {readonly map: PersistentMap; holders: number}>();
  #nextHandle = 1n;
  #current: PersistentMap;
  #open = true;

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
    this.#shelf = options.shelf ?? new InMemoryDisk();
    const path = options.path ?? '/memory';
    const found = this.#shelf.image(path);
    if (found === undefined && options.mustExist === true) {
      throw new StoreFailure('absent', `no store in ${path}`);
    }
    this.#image = found ?? this.#shelf.create(path, undefined);
    if (this.#image.end !== undefined) throw new StoreFailure('locked', `${path} is open already`);
    // Recovery replays the log and writes what it found to files of its own: it is durable.
    for (const change of this.#image.pending) {
      this.#image.durable = applyChange(this.#image.durable, change);
    }
    this.#image.pending = [];
    this.#current = this.#image.durable;
    this.#image.end = () => {
      this.#open = false;
    };
  }

  get(key: Uint8Array): Buffer | undefined {
    this.#check();
    return copyOf(mapGet(this.#current, key));
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    this.#check();
    const lookup = (key: Uint8Array) => mapGet(this.#current, key);
    return packLookups(lookup, {packed: keys, count: keyCount}, into);
  }

  scan(ranges: readonly ScanRange[], options: ScanOptions = {}): Scanner {
    this.#check();
    return scanMap(this.#current, {ranges, options, checkUsable: () => this.#check()});
  }

  batch(): WriteBatch {
    return new PackedBatch();
  }

  write(batch: WriteBatch, options: WriteOptions = {}): void {
    this.#check();
    assert(batch instanceof PackedBatch, 'a batch comes from batch()');
    if (this.#options.takeRoom?.(batch.byteLength) === false) {
      throw new StoreFailure('no-space', 'the simulated disk is full');
    }
    this.#add({packed: Buffer.from(batch.packed())});
    this.#options.onPoint?.('write');
    if (options.sync === true) this.makeDurable();
  }

  writeAtOnce(batch: WriteBatch): boolean {
    this.write(batch);
    return true;
  }

  takesAtOnce(): boolean {
    this.#check();
    return true;
  }

  snapshot(): StoreSnapshot {
    this.#check();
    const handle = this.#nextHandle++;
    this.#snapshots.set(handle, {map: this.#current, holders: 0});
    return this.attachSnapshot(handle);
  }

  attachSnapshot(handle: bigint): StoreSnapshot {
    this.#check();
    const point = this.#snapshots.get(handle);
    assert(point !== undefined, 'the snapshot is released');
    point.holders++;
    return new TwinSnapshot(handle, point.map, {
      check: () => this.#check(),
      release: () => {
        point.holders--;
        if (point.holders === 0) this.#snapshots.delete(handle);
      },
    });
  }

  checkpoint(directory: string): void {
    this.#check();
    if (this.#shelf.exists(directory)) throw new StoreFailure('other', `${directory} exists`);
    this.#options.onPoint?.('checkpoint');
    this.#shelf.create(directory, this.#current);
  }

  makeDurable(): void {
    this.#check();
    this.#options.onPoint?.('sync');
    this.#image.durable = this.#current;
    this.#image.pending = [];
  }

  rest(): void {
    this.#check();
  }

  compact(): boolean {
    this.#check();
    return true;
  }

  properties(): StoreProperties {
    this.#check();
    return {
      engine: 'memory',
      estimatedKeys: this.#current?.rowCount ?? 0,
      memtableBytes: 0,
      sstBytes: 0,
      blockCacheBytes: 0,
      uncompactedBytes: 0,
    };
  }

  close(): void {
    if (!this.#open) return;
    this.makeDurable();
    this.kill();
  }

  kill(): void {
    this.#open = false;
    this.#image.end = undefined;
  }

  crash(random: Random): void {
    crashImage(this.#image, random);
  }

  reopen(): MemoryStore {
    return new TwinStore({...this.#options, shelf: this.#shelf, mustExist: true});
  }

  #add(change: Change): void {
    this.#image.pending.push(change);
    this.#current = applyChange(this.#current, change);
  }

  #check(): void {
    assert(this.#open, 'the store is closed');
  }
}

interface ViewOwner {
  check(): void;
  release(): void;
}

class TwinSnapshot implements StoreSnapshot {
  readonly handle: bigint;
  readonly #map: PersistentMap;
  readonly #owner: ViewOwner;
  #released = false;

  constructor(handle: bigint, map: PersistentMap, owner: ViewOwner) {
    this.handle = handle;
    this.#map = map;
    this.#owner = owner;
  }

  get(key: Uint8Array): Buffer | undefined {
    this.#check();
    return copyOf(mapGet(this.#map, key));
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    this.#check();
    return packLookups(key => mapGet(this.#map, key), {packed: keys, count: keyCount}, into);
  }

  scan(ranges: readonly ScanRange[], options: ScanOptions = {}): Scanner {
    this.#check();
    return scanMap(this.#map, {ranges, options, checkUsable: () => this.#check()});
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#owner.release();
  }

  #check(): void {
    this.#owner.check();
    assert(!this.#released, 'the snapshot is released');
  }
}

interface MapScan {
  readonly ranges: readonly ScanRange[];
  readonly options: ScanOptions;
  readonly checkUsable: () => void;
}

function scanMap(map: PersistentMap, scan: MapScan): Scanner {
  const source = new MapRows(map, scan.ranges, scan.options.reverse === true);
  return new PackingScanner(source, scan.options, scan.checkUsable);
}

/** The rows of several ranges of one map, one after another. */
class MapRows implements RowSource {
  readonly #ranges: readonly ScanRange[];
  readonly #reverse: boolean;
  readonly #cursor: MapCursor;
  rangeIndex = 0;

  constructor(map: PersistentMap, ranges: readonly ScanRange[], reverse: boolean) {
    this.#ranges = ranges;
    this.#reverse = reverse;
    this.#cursor = new MapCursor(map, reverse);
    this.#seek();
    this.#settle();
  }

  get key(): Uint8Array | undefined {
    return this.rangeIndex < this.#ranges.length ? this.#cursor.current?.key : undefined;
  }

  get value(): Uint8Array {
    return this.#cursor.current?.value ?? new Uint8Array(0);
  }

  advance(): void {
    this.#cursor.advance();
    this.#settle();
  }

  close(): void {
    this.rangeIndex = this.#ranges.length;
  }

  #seek(): void {
    const range = this.#ranges[this.rangeIndex];
    if (range !== undefined) this.#cursor.seek(this.#reverse ? range.end : range.start);
  }

  /** Goes to the next range for as long as the cursor is outside the present one. */
  #settle(): void {
    for (;;) {
      const range = this.#ranges[this.rangeIndex];
      if (range === undefined) return;
      const key = this.#cursor.current?.key;
      if (key !== undefined && isInside(key, range)) return;
      this.rangeIndex++;
      this.#seek();
    }
  }
}

function isInside(key: Uint8Array, range: ScanRange): boolean {
  if (compareBytes(key, range.start) < 0) return false;
  return range.end === undefined || compareBytes(key, range.end) < 0;
}

function copyOf(bytes: Uint8Array | undefined): Buffer | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes);
}
