/**
 * A reader with a write set laid on top: what a transaction reads. It shows the writes as they are
 * at each call, and a scan those of its creation.
 */
import {packLookups} from '#server/storage/packed-rows.ts';
import type {PackedRows, Reader, ScanOptions, Scanner, ScanRange} from '#server/storage/store.ts';
import {keyText} from '../key-text.ts';
import {scanMerged} from './merged-scanner.ts';
import type {WriteSet} from './write-set.ts';

/** A point read under `writes`. */
export function getMerged(
  base: Pick<Reader, 'get'>,
  writes: WriteSet,
  key: Uint8Array,
): Buffer | undefined {
  const own = writes.lookup(keyText(key));
  if (own === undefined) return base.get(key);
  return own === 'deleted' ? undefined : Buffer.from(own);
}

/** Point reads under `writes`; the contract is `Reader.getMany`. */
export function getManyMerged(
  base: Reader,
  writes: WriteSet,
  keys: {readonly packed: Buffer; readonly count: number},
  into: PackedRows,
): number {
  const lookup = (key: Uint8Array): Uint8Array | undefined => {
    const own = writes.lookup(keyText(key));
    if (own === undefined) return base.get(key);
    return own === 'deleted' ? undefined : own;
  };
  return packLookups(lookup, keys, into);
}

export class OverlaidReader implements Reader {
  readonly #base: Reader;
  readonly #writes: WriteSet;

  constructor(base: Reader, writes: WriteSet) {
    this.#base = base;
    this.#writes = writes;
  }

  get(key: Uint8Array): Buffer | undefined {
    return getMerged(this.#base, this.#writes, key);
  }

  getMany(keys: Buffer, keyCount: number, into: PackedRows): number {
    return getManyMerged(this.#base, this.#writes, {packed: keys, count: keyCount}, into);
  }

  scan(ranges: readonly ScanRange[], options?: ScanOptions): Scanner {
    return scanMerged(this.#base, this.#writes, ranges, options);
  }
}
