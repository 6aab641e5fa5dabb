/**
 * The package's own calls, as its JavaScript classes use them, with types and our errors.
 *
 * The classes themselves are left out: they keep every iterator in a registry until an
 * asynchronous close, while our contract is synchronous. The one call that must be asynchronous,
 * closing, is waited for by watching the database's lock go.
 */
import {readdirSync, readlinkSync, realpathSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {storeDamage} from '#server/base/errors.ts';
import {StoreFailure} from '../store.ts';

declare const contextBrand: unique symbol;
declare const iteratorBrand: unique symbol;
declare const batchBrand: unique symbol;
export interface FallbackContext {
  readonly [contextBrand]: true;
}
export interface FallbackIterator {
  readonly [iteratorBrand]: true;
}
export interface FallbackBatch {
  readonly [batchBrand]: true;
}

/** `rows` holds key, value, key, value, ... */
export interface FallbackRows {
  readonly rows: readonly Buffer[];
  readonly finished: boolean;
}

export interface FallbackBinding {
  db_init(locationOrHandle: string | bigint): FallbackContext;
  db_open(
    context: FallbackContext,
    options: Readonly<Record<string, unknown>>,
    callback: (error: Error | null) => void,
  ): unknown;
  db_close(context: FallbackContext, callback: (error: Error | null) => void): void;
  db_get_handle(context: FallbackContext): bigint;
  db_get_latest_sequence(context: FallbackContext): number;
  db_get_property(context: FallbackContext, name: string): string;
  db_get_many_sync(
    context: FallbackContext,
    keys: readonly Uint8Array[],
    options: Readonly<Record<string, unknown>>,
  ): (Buffer | undefined)[];
  iterator_init(
    context: FallbackContext,
    options: Readonly<Record<string, unknown>>,
  ): FallbackIterator;
  iterator_seek(iterator: FallbackIterator, target: Uint8Array): void;
  iterator_nextv_sync(iterator: FallbackIterator, count: number): FallbackRows;
  iterator_close(iterator: FallbackIterator): void;
  batch_init(): FallbackBatch;
  batch_put(batch: FallbackBatch, key: Uint8Array, value: Uint8Array, options: object): void;
  batch_del(batch: FallbackBatch, key: Uint8Array, options: object): void;
  batch_write(context: FallbackContext, batch: FallbackBatch, options: object): void;
}

/** Loads the package's binding into this thread; see loadNative about when not to. */
export function loadFallback(): FallbackBinding {
  return createRequire(import.meta.url)('rocksdb/binding.js') as FallbackBinding;
}

/** Runs one call of the binding and turns its error into ours. */
export function guarded<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw translated(error);
  }
}

/** Opens the database; the one step that the package does asynchronously. */
export function openContext(
  binding: FallbackBinding,
  context: FallbackContext,
  options: Readonly<Record<string, unknown>>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    binding.db_open(context, options, error => {
      if (error === null) resolve();
      else reject(translated(error));
    });
  });
}

const closeWaitMsMax = 60_000;

/** Closes the database in `path` and returns when its files are closed. */
export function closeContext(
  binding: FallbackBinding,
  context: FallbackContext,
  path: string,
): void {
  binding.db_close(context, () => {});
  const lock = join(realpathSync(path), 'LOCK');
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; holdsOpen(lock); waitedMs++) {
    if (waitedMs > closeWaitMsMax) throw new StoreFailure('io', `${path} does not close`);
    Atomics.wait(pause, 0, 0, 1);
  }
}

function holdsOpen(path: string): boolean {
  return readdirSync('/proc/self/fd').some(descriptor => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === path;
    } catch {
      return false;
    }
  });
}

function translated(error: unknown): Error {
  if (!(error instanceof Error)) return new StoreFailure('other', String(error));
  // The binding throws plain errors; a class of its own is one of ours on its way through.
  if (error.constructor !== Error) return error;
  const code = 'code' in error ? error.code : undefined;
  if (code === 'LEVEL_CORRUPTION') return storeDamage(error.message);
  if (code === 'LEVEL_LOCKED') return new StoreFailure('locked', error.message);
  if (error.message.includes('No space')) return new StoreFailure('no-space', error.message);
  if (code === 'LEVEL_IO_ERROR') {
    return new StoreFailure(error.message.includes('lock') ? 'locked' : 'io', error.message);
  }
  if (error.message.includes('does not exist')) return new StoreFailure('absent', error.message);
  return new StoreFailure('other', error.message);
}
