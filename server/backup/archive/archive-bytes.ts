/**
 * The bytes of an archive at any place, decrypted where it is encrypted: what the reader of ZIP
 * directories asks, and where the contents of entries are read from.
 */
import {closeSync, fstatSync, openSync, readSync} from 'node:fs';
import {Readable} from 'node:stream';
import {RandomAccessReader} from 'yauzl';
import {Refusal} from '#server/base/errors.ts';
import {ArchiveKey, cipherHeaderBytes, isPlainZip} from './archive-cipher.ts';

const portionBytes = 256 << 10;

export class ArchiveBytes extends RandomAccessReader {
  /** The size of the ZIP, without what stands before it in an encrypted archive. */
  readonly size: number;
  readonly key: ArchiveKey | undefined;
  readonly #descriptor: number;
  readonly #start: number;

  /**
   * @throws {Refusal} `backup.archive` when the file is encrypted and no password is given, or the
   *   other way round, or the password is another one.
   */
  constructor(path: string, password: string | undefined) {
    super();
    this.#descriptor = openSync(path, 'r');
    try {
      const fileBytes = fstatSync(this.#descriptor).size;
      const start = Buffer.alloc(cipherHeaderBytes);
      const startBytes = readSync(this.#descriptor, start, 0, cipherHeaderBytes, 0);
      const isPlain = isPlainZip(start);
      if (isPlain && password !== undefined) {
        throw unusable('it is not encrypted: leave the encryptionKey out');
      }
      const isEncrypted = !isPlain && password !== undefined;
      if (isEncrypted && startBytes < cipherHeaderBytes) throw unusable('it is cut off');
      this.key = isEncrypted ? new ArchiveKey(password, start) : undefined;
      this.#start = isEncrypted ? cipherHeaderBytes : 0;
      this.size = fileBytes - this.#start;
      if (!isPlainZip(this.bytesAt(0, 2))) {
        throw unusable(
          isEncrypted
            ? 'it cannot be decrypted with this encryptionKey'
            : 'it is no ZIP archive, or it is encrypted and its encryptionKey is missing',
        );
      }
    } catch (error) {
      closeSync(this.#descriptor);
      throw error;
    }
  }

  /** Up to `length` bytes; fewer at the end. */
  bytesAt(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.size - at)));
    for (let read = 0; read < bytes.length; ) {
      const place = this.#start + at + read;
      const count = readSync(this.#descriptor, bytes, read, bytes.length - read, place);
      if (count === 0) throw new Error('the archive is cut off');
      read += count;
    }
    return this.key === undefined ? bytes : this.key.cipherAt(at)(bytes);
  }

  *portions(from: number, to: number): Generator<Buffer> {
    for (let at = from; at < to; at += portionBytes) {
      const bytes = this.bytesAt(at, Math.min(portionBytes, to - at));
      if (bytes.length === 0) throw new Error('the archive is cut off');
      yield bytes;
    }
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.portions(start, end));
  }

  override close(callback: (error: Error | null) => void): void {
    closeSync(this.#descriptor);
    callback(null);
  }
}

/** @param entry - Of the archive, where one is to blame. */
export function unusable(why: string, entry?: string): Refusal {
  const what = entry === undefined ? 'the archive' : `the entry '${entry.slice(0, 200)}'`;
  return new Refusal('backup.archive', `${what} cannot be used: ${why}`, {
    detail: entry === undefined ? {} : {entry},
  });
}
