/**
 * Lines of JSON or CSV as the records of a load (bulk-load.ts), read straight into its draft.
 *
 * Bytes come in pieces of any size; `push` resolves when more may come, which is the only back
 * pressure there is.
 */
import {CsvLineReader} from '#server/bulk/csv-line.ts';
import {JsonLineReader} from '#server/bulk/json-line.ts';
import {LineSplitter} from './bulk-lines.ts';
import type {BulkCounts, BulkLoad} from './bulk-load.ts';

export interface LineLoadOptions {
  readonly format: 'json' | 'csv';
  readonly lineBytesMax: number;
}

export interface LineCounts extends BulkCounts {
  readonly bytesRead: number;
  readonly linesRead: number;
  /** Empty lines, headers. */
  readonly linesSkipped: number;
}

export class LineLoad {
  readonly #load: BulkLoad;
  readonly #options: LineLoadOptions;
  readonly #lines: LineSplitter;
  readonly #json: JsonLineReader;
  readonly #csv: CsvLineReader;
  #bytesRead = 0;
  #linesRead = 0;
  #linesSkipped = 0;

  constructor(load: BulkLoad, options: LineLoadOptions) {
    this.#load = load;
    this.#options = options;
    this.#lines = new LineSplitter(options.lineBytesMax);
    this.#json = new JsonLineReader(load.draft);
    this.#csv = new CsvLineReader(load.draft);
  }

  /** The counts as they are now. */
  get counts(): LineCounts {
    return {
      ...this.#load.counts,
      bytesRead: this.#bytesRead,
      linesRead: this.#linesRead,
      linesSkipped: this.#linesSkipped,
    };
  }

  get phase(): BulkLoad['phase'] {
    return this.#load.phase;
  }

  /** How many temporary ids its vertices have. */
  get idCount(): number {
    return this.#load.idCount;
  }

  /** Takes bytes. @throws {Refusal} when a line or a commit is refused; the load has ended then. */
  async push(chunk: Buffer): Promise<void> {
    this.#bytesRead += chunk.length;
    this.#load.begin();
    this.#lines.add(chunk);
    await this.#readLines();
  }

  /** The body has ended: reads its last line and commits the rest. @throws {Refusal} */
  async finish(): Promise<void> {
    this.#load.begin();
    this.#lines.end();
    await this.#readLines();
    await this.#load.finish();
  }

  /** The body broke off: commits what complete lines said. @throws {Refusal} */
  abandon(): Promise<void> {
    return this.#load.abandon();
  }

  /** Gives back what it holds; what is committed stays. Idempotent. */
  close(): void {
    this.#load.close();
  }

  async #readLines(): Promise<void> {
    const lines = this.#lines;
    const load = this.#load;
    for (;;) {
      let isRecord = false;
      try {
        if (!lines.next()) return;
        this.#linesRead++;
        isRecord = this.#read();
      } catch (error) {
        await load.refused(error, this.#linesRead);
      }
      if (!isRecord) {
        this.#linesSkipped++;
        continue;
      }
      const waiting = load.take(this.#linesRead, this.#reread);
      if (waiting !== undefined) await waiting;
    }
  }

  /** Whether the line is a record, which is in the draft then. @throws {Refusal} */
  #read(): boolean {
    const {bytes, start, stop} = this.#lines;
    if (isBlank(bytes, start, stop)) return false;
    if (this.#options.format === 'csv') return this.#csv.read(bytes, start, stop, this.#linesRead);
    this.#json.read(bytes, start, stop, this.#linesRead);
    return true;
  }

  readonly #reread = (): void => {
    this.#read();
  };
}

function isBlank(bytes: Buffer, start: number, stop: number): boolean {
  for (let at = start; at < stop; at++) {
    const byte = bytes[at] as number;
    if (byte !== 0x20 && byte !== 0x09) return false;
  }
  return true;
}
