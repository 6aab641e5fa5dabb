/**
 * The native store: our binding over RocksDB, either the library that the pinned package ships or
 * the same sources built as a release (docs/design/0024-rocksdb-as-a-release.md).
 *
 * One call does much: rows cross packed, a batch crosses as the bytes RocksDB will log, a point
 * lookup answers into memory that both sides know. Every cursor and snapshot is numbered and owned
 * by the C++ side (native/binding.h), so a late use is an error and never a crash. Every thread
 * loads the addon for itself and shares what is open by its number.
 */
import {createRequire} from 'node:module';
import {assert, AssertionFailure} from '#server/base/assert.ts';
import {storeDamage} from '#server/base/errors.ts';
import {PackedBatch} from '../packed-batch.ts';
import {
  type WriteBatch,
  type CompactOptions,
  type PackedRows,
  RowTooLarge,
  type ScanOptions,
  type Scanner,
  type ScanRange,
  type ShareableStore,
  type Store,
  StoreFailure,
  type StoreProperties,
  type StoreSnapshot,
  type WriteOptions,
} from '../store.ts';
import {buildCheckpoint, type LiveFile} from './checkpoint.ts';

/** The calls of the addon; each is described where it is defined, in native/. */
export interface NativeBinding {
  /** Memory that calls answer into; one for each thread, made by the first load. */
  memory?: NativeMemory;
  initialize(
    scratch: Buffer,
    results: Float64Array,
    makeFailure: (kind: string, message: string) => Error,
  ): void;
  trimMemory(): void;
  askLargePages(bytes: Uint8Array): void;
  keepAwake(micros: number): void;
  /** Absent where the processor has nothing for it. */
  readonly crc32?: (bytes: Uint8Array, before: number) => number;
  open(
    path: string,
    create: boolean,
    memtableBytes: number,
    blockCacheBytes: number,
    backgroundJobs: number,
  ): number;
  attach(databaseId: number): number;
  databaseId(client: number): number;
  close(client: number): void;
  createSnapshot(client: number): number;
  attachSnapshot(client: number, snapshot: number): void;
  releaseSnapshot(client: number, snapshot: number): void;
  properties(client: number): void;
  get(client: number, snapshot: number, key: Uint8Array): number;
  takeValue(target: Buffer): void;
  getMany(client: number, snapshot: number, keys: Buffer, count: number, into: Buffer): number;
  openCursor(
    client: number,
    snapshot: number,
    ranges: Buffer,
    rangeCount: number,
    flags: number,
  ): number;
  nextRows(client: number, cursor: number, into: Buffer, rowsMax: number): number;
  closeCursor(client: number, cursor: number): void;
  write(client: number, packed: Buffer, sync: boolean): void;
  writeAtOnce(client: number, packed: Buffer): boolean;
  takesAtOnce(client: number, packed: Buffer): boolean;
  flush(client: number): void;
  rest(client: number): void;
  /** Empty: from the first key, to behind the last one, nobody stops it. */
  compact(client: number, start: Uint8Array, end: Uint8Array, stop: Uint8Array): boolean;
  holdFiles(client: number): LiveFile[];
  releaseFiles(client: number): void;
}

interface NativeMemory {
  readonly scratch: Buffer;
  readonly results: Float64Array;
}

/** Places in `results`; the enum `Result` of native/binding.h. */
const resultAt = {byteLength: 0, rowCount: 1, done: 2, rangeIndex: 3, bytesNeeded: 4};

const scratchBytes = 64 << 10;
const noBytes = new Uint8Array(0);
const noEnd = 0xffffffff;
const flagReverse = 1;
const flagKeysOnly = 2;
const flagOnce = 4;
const flagPauses = 8;
const rowsMaxDefault = 0xffffffff;

/** What the build made for this installation. */
export interface Addon {
  readonly path: string;
  /** Whether RocksDB is in it, built as a release; else the package's library is loaded first. */
  readonly isRelease: boolean;
}

/**
 * Loads the addon into this thread. Throws what the loader throws. Call only where `findObstacle`
 * (machine.ts) finds none: RocksDB does not check the machine itself.
 */
export function loadNative({path, isRelease}: Addon): NativeBinding {
  const require = createRequire(import.meta.url);
  if (!isRelease) require('rocksdb/binding.js');
  const binding = require(path) as NativeBinding;
  if (binding.memory === undefined) {
    const memory = {
      scratch: Buffer.allocUnsafeSlow(scratchBytes),
      results: new Float64Array(8),
    };
    binding.initialize(memory.scratch, memory.results, makeFailure);
    binding.memory = memory;
  }
  return binding;
}

function makeFailure(kind: string, message: string): Error {
  switch (kind) {
    case 'bug':
      return new AssertionFailure(message);
    case 'corruption':
      return storeDamage(message);
    case 'absent':
    case 'locked':
    case 'no-space':
    case 'io':
      return new StoreFailure(kind, message);
    default:
      return new StoreFailure('other', message);
  }
}

export interface NativeOpenOptions {
  readonly createIfMissing: boolean;
  readonly memtableBytes: number;
  /** The size of the process's one cache; the first open decides. 0: this store has no cache. */
  readonly blockCacheBytes: number;
  /** Flushes and compactions at once. */
  readonly backgroundJobs: number;
}

/** Opens or creates the database in the directory `path`. */
export function openNative(
  binding: NativeBinding,
  path: string,
  options: NativeOpenOptions,
): Store {
  const {createIfMissing, memtableBytes, blockCacheBytes, backgroundJobs} = options;
  const client = binding.open(
    path,
    createIfMissing,
    memtableBytes,
    blockCacheBytes,
    backgroundJobs,
  );
  return new NativeStore(binding, client, path);
}

/** Uses a database that another thread of this process has open. */
export function attachNative(
  binding: NativeBinding,
  shared: ShareableStore & {readonly engine: 'native'},
): Store {
  return new NativeStore(binding, binding.attach(Number(shared.pointer)), shared.path);
}

/** What store and snapshot share: reads at a snapshot, 0 being "now". */
abstract class NativeReader {
  readonly binding: NativeBinding;
  readonly client: number;
  readonly memory: NativeMemory;
  readonly #snapshot: number;

  constructor(binding: NativeBinding, client: number, snapshot: number) {
    assert(binding.memory !== undefined, 'the binding is initialized');
    this.binding = binding;
    this.client = client;
    this.memory = binding.memory;
    this.#snapshot = snapshot;
  }

  /** Throws when store or snapshot has ended. */
  abstract check(): void;

  /** Whether the store is open, so that there is something to give back. */
  abstract get isOpen(): boolean;

  get(key: Uint8Array): Buffer | undefined {
    this.check();
    const length = this.binding.get(this.client, this.#snapshot, key);
    if (length < 0) return undefined;
    const value = Buffer.allocUnsafe(length);
    if (length > scratchBytes) this.binding.takeValue(value);
    else this.memory.scratch.copy(value, 0, 0, length);
    return value;
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    this.check();
    const {client, memory} = this;
    const answered = this.binding.getMany(client, this.#snapshot, keys, keyCount, into.buffer);
    takeCounters(memory, into);
    if (answered < 0) throw new RowTooLarge(memory.results[resultAt.bytesNeeded] ?? 0);
    return answered;
  }

  scan(ranges: readonly ScanRange[], options?: ScanOptions): Scanner {
    this.check();
    const rowsMax = options?.rowsMax ?? rowsMaxDefault;
    assert(rowsMax > 0, 'rowsMax is at least 1');
    let flags = 0;
    if (options?.reverse === true) flags |= flagReverse;
    if (options?.keysOnly === true) flags |= flagKeysOnly;
    if (options?.once === true) flags |= flagOnce;
    if (options?.pauses === true) flags |= flagPauses;
    const packed = packRanges(ranges);
    const {client} = this;
    const cursor = this.binding.openCursor(client, this.#snapshot, packed, ranges.length, flags);
    return new NativeScanner(this, cursor, rowsMax);
  }
}

class NativeStore extends NativeReader implements Store {
  readonly shareable: ShareableStore;
  readonly #path: string;
  #open = true;

  constructor(binding: NativeBinding, client: number, path: string) {
    super(binding, client, 0);
    this.#path = path;
    this.shareable = {engine: 'native', pointer: BigInt(binding.databaseId(client)), path};
  }

  batch(): WriteBatch {
    return new PackedBatch();
  }

  write(batch: WriteBatch, options?: WriteOptions): void {
    this.check();
    assert(batch instanceof PackedBatch, 'a batch comes from batch()');
    this.binding.write(this.client, batch.packed(), options?.sync === true);
  }

  writeAtOnce(batch: WriteBatch): boolean {
    this.check();
    assert(batch instanceof PackedBatch, 'a batch comes from batch()');
    return this.binding.writeAtOnce(this.client, batch.packed());
  }

  takesAtOnce(batch: WriteBatch): boolean {
    this.check();
    assert(batch instanceof PackedBatch, 'a batch comes from batch()');
    return this.binding.takesAtOnce(this.client, batch.packed());
  }

  snapshot(): StoreSnapshot {
    this.check();
    return new NativeSnapshot(this, this.binding.createSnapshot(this.client));
  }

  attachSnapshot(handle: bigint): StoreSnapshot {
    this.check();
    this.binding.attachSnapshot(this.client, Number(handle));
    return new NativeSnapshot(this, Number(handle));
  }

  checkpoint(directory: string): void {
    this.check();
    const files = this.binding.holdFiles(this.client);
    try {
      buildCheckpoint(this.#path, directory, files);
    } finally {
      this.binding.releaseFiles(this.client);
    }
  }

  makeDurable(): void {
    this.check();
    this.binding.flush(this.client);
  }

  rest(): void {
    this.check();
    this.binding.rest(this.client);
  }

  compact({range, stop}: CompactOptions = {}): boolean {
    this.check();
    const {start = noBytes, end = noBytes} = range ?? {};
    return this.binding.compact(this.client, start, end, stop ?? noBytes);
  }

  properties(): StoreProperties {
    this.check();
    this.binding.properties(this.client);
    const {results} = this.memory;
    const [estimatedKeys = 0, memtableBytes = 0, sstBytes = 0, blockCacheBytes = 0] = results;
    const uncompactedBytes = results[4] ?? 0;
    return {
      engine: 'native',
      estimatedKeys,
      memtableBytes,
      sstBytes,
      blockCacheBytes,
      uncompactedBytes,
    };
  }

  close(): void {
    if (!this.#open) return;
    try {
      this.binding.close(this.client);
      this.#open = false;
    } catch (error) {
      // The opener stays open while others are attached; any other failure closes all the same.
      this.#open = error instanceof AssertionFailure;
      throw error;
    }
  }

  get isOpen(): boolean {
    return this.#open;
  }

  check(): void {
    assert(this.#open, 'the store is closed');
  }
}

class NativeSnapshot extends NativeReader implements StoreSnapshot {
  readonly handle: bigint;
  readonly #store: NativeStore;
  readonly #id: number;
  #released = false;

  constructor(store: NativeStore, id: number) {
    super(store.binding, store.client, id);
    this.handle = BigInt(id);
    this.#store = store;
    this.#id = id;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.isOpen) this.binding.releaseSnapshot(this.client, this.#id);
  }

  get isOpen(): boolean {
    return this.#store.isOpen;
  }

  check(): void {
    this.#store.check();
    assert(!this.#released, 'the snapshot is released');
  }
}

/** One cursor of the C++ side, which closes it itself at the end of the scan. */
class NativeScanner implements Scanner {
  readonly #reader: NativeReader;
  readonly #cursor: number;
  readonly #rowsMax: number;
  #state: 'open' | 'ended' | 'closed' = 'open';
  #rangeIndex = 0;

  constructor(reader: NativeReader, cursor: number, rowsMax: number) {
    this.#reader = reader;
    this.#cursor = cursor;
    this.#rowsMax = rowsMax;
  }

  get rangeIndex(): number {
    return this.#rangeIndex;
  }

  next(into: PackedRows): PackedRows {
    const reader = this.#reader;
    reader.check();
    assert(this.#state !== 'closed', 'the scanner is closed');
    if (this.#state === 'ended') {
      into.byteLength = 0;
      into.rowCount = 0;
      into.done = true;
      return into;
    }
    const {binding, client, memory} = reader;
    const answer = binding.nextRows(client, this.#cursor, into.buffer, this.#rowsMax);
    takeCounters(memory, into);
    this.#rangeIndex = memory.results[resultAt.rangeIndex] ?? 0;
    if (answer < 0) throw new RowTooLarge(memory.results[resultAt.bytesNeeded] ?? 0);
    if (into.done) this.#state = 'ended';
    return into;
  }

  close(): void {
    const {binding, client, isOpen} = this.#reader;
    if (this.#state === 'open' && isOpen) binding.closeCursor(client, this.#cursor);
    this.#state = 'closed';
  }
}

function takeCounters(memory: NativeMemory, into: PackedRows): void {
  const {results} = memory;
  into.byteLength = results[resultAt.byteLength] ?? 0;
  into.rowCount = results[resultAt.rowCount] ?? 0;
  into.done = results[resultAt.done] === 1;
}

/** Packs of each range: u32 start length, u32 end length (noEnd: none), start, end. */
function packRanges(ranges: readonly ScanRange[]): Buffer {
  let bytes = 0;
  for (const range of ranges) bytes += 8 + range.start.length + (range.end?.length ?? 0);
  const packed = Buffer.allocUnsafe(bytes);
  let offset = 0;
  for (const {start, end} of ranges) {
    offset = packed.writeUInt32LE(start.length, offset);
    offset = packed.writeUInt32LE(end === undefined ? noEnd : end.length, offset);
    packed.set(start, offset);
    offset += start.length;
    if (end === undefined) continue;
    packed.set(end, offset);
    offset += end.length;
  }
  return packed;
}
