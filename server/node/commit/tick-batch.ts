/**
 * Entries that wait for the end of a turn of the event loop, or a little longer, to be applied on
 * the network thread: so few that it takes no longer than other things of a turn.
 */
import type {LogRecord} from '#server/log/segment-reader.ts';
import {recordBytes} from './commit-ring.ts';

const entriesMax = 256;
const bytesMax = 256 << 10;

export class TickBatch {
  readonly #bytesMax: number;
  #records: LogRecord[] = [];
  #bytes = 0;

  /** `entryBytesMax`: of one entry, and of all together. */
  constructor(entryBytesMax: number) {
    this.#bytesMax = Math.min(bytesMax, entryBytesMax);
  }

  get records(): readonly LogRecord[] {
    return this.#records;
  }

  /** What they would take of the ring. */
  get bytes(): number {
    return this.#bytes;
  }

  hasRoom(entryBytes: number): boolean {
    const bytes = this.#bytes + recordBytes(entryBytes);
    return this.#records.length < entriesMax && bytes <= this.#bytesMax;
  }

  add(record: LogRecord): void {
    this.#records.push(record);
    this.#bytes += recordBytes(record.payload.length);
  }

  /** All of them; none is left. */
  take(): LogRecord[] {
    const records = this.#records;
    this.#records = [];
    this.#bytes = 0;
    return records;
  }
}
