/**
 * A scan over a snapshot with a write set laid on top: own values instead of stored ones, own
 * deletions hidden, own new keys in their place, forward and backward.
 *
 * It shows the write set as of its creation, so a statement that writes while it scans does not
 * meet its own rows again. State: one batch of stored rows, the own points of one range.
 */
import {assert} from '#server/base/assert.ts';
import {createPackedRows, rowHeaderBytes} from '#server/storage/packed-rows.ts';
import {
  type PackedRows,
  type Reader,
  RowTooLarge,
  type ScanOptions,
  type Scanner,
  type ScanRange,
} from '#server/storage/store.ts';
import {keyText} from '../key-text.ts';
import type {PointWrite} from './point-write.ts';
import type {EmptiedRange, WriteSet} from './write-set.ts';

const baseBytes = 64 << 10;

interface PlannedRange {
  readonly range: ScanRange;
  readonly points: readonly PointWrite[];
  readonly emptied: readonly EmptiedRange[];
}

/** Scans `base` under `writes`; hands the scan on untouched when no own write concerns it. */
export function scanMerged(
  base: Reader,
  writes: WriteSet,
  ranges: readonly ScanRange[],
  options: ScanOptions = {},
): Scanner {
  const planned: PlannedRange[] = [];
  let concerned = false;
  for (const range of ranges) {
    const start = keyText(range.start);
    const end = range.end === undefined ? undefined : keyText(range.end);
    if (writes.touches(start, end)) {
      concerned = true;
      const {points, ranges: emptied} = writes.slice(start, end);
      if (options.reverse === true) points.reverse();
      planned.push({range, points, emptied});
    } else planned.push({range, points: [], emptied: []});
  }
  return concerned ? new MergedScanner(base, planned, options) : base.scan(ranges, options);
}

class MergedScanner implements Scanner {
  readonly #base: Reader;
  readonly #planned: readonly PlannedRange[];
  readonly #options: ScanOptions;
  readonly #reverse: boolean;
  readonly #rowsMax: number;
  #rows = createPackedRows(baseBytes);
  #scanner: Scanner | undefined;
  #rangeIndex = 0;
  #pointAt = 0;
  /** The stored row that comes next: its place in `#rows`, or -1 when the range has no more. */
  #rowAt = -1;
  #rowsLeft = 0;
  #rowText = '';
  #closed = false;

  constructor(base: Reader, planned: readonly PlannedRange[], options: ScanOptions) {
    this.#base = base;
    this.#planned = planned;
    // The limit counts merged rows; the scan below must not stop for it, nor to pause.
    const {rowsMax, pauses: _, ...rest} = options;
    this.#options = rest;
    this.#reverse = options.reverse === true;
    this.#rowsMax = rowsMax ?? Number.MAX_SAFE_INTEGER;
    this.#openRange();
    this.#settle();
  }

  get rangeIndex(): number {
    return this.#rangeIndex;
  }

  next(into: PackedRows): PackedRows {
    assert(!this.#closed, 'the scanner is closed');
    into.byteLength = 0;
    into.rowCount = 0;
    into.done = false;
    while (this.#rangeIndex < this.#planned.length && into.rowCount < this.#rowsMax) {
      if (!this.#emit(into)) return into;
      this.#settle();
    }
    into.done = this.#rangeIndex >= this.#planned.length;
    return into;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#scanner?.close();
  }

  /** Writes the next row; false when it does not fit behind others. */
  #emit(into: PackedRows): boolean {
    const point = this.#point;
    const order = point === undefined ? 1 : this.#rowAt < 0 ? -1 : this.#compare(point.text);
    if (order <= 0 && point !== undefined) {
      assert(point.kind === 'put', 'deleted points are passed over');
      const value = this.#options.keysOnly === true ? noBytes : point.value;
      if (!append(into, point.key, value)) return false;
      this.#pointAt++;
      if (order === 0) this.#advanceRow();
      return true;
    }
    const rows = this.#rows;
    const at = this.#rowAt;
    const keyLength = rows.buffer.readUInt32LE(at);
    const bytes = rowHeaderBytes + keyLength + rows.buffer.readUInt32LE(at + 4);
    if (into.byteLength + bytes > into.buffer.length) {
      if (into.rowCount === 0) throw new RowTooLarge(bytes);
      return false;
    }
    rows.buffer.copy(into.buffer, into.byteLength, at, at + bytes);
    into.byteLength += bytes;
    into.rowCount++;
    this.#advanceRow();
    return true;
  }

  get #point(): PointWrite | undefined {
    return this.#planned[this.#rangeIndex]?.points[this.#pointAt];
  }

  #compare(text: string): number {
    if (text === this.#rowText) return 0;
    return text < this.#rowText !== this.#reverse ? -1 : 1;
  }

  /** Passes over hidden rows and deleted points, and over ranges that have nothing left. */
  #settle(): void {
    while (this.#rangeIndex < this.#planned.length) {
      const point = this.#point;
      if (this.#rowAt >= 0 && this.#isEmptied(this.#rowText) && point?.text !== this.#rowText) {
        this.#advanceRow();
      } else if (point?.kind === 'delete' && this.#rowAt < 0) {
        this.#pointAt++;
      } else if (point?.kind === 'delete') {
        const order = this.#compare(point.text);
        if (order > 0) return;
        this.#pointAt++;
        if (order === 0) this.#advanceRow();
      } else if (point === undefined && this.#rowAt < 0) {
        this.#rangeIndex++;
        this.#openRange();
      } else return;
    }
  }

  #isEmptied(text: string): boolean {
    const emptied = this.#planned[this.#rangeIndex]?.emptied ?? [];
    return emptied.some(range => range.start <= text && text < range.end);
  }

  #openRange(): void {
    this.#scanner?.close();
    this.#scanner = undefined;
    this.#pointAt = 0;
    this.#rowAt = -1;
    const planned = this.#planned[this.#rangeIndex];
    if (planned === undefined) return;
    this.#scanner = this.#base.scan([planned.range], this.#options);
    this.#fetch();
  }

  #fetch(): void {
    const scanner = this.#scanner;
    assert(scanner !== undefined, 'a range is open');
    try {
      scanner.next(this.#rows);
    } catch (error) {
      if (!(error instanceof RowTooLarge)) throw error;
      this.#rows = createPackedRows(error.bytesNeeded);
      scanner.next(this.#rows);
    }
    this.#rowsLeft = this.#rows.rowCount;
    this.#rowAt = this.#rowsLeft > 0 ? 0 : -1;
    this.#readKey();
  }

  #advanceRow(): void {
    if (this.#rowAt < 0) return;
    const {buffer} = this.#rows;
    this.#rowsLeft--;
    if (this.#rowsLeft === 0) {
      this.#rowAt = -1;
      if (!this.#rows.done) this.#fetch();
      return;
    }
    const at = this.#rowAt;
    this.#rowAt += rowHeaderBytes + buffer.readUInt32LE(at) + buffer.readUInt32LE(at + 4);
    this.#readKey();
  }

  #readKey(): void {
    if (this.#rowAt < 0) return;
    const {buffer} = this.#rows;
    const from = this.#rowAt + rowHeaderBytes;
    this.#rowText = buffer.toString('latin1', from, from + buffer.readUInt32LE(this.#rowAt));
  }
}

const noBytes = new Uint8Array(0);

function append(into: PackedRows, key: Uint8Array, value: Uint8Array): boolean {
  const bytes = rowHeaderBytes + key.length + value.length;
  const at = into.byteLength;
  if (at + bytes > into.buffer.length) {
    if (into.rowCount === 0) throw new RowTooLarge(bytes);
    return false;
  }
  into.buffer.writeUInt32LE(key.length, at);
  into.buffer.writeUInt32LE(value.length, at + 4);
  into.buffer.set(key, at + rowHeaderBytes);
  into.buffer.set(value, at + rowHeaderBytes + key.length);
  into.byteLength = at + bytes;
  into.rowCount++;
  return true;
}
