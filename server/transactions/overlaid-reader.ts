/**
 * A reader with a write set laid on top: what a transaction reads. It shows the writes as they are
 * at each call, and a scan those of its creation.
 */
import {
  ABSENT,
  type PackedRows,
  type Reader,
  RowTooLarge,
  type ScanOptions,
  type Scanner,
  type ScanRange,
} from '#server/storage/store.ts';
import {keyText} from './conflict-window.ts';
import {scanMerged} from './merged-scanner.ts';
import type {WriteSet} from './write-set.ts';

/** A point read under `writes`. */
export function getMerged(base: Reader, writes: WriteSet, key: Uint8Array): Buffer | undefined {
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
  into.byteLength = 0;
  into.rowCount = 0;
  into.done = false;
  let at = 0;
  for (let number = 0; number < keys.count; number++) {
    const length = keys.packed.readUInt32LE(at);
    const key = keys.packed.subarray(at + 4, at + 4 + length);
    const own = writes.lookup(keyText(key));
    const value = own === undefined ? base.get(key) : own === 'deleted' ? undefined : own;
    if (!appendValue(into, value)) return number;
    at += 4 + length;
  }
  into.done = true;
  return keys.count;
}

function appendValue(into: PackedRows, value: Uint8Array | undefined): boolean {
  const bytes = 8 + (value?.length ?? 0);
  if (into.byteLength + bytes > into.buffer.length) {
    if (into.rowCount === 0) throw new RowTooLarge(bytes);
    return false;
  }
  into.buffer.writeUInt32LE(0, into.byteLength);
  into.buffer.writeUInt32LE(value === undefined ? ABSENT : value.length, into.byteLength + 4);
  if (value !== undefined) into.buffer.set(value, into.byteLength + 8);
  into.byteLength += bytes;
  into.rowCount++;
  return true;
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
