/**
 * Opens the store of one directory: natively where that works, else through the package's API.
 */
import {existsSync, mkdirSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Refusal} from '#server/base/errors.ts';
import type {ShareableStore, Store, StoreOptions} from '../store.ts';
import {syncPath} from './checkpoint.ts';
import {findObstacle, readMachine} from './machine.ts';
import {attachNative, loadNative, openNative} from './native.ts';

export interface RocksStoreOptions extends StoreOptions {
  /** Of the one cache that all native stores of the process share; the first open decides. */
  readonly blockCacheBytes?: number;
}

const memtableBytesDefault = 32 << 20;
const blockCacheBytesDefault = 64 << 20;

/** Opens or creates the store in the directory `path`. */
export async function openStore(path: string, options: RocksStoreOptions = {}): Promise<Store> {
  const obstacle = findObstacle(readMachine());
  if (obstacle !== undefined) throw new Refusal('start.refused', obstacle);
  if (options.mustExist !== true) makeDirectory(path);
  return openNative(loadNative(findAddon()), path, {
    createIfMissing: options.mustExist !== true,
    memtableBytes: options.memtableBytes ?? memtableBytesDefault,
    blockCacheBytes: options.blockCacheBytes ?? blockCacheBytesDefault,
  });
}

/** Uses, on this thread, a store that another thread of the process has open. */
export async function attachStore(shared: ShareableStore): Promise<Store> {
  if (shared.engine === 'native') return attachNative(loadNative(findAddon()), shared);
  throw new Refusal('start.refused', 'the fallback store cannot be shared yet');
}

function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(path, {recursive: true});
  syncPath(dirname(path));
}

/** The addon lies in `build/` of the installation, whose depth depends on the bundle. */
function findAddon(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const candidate = join(directory, 'build/svc-rocksdb.node');
    if (existsSync(candidate) || dirname(directory) === directory) return candidate;
    directory = dirname(directory);
  }
}
