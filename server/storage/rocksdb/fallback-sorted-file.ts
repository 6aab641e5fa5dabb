/**
 * The fallback's sorted file: the package cannot build or ingest SST files, so rows go to a file
 * of our own and come back as one write batch.
 *
 * Layout: 8 bytes of magic; rows as store.ts packs them; u32 CRC-32 of the rows, little endian.
 * The file is synced by `finish`; one that is torn or damaged is a Corruption.
 */
import {closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync} from 'node:fs';
import {crc32} from 'node:zlib';
import {assert} from '#server/base/assert.ts';
import {Corruption} from '#server/base/errors.ts';
import {AscendingKeys} from '../sorted-rows.ts';
import type {SortedFileWriter} from '../store.ts';

const magic = Buffer.from('SVCROWS1');
const bufferBytes = 1 << 20;

export class FallbackSortedFile implements SortedFileWriter {
  readonly #path: string;
  readonly #order = new AscendingKeys();
  #parts: Buffer[] = [];
  #partBytes = 0;
  #bytes = 0;
  #checksum = 0;
  #descriptor: number | undefined;
  #ended = false;

  constructor(path: string) {
    this.#path = path;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    assert(!this.#ended, 'the sorted file is finished');
    this.#order.check(key);
    const row = Buffer.allocUnsafe(8 + key.length + value.length);
    row.writeUInt32LE(key.length, 0);
    row.writeUInt32LE(value.length, 4);
    row.set(key, 8);
    row.set(value, 8 + key.length);
    this.#parts.push(row);
    this.#partBytes += row.length;
    if (this.#partBytes >= bufferBytes) this.#flush();
  }

  finish(): number {
    assert(!this.#ended, 'the sorted file is finished');
    this.#flush();
    this.#ended = true;
    if (this.#descriptor === undefined) return 0;
    const trailer = Buffer.alloc(4);
    trailer.writeUInt32LE(this.#checksum);
    this.#write(trailer);
    fsyncSync(this.#descriptor);
    closeSync(this.#descriptor);
    return this.#bytes;
  }

  abandon(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#parts = [];
    if (this.#descriptor === undefined) return;
    closeSync(this.#descriptor);
    rmSync(this.#path, {force: true});
  }

  #flush(): void {
    if (this.#partBytes === 0) return;
    const rows = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    if (this.#descriptor === undefined) {
      this.#descriptor = openSync(this.#path, 'w');
      this.#write(magic);
    }
    this.#checksum = crc32(rows, this.#checksum);
    this.#write(rows);
  }

  #write(bytes: Buffer): void {
    assert(this.#descriptor !== undefined, 'the sorted file is open');
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#descriptor, bytes, done);
    }
    this.#bytes += bytes.length;
  }
}

/** Calls `visit` for every row of the file; checks the whole file first. */
export function readSortedFile(path: string, visit: (key: Buffer, value: Buffer) => void): void {
  const file = readFileSync(path);
  const rows = file.subarray(magic.length, Math.max(magic.length, file.length - 4));
  const whole =
    file.length >= magic.length + 4 &&
    file.subarray(0, magic.length).equals(magic) &&
    crc32(rows) === file.readUInt32LE(file.length - 4);
  if (!whole) throw new Corruption('a sorted file is damaged', {path});
  for (let offset = 0; offset < rows.length; ) {
    const keyEnd = offset + 8 + rows.readUInt32LE(offset);
    const valueEnd = keyEnd + rows.readUInt32LE(offset + 4);
    visit(rows.subarray(offset + 8, keyEnd), rows.subarray(keyEnd, valueEnd));
    offset = valueEnd;
  }
}
