/**
 * Packing of rows for the stores that do it in JavaScript (memory and fallback).
 *
 * A store gives a `RowSource`, one row after another over all ranges; this file turns it into
 * the packed batches of `store.ts`. The native store packs in C++ by the same rules; the contract
 * test holds the three together. It also has the small helpers by which callers read and make
 * packed rows and keys.
 */
import {assert} from '#server/base/assert.ts';
import {
  ABSENT,
  type PackedRows,
  type Reader,
  RowTooLarge,
  type ScanOptions,
  type Scanner,
} from './store.ts';

export const rowHeaderBytes = 8;

/** Rows in scan order; `key` is undefined behind the last one. */
export interface RowSource {
  readonly key: Uint8Array | undefined;
  readonly value: Uint8Array;
  readonly rangeIndex: number;
  advance(): void;
  close(): void;
}

/** An empty PackedRows over a new buffer of `bytes`. */
export function createPackedRows(bytes: number): PackedRows {
  return {buffer: Buffer.allocUnsafeSlow(bytes), byteLength: 0, rowCount: 0, done: false};
}

/** Packs keys as `getMany` takes them. */
export function packKeys(keys: readonly Uint8Array[]): Buffer {
  let bytes = 0;
  for (const key of keys) bytes += 4 + key.length;
  const packed = Buffer.allocUnsafe(bytes);
  let offset = 0;
  for (const key of keys) {
    offset = packed.writeUInt32LE(key.length, offset);
    packed.set(key, offset);
    offset += key.length;
  }
  return packed;
}

/** Reads rows one by one; for tests and for callers that need few of them. Copies nothing. */
export function* eachRow(
  rows: PackedRows,
): Generator<{readonly key: Buffer; readonly value: Buffer | undefined}> {
  let offset = 0;
  for (let row = 0; row < rows.rowCount; row++) {
    const keyLength = rows.buffer.readUInt32LE(offset);
    const valueLength = rows.buffer.readUInt32LE(offset + 4);
    const keyEnd = offset + rowHeaderBytes + keyLength;
    const key = rows.buffer.subarray(offset + rowHeaderBytes, keyEnd);
    offset = valueLength === ABSENT ? keyEnd : keyEnd + valueLength;
    yield {key, value: valueLength === ABSENT ? undefined : rows.buffer.subarray(keyEnd, offset)};
  }
}

/** `getMany` of some of the keys, in `rows` or, where a single row needs it, a larger buffer. */
export function getManyGrowing(
  reader: Reader,
  keys: Buffer,
  count: number,
  rows: PackedRows,
): PackedRows {
  try {
    reader.getMany(keys, count, rows);
    return rows;
  } catch (error) {
    if (!(error instanceof RowTooLarge)) throw error;
    const larger = createPackedRows(error.bytesNeeded);
    reader.getMany(keys, count, larger);
    return larger;
  }
}

const noBytes = new Uint8Array(0);

/** Appends one row; false when it does not fit behind the rows that are there. */
function appendRow(into: PackedRows, key: Uint8Array, value: Uint8Array | undefined): boolean {
  const bytes = rowHeaderBytes + key.length + (value?.length ?? 0);
  const offset = into.byteLength;
  if (offset + bytes > into.buffer.length) {
    if (into.rowCount === 0) throw new RowTooLarge(bytes);
    return false;
  }
  into.buffer.writeUInt32LE(key.length, offset);
  into.buffer.writeUInt32LE(value === undefined ? ABSENT : value.length, offset + 4);
  into.buffer.set(key, offset + rowHeaderBytes);
  if (value !== undefined) into.buffer.set(value, offset + rowHeaderBytes + key.length);
  into.byteLength = offset + bytes;
  into.rowCount++;
  return true;
}

/** `getMany` over single lookups: see the contract in store.ts. */
export function packLookups(
  lookup: (key: Uint8Array) => Uint8Array | undefined,
  keys: {readonly packed: Buffer; readonly count: number},
  into: PackedRows,
): number {
  into.byteLength = 0;
  into.rowCount = 0;
  into.done = false;
  let offset = 0;
  for (let index = 0; index < keys.count; index++) {
    const length = keys.packed.readUInt32LE(offset);
    const key = keys.packed.subarray(offset + 4, offset + 4 + length);
    assert(key.length === length, 'the packed keys end in the middle of a key');
    if (!appendRow(into, noBytes, lookup(key))) return index;
    offset += 4 + length;
  }
  into.done = true;
  return keys.count;
}

/** A Scanner over a RowSource. `checkUsable` throws when the store or snapshot is gone. */
export class PackingScanner implements Scanner {
  readonly #source: RowSource;
  readonly #keysOnly: boolean;
  readonly #rowsMax: number;
  readonly #checkUsable: () => void;
  #closed = false;

  constructor(source: RowSource, options: ScanOptions, checkUsable: () => void) {
    this.#source = source;
    this.#keysOnly = options.keysOnly === true;
    this.#rowsMax = options.rowsMax ?? Number.MAX_SAFE_INTEGER;
    this.#checkUsable = checkUsable;
    assert(this.#rowsMax > 0, 'rowsMax is at least 1');
  }

  get rangeIndex(): number {
    return this.#source.rangeIndex;
  }

  next(into: PackedRows): PackedRows {
    this.#checkUsable();
    assert(!this.#closed, 'the scanner is closed');
    into.byteLength = 0;
    into.rowCount = 0;
    into.done = false;
    const source = this.#source;
    for (; source.key !== undefined && into.rowCount < this.#rowsMax; source.advance()) {
      if (!appendRow(into, source.key, this.#keysOnly ? noBytes : source.value)) return into;
    }
    into.done = source.key === undefined;
    return into;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#source.close();
  }
}
