/**
 * Steps through a scan row by row without an object a row.
 *
 * After `next()` the row's key is bytes [keyStart, keyEnd) of `bytes` and its value
 * [keyEnd, end); both are overwritten by a later `next()`, and by the next scan's rows once this
 * one is closed. The buffer grows to the largest row, and from portion to portion up to
 * `bufferBytesMax`, so that a short scan stays cheap.
 */
import {type RowBuffer, rowBuffer, RowBuffers} from '#server/storage/row-buffers.ts';
import {
  ABSENT,
  type PackedRows,
  type Reader,
  RowTooLarge,
  type ScanOptions,
  type Scanner,
  type ScanRange,
} from '#server/storage/store.ts';

const rowHeaderBytes = 8;
const bufferBytesDefault = 64 << 10;
/** This thread's. */
const buffers = new RowBuffers();
const noBytes = rowBuffer(0);

export class RowWalker {
  keyStart = 0;
  keyEnd = 0;
  end = 0;
  private buffer: RowBuffer;
  private rows: PackedRows;
  private readonly scanner: Scanner;
  private rowsLeft = 0;
  private closed = false;
  private filled = false;
  private readonly bufferBytesMax: number;
  private readonly pauses: boolean;

  constructor(
    reader: Reader,
    ranges: readonly ScanRange[],
    options: ScanOptions & {readonly bufferBytes?: number; readonly bufferBytesMax?: number} = {},
  ) {
    this.scanner = reader.scan(ranges, options);
    this.buffer = buffers.take(options.bufferBytes ?? bufferBytesDefault);
    this.rows = emptyRows(this.buffer);
    this.bufferBytesMax = options.bufferBytesMax ?? 0;
    this.pauses = options.pauses ?? false;
  }

  get bytes(): Buffer {
    return this.buffer.bytes;
  }

  /** A view of the same bytes. */
  get view(): DataView {
    return this.buffer.view;
  }

  /** Whether the scan is at its end, or was closed. */
  get ended(): boolean {
    return this.closed;
  }

  /**
   * Steps to the next row; false when there is none (the scan is closed then), or none yet: in a
   * scan that pauses, see `ended`.
   */
  next(): boolean {
    while (this.rowsLeft === 0) {
      if (this.closed || (this.rows.done && this.end > 0)) {
        this.close();
        return false;
      }
      this.fill();
      if (this.rowsLeft > 0) break;
      if (this.rows.done) this.close();
      if (this.rows.done || this.pauses) return false;
    }
    this.rowsLeft--;
    const header = this.end;
    const {view} = this.buffer;
    const keyLength = view.getUint32(header, true);
    const valueLength = view.getUint32(header + 4, true);
    this.keyStart = header + rowHeaderBytes;
    this.keyEnd = this.keyStart + keyLength;
    this.end = this.keyEnd + (valueLength === ABSENT ? 0 : valueLength);
    return true;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.rowsLeft = 0;
    this.scanner.close();
    this.exchange(noBytes);
  }

  private fill(): void {
    const {length} = this.buffer.bytes;
    if (this.filled && length < this.bufferBytesMax) {
      this.exchange(buffers.take(Math.min(length * 4, this.bufferBytesMax)));
    }
    this.filled = true;
    try {
      this.scanner.next(this.rows);
    } catch (error) {
      if (!(error instanceof RowTooLarge)) throw error;
      this.exchange(buffers.take(error.bytesNeeded));
      this.scanner.next(this.rows);
    }
    this.rowsLeft = this.rows.rowCount;
    this.end = 0;
  }

  /** Goes on in another buffer and gives the one before back. */
  private exchange(buffer: RowBuffer): void {
    const before = this.buffer;
    this.buffer = buffer;
    this.rows = emptyRows(buffer);
    buffers.give(before);
  }
}

function emptyRows({bytes: buffer}: RowBuffer): PackedRows {
  return {buffer, byteLength: 0, rowCount: 0, done: false};
}
