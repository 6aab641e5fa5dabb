/**
 * The fallback store: the package's own calls behind the contract of store.ts. Correct, not fast.
 *
 * What the package lacks is made of what it has: a snapshot is a pair of pinned iterators, a range
 * delete in a batch is a scan, an ingest is one synced batch, a checkpoint is a copy that is
 * accepted when nothing moved meanwhile, and durability on request is a sync of the log files. Its
 * directory is the native store's: same options where they touch the format.
 */
import {readdirSync, readFileSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {assert} from '#server/base/assert.ts';
import {PackedBatch} from '../packed-batch.ts';
import {packLookups, PackingScanner} from '../packed-rows.ts';
import {
  type WriteBatch,
  type PackedRows,
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
import {buildCheckpoint, CheckpointMoved, type LiveFile, syncPath} from './checkpoint.ts';
import {
  closeContext,
  type FallbackBatch,
  type FallbackBinding,
  type FallbackContext,
  guarded,
  openContext,
} from './fallback-binding.ts';
import {IteratorRows, PinnedIterator} from './fallback-rows.ts';

export interface FallbackOpenOptions {
  readonly createIfMissing: boolean;
  readonly blockCacheBytes: number;
}

/** What `shareable.handle` holds: the package's pointer, and how many threads use it. */
interface SharedHandle {
  readonly pointer: bigint;
  readonly attached: SharedArrayBuffer;
}

/** Opens or creates the database in the directory `path`. */
export async function openFallback(
  binding: FallbackBinding,
  path: string,
  options: FallbackOpenOptions,
): Promise<Store> {
  const context = binding.db_init(path);
  await openContext(binding, context, {
    createIfMissing: options.createIfMissing,
    cacheSize: options.blockCacheBytes,
    cacheIndexAndFilterBlocks: true,
    compression: false,
    walCompression: false,
  });
  const pointer = binding.db_get_handle(context);
  const handle = {pointer, attached: new SharedArrayBuffer(4)};
  return new FallbackStore({binding, context, path, handle, opener: true});
}

/**
 * Uses a database that another thread has open. A thread that is terminated without closing it
 * keeps the opener from closing.
 */
export function attachFallback(
  binding: FallbackBinding,
  shared: ShareableStore & {readonly engine: 'fallback'},
): Store {
  const handle = shared.handle as SharedHandle;
  const context = binding.db_init(handle.pointer);
  Atomics.add(new Int32Array(handle.attached), 0, 1);
  return new FallbackStore({binding, context, path: shared.path, handle, opener: false});
}

interface FallbackParts {
  readonly binding: FallbackBinding;
  readonly context: FallbackContext;
  readonly path: string;
  readonly handle: SharedHandle;
  readonly opener: boolean;
}

class FallbackStore implements Store {
  readonly shareable: ShareableStore;
  readonly #parts: FallbackParts;
  /** Snapshots and scanners whose iterators are open. */
  readonly #users = new Set<{close(): void}>();
  /** An upper bound of what the memtable has taken since its log file was the newest. */
  #memtableBytes = 0;
  #log: string | undefined;
  #open = true;

  constructor(parts: FallbackParts) {
    this.#parts = parts;
    this.#log = newestLog(parts.path);
    this.shareable = {engine: 'fallback', handle: parts.handle, path: parts.path};
  }

  get(key: Uint8Array): Buffer | undefined {
    this.#check();
    const {binding, context} = this.#parts;
    return guarded(() => binding.db_get_many_sync(context, [key], lookupOptions))[0];
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    this.#check();
    const {binding, context} = this.#parts;
    const values = guarded(() =>
      binding.db_get_many_sync(context, unpackKeys(keys, keyCount), lookupOptions),
    );
    let index = 0;
    return packLookups(() => values[index++], {packed: keys, count: keyCount}, into);
  }

  scan(ranges: readonly ScanRange[], options: ScanOptions = {}): Scanner {
    this.#check();
    const {binding, context} = this.#parts;
    const [only] = ranges;
    const reverse = options.reverse === true;
    const bounded = ranges.length === 1 && only !== undefined && !isEmpty(only);
    const iterator = guarded(
      () => new PinnedIterator(binding, context, bounded ? {reverse, only} : {reverse}),
    );
    const source = guarded(() => new IteratorRows({iterator, ranges, owned: true}));
    this.#users.add(source);
    const scanner = new PackingScanner(source, options, () => this.#check());
    return {
      next: into => guarded(() => scanner.next(into)),
      get rangeIndex() {
        return scanner.rangeIndex;
      },
      close: () => {
        if (this.#users.delete(source)) scanner.close();
      },
    };
  }

  batch(): WriteBatch {
    return new PackedBatch();
  }

  write(batch: WriteBatch, options: WriteOptions = {}): void {
    this.#check();
    assert(batch instanceof PackedBatch, 'a batch comes from batch()');
    const {binding, context} = this.#parts;
    const sync = options.sync === true || this.#logMayChange(batch);
    guarded(() => binding.batch_write(context, this.#translated(batch), {sync}));
  }

  /** The package's write waits where it has to, and tells nobody before. */
  writeAtOnce(): boolean {
    this.#check();
    return false;
  }

  takesAtOnce(): boolean {
    this.#check();
    return false;
  }

  snapshot(): StoreSnapshot {
    this.#check();
    const {binding, context} = this.#parts;
    // Both iterators must see one state, and another thread may write between the two.
    for (;;) {
      const sequence = binding.db_get_latest_sequence(context);
      const forward = new PinnedIterator(binding, context, {reverse: false});
      const backward = new PinnedIterator(binding, context, {reverse: true});
      if (binding.db_get_latest_sequence(context) === sequence) {
        const pair = {forward, backward, close: () => closePair(pair)};
        this.#users.add(pair);
        return new FallbackSnapshot(pair, {
          check: () => this.#check(),
          release: () => {
            if (this.#users.delete(pair)) pair.close();
          },
        });
      }
      forward.close();
      backward.close();
    }
  }

  attachSnapshot(): StoreSnapshot {
    this.#check();
    throw new StoreFailure('other', 'a snapshot of the fallback store stays on its thread');
  }

  /** Only the writing thread may call it: nothing must be written while the log is copied. */
  checkpoint(directory: string): void {
    this.#check();
    for (let attempt = 1; ; attempt++) {
      try {
        const before = readState(this.#parts.path);
        const unmoved = () => isSameState(before, readState(this.#parts.path));
        buildCheckpoint(this.#parts.path, directory, before.files, unmoved);
        return;
      } catch (error) {
        const moved = error instanceof Error && 'code' in error && error.code === 'ENOENT';
        if (!(moved || error instanceof CheckpointMoved) || attempt === attemptsMax) throw error;
      }
    }
  }

  makeDurable(): void {
    this.#check();
    // A log file that vanishes meanwhile was flushed: its rows are in a synced table.
    for (const name of readdirSync(this.#parts.path)) {
      if (!name.endsWith('.log')) continue;
      try {
        syncPath(join(this.#parts.path, name));
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
      }
    }
    syncPath(this.#parts.path);
  }

  rest(): void {
    this.#check();
  }

  /** Its package has no call for it: the store does so by itself, in the background. */
  compact(): boolean {
    this.#check();
    return true;
  }

  properties(): StoreProperties {
    this.#check();
    const {binding, context} = this.#parts;
    const read = (name: string) => Number(binding.db_get_property(context, `rocksdb.${name}`));
    return {
      engine: 'fallback',
      estimatedKeys: read('estimate-num-keys'),
      memtableBytes: read('cur-size-all-mem-tables'),
      sstBytes: read('total-sst-files-size'),
      blockCacheBytes: read('block-cache-usage'),
      uncompactedBytes: read('estimate-pending-compaction-bytes'),
    };
  }

  close(): void {
    if (!this.#open) return;
    const {binding, context, path, handle, opener} = this.#parts;
    const attached = new Int32Array(handle.attached);
    const others = Atomics.load(attached, 0);
    assert(!opener || others === 0, `the store is used by ${others} other threads`);
    this.#open = false;
    for (const user of this.#users) user.close();
    this.#users.clear();
    if (opener) closeContext(binding, context, path);
    else Atomics.sub(attached, 0, 1);
  }

  #check(): void {
    assert(this.#open, 'the store is closed');
  }

  /**
   * Whether RocksDB may go on in a new log file at this write or the next. Then every write is
   * synced: with the old log's end unsynced and the new log kept, a power loss would take writes
   * out of the middle. The native store changes its log itself (native/writes.cc).
   */
  #logMayChange(batch: PackedBatch): boolean {
    this.#memtableBytes += batch.byteLength + rowOverheadBytes * batch.operationCount;
    if (this.#memtableBytes < memtableBytesQuiet) return false;
    const log = newestLog(this.#parts.path);
    if (log !== this.#log) this.#memtableBytes = batch.byteLength;
    this.#log = log;
    return true;
  }

  /** The batch in the package's form; a range delete becomes the deletes of what is there. */
  #translated(batch: PackedBatch): FallbackBatch {
    const {binding} = this.#parts;
    const translated = binding.batch_init();
    const putKeys: Uint8Array[] = [];
    batch.forEachOperation({
      put(key, value) {
        putKeys.push(key);
        binding.batch_put(translated, key, value, noOptions);
      },
      delete(key) {
        binding.batch_del(translated, key, noOptions);
      },
      deleteRange: (start, end) => {
        for (const key of putKeys) {
          const inside = Buffer.compare(key, start) >= 0 && Buffer.compare(key, end) < 0;
          if (inside) binding.batch_del(translated, key, noOptions);
        }
        this.#eachKey({start, end}, key => binding.batch_del(translated, key, noOptions));
      },
    });
    return translated;
  }

  #eachKey(range: ScanRange, visit: (key: Buffer) => void): void {
    const {binding, context} = this.#parts;
    const iterator = new PinnedIterator(binding, context, {reverse: false, only: range});
    const rows = new IteratorRows({iterator, ranges: [range], owned: true});
    for (; rows.key !== undefined; rows.advance()) visit(rows.key);
    rows.close();
  }
}

interface IteratorPair {
  readonly forward: PinnedIterator;
  readonly backward: PinnedIterator;
  close(): void;
}

interface ViewOwner {
  check(): void;
  release(): void;
}

class FallbackSnapshot implements StoreSnapshot {
  readonly handle = 0n;
  readonly #pair: IteratorPair;
  readonly #owner: ViewOwner;
  #released = false;

  constructor(pair: IteratorPair, owner: ViewOwner) {
    this.#pair = pair;
    this.#owner = owner;
  }

  get(key: Uint8Array): Buffer | undefined {
    this.#check();
    return guarded(() => this.#pair.forward.lookup(key));
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    this.#check();
    const lookup = (key: Uint8Array) => guarded(() => this.#pair.forward.lookup(key));
    return packLookups(lookup, {packed: keys, count: keyCount}, into);
  }

  scan(ranges: readonly ScanRange[], options: ScanOptions = {}): Scanner {
    this.#check();
    const iterator = options.reverse === true ? this.#pair.backward : this.#pair.forward;
    const source = guarded(() => new IteratorRows({iterator, ranges, owned: false}));
    return new PackingScanner(source, options, () => this.#check());
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

const attemptsMax = 100;
/** Well below the 64 MiB at which the package's memtable is full, counted generously. */
const memtableBytesQuiet = 24 << 20;
const rowOverheadBytes = 64;
const noOptions = {};
const lookupOptions = {valueEncoding: 'buffer'};

function closePair(pair: IteratorPair): void {
  pair.forward.close();
  pair.backward.close();
}

function isEmpty(range: ScanRange): boolean {
  return range.end !== undefined && Buffer.compare(range.start, range.end) >= 0;
}

function newestLog(path: string): string | undefined {
  const logs = readdirSync(path).filter(name => name.endsWith('.log'));
  return logs.sort().at(-1);
}

function unpackKeys(packed: Buffer, count: number): Buffer[] {
  const keys: Buffer[] = [];
  for (let offset = 0; keys.length < count; ) {
    const end = offset + 4 + packed.readUInt32LE(offset);
    assert(end <= packed.length, 'the packed keys end in the middle of a key');
    keys.push(packed.subarray(offset + 4, end));
    offset = end;
  }
  return keys;
}

interface DirectoryState {
  readonly files: readonly LiveFile[];
}

/** The files that make up the present state, as far as the directory tells. */
function readState(path: string): DirectoryState {
  const current = readFileSync(join(path, 'CURRENT'), 'utf8');
  const manifest = current.trim();
  const files: LiveFile[] = [
    {name: manifest, bytes: statSync(join(path, manifest)).size, immutable: false},
    {name: 'CURRENT', bytes: current.length, immutable: false, contents: current},
  ];
  for (const name of readdirSync(path).sort()) {
    const immutable = name.endsWith('.sst');
    if (!immutable && !name.endsWith('.log')) continue;
    files.push({name, bytes: statSync(join(path, name)).size, immutable});
  }
  return {files};
}

function isSameState(before: DirectoryState, after: DirectoryState): boolean {
  return JSON.stringify(before.files) === JSON.stringify(after.files);
}
