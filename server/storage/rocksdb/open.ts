/**
 * Chooses between the native store and its fallback, and opens the store of one directory.
 *
 * The choice is made once at start (`chooseEngine`), with a self-test: any surprise of the native
 * store costs one line in the log and speed, never the start. Both keep one format on disk, so a
 * directory may be opened by either at any time.
 */
import {existsSync, mkdirSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {crc32} from 'node:zlib';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Logger} from '#server/platform/logger.ts';
import {type ShareableStore, type Store, StoreFailure, type StoreOptions} from '../store.ts';
import {syncPath} from './checkpoint.ts';
import {attachFallback, openFallback} from './fallback.ts';
import {loadFallback} from './fallback-binding.ts';
import {findObstacle, type Machine, readMachine} from './machine.ts';
import {type Addon, attachNative, loadNative, openNative} from './native.ts';
import {selfTest} from './self-test.ts';

export type Engine = 'native' | 'fallback';

export interface RocksStoreOptions extends StoreOptions {
  /** What `chooseEngine` chose. Default: native where it can be loaded, without a self-test. */
  readonly engine?: Engine | 'auto';
  /**
   * The size of the one cache that all native stores of the process share; the first open decides.
   */
  readonly blockCacheBytes?: number;
}

export interface EngineChoice {
  readonly setting: Engine | 'auto';
  /** Where the self-test may make and remove a directory. */
  readonly dataRoot: string;
  readonly logger: Logger;
  /** Default: this one. */
  readonly machine?: Machine;
  /** Default: the one that the installation built. */
  readonly addon?: Addon;
}

/** The names, in the order of preference. */
const addonNames = [
  ['svc-rocksdb-release.node', true],
  ['svc-rocksdb.node', false],
] as const;
const memtableBytesDefault = 32 << 20;
const blockCacheBytesDefault = 64 << 20;
const backgroundJobsDefault = 2;
const selfTestMemtableBytes = 1 << 20;

/**
 * Decides which engine this process uses. Refuses with one sentence where neither can
 * run, and where `native` is demanded and does not work.
 */
export function chooseEngine(choice: EngineChoice): Engine {
  refuseUnfit(choice.machine ?? readMachine());
  if (choice.setting === 'fallback') return 'fallback';
  try {
    const addon = choice.addon ?? findAddon();
    const binding = loadNative(addon);
    selfTest(choice.dataRoot, path =>
      openNative(binding, path, {
        createIfMissing: true,
        memtableBytes: selfTestMemtableBytes,
        blockCacheBytes: 0,
        backgroundJobs: backgroundJobsDefault,
      }),
    );
    if (!addon.isRelease) {
      const hint = '`make rocksdb` builds it for speed: long reads take half the time';
      choice.logger.log('info', 'store.library', {library: 'with assertions', hint});
    }
    return 'native';
  } catch (error) {
    const reason = reasonOf(error);
    if (choice.setting === 'native') {
      throw new Refusal('start.refused', `the native store does not work here: ${reason}`);
    }
    choice.logger.log('warn', 'store.fallback', {reason});
    return 'fallback';
  }
}

/**
 * Opens or creates the store in the directory `path`.
 *
 * Throws StoreFailure (`locked`: another process has it; `absent`: it must exist and does not) and
 * Corruption.
 */
export async function openStore(path: string, options: RocksStoreOptions = {}): Promise<Store> {
  const engine = options.engine ?? 'auto';
  if (engine === 'auto') refuseUnfit(readMachine());
  const createIfMissing = options.mustExist !== true;
  const memtableBytes = options.memtableBytes ?? memtableBytesDefault;
  const blockCacheBytes = options.blockCacheBytes ?? blockCacheBytesDefault;
  if (createIfMissing) makeDirectory(path);
  else if (!existsSync(join(path, 'CURRENT'))) {
    throw new StoreFailure('absent', `no store in ${path}`);
  }
  if (engine === 'native' || (engine === 'auto' && existsSync(findAddon().path))) {
    const backgroundJobs = options.backgroundJobs ?? backgroundJobsDefault;
    const nativeOptions = {createIfMissing, memtableBytes, blockCacheBytes, backgroundJobs};
    return openNative(loadNative(findAddon()), path, nativeOptions);
  }
  return await openFallback(loadFallback(), path, {createIfMissing, blockCacheBytes});
}

/**
 * Uses, on this thread, a store that another thread of the process has open. Close it before the
 * thread ends; the opener cannot close while others use the store.
 */
export async function attachStore(shared: ShareableStore): Promise<Store> {
  return shared.engine === 'native'
    ? attachNative(loadNative(findAddon()), shared)
    : attachFallback(loadFallback(), shared);
}

/** Where the addon of the native store lies; undefined where that is not in use. */
export function addonPath(engine: Engine): string | undefined {
  return engine === 'native' ? findAddon().path : undefined;
}

/**
 * A call that gives free pages of the process's heap back to the system; some milliseconds. It
 * does nothing where the native store is not in use.
 */
export function memoryTrimmer(engine: Engine): () => void {
  if (engine === 'fallback') return () => {};
  const binding = loadNative(findAddon());
  return () => binding.trimMemory();
}

/**
 * A call that asks the system for large pages under memory that is read here and there. Where it
 * has none, or the native store is not in use, everything stays as it is.
 */
export function largePages(engine: Engine): (bytes: Uint8Array) => void {
  if (engine === 'fallback') return () => {};
  const binding = loadNative(findAddon());
  return bytes => binding.askLargePages(bytes);
}

/**
 * A call that keeps the processor that this thread runs on from going to sleep for so many
 * microseconds. It does nothing where the native store is not in use.
 */
export function awakeKeeper(engine: Engine): (micros: number) => void {
  if (engine === 'fallback') return () => {};
  const binding = loadNative(findAddon());
  return micros => binding.keepAwake(micros);
}

/**
 * CRC-32 of bytes behind others whose checksum is `before`, 0 for none: zlib's, or one that is
 * several times as fast where the native store is in use.
 */
export function checksummer(engine: Engine): (bytes: Uint8Array, before: number) => number {
  if (engine === 'fallback') return crc32;
  return loadNative(findAddon()).crc32 ?? crc32;
}

function refuseUnfit(machine: Machine): void {
  const obstacle = findObstacle(machine);
  if (obstacle !== undefined) throw new Refusal('start.refused', obstacle);
}

/** Makes the directory and its name durable: RocksDB syncs what is inside only. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  mkdirSync(path, {recursive: true});
  syncPath(dirname(path));
}

/** The addon lies in `build/` of the installation, whose depth depends on the bundle. */
function findAddon(): Addon {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    for (const [name, isRelease] of addonNames) {
      const path = join(directory, 'build', name);
      if (existsSync(path) || dirname(directory) === directory) return {path, isRelease};
    }
    directory = dirname(directory);
  }
}
