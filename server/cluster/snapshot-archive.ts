/**
 * One database of a snapshot as a ZIP archive, which is written from front to back: its files as
 * they are, and behind them `manifest.json`, which says what they are.
 */
import {crc32} from 'node:zlib';
import {ZipHeaders} from '#server/platform/zip-headers.ts';

const manifestName = 'manifest.json';

export interface ArchivedFile {
  readonly name: string;
  readonly size: number;
  readonly crc: number;
}

export class SnapshotArchive {
  readonly #headers = new ZipHeaders();
  readonly #files: ArchivedFile[] = [];

  /** What stands before the bytes of a file. */
  begin(file: ArchivedFile): Buffer {
    this.#files.push(file);
    return this.#stored(file);
  }

  /** What stands behind the last file; an archive without it is not whole. */
  end(): Buffer {
    const manifest = Buffer.from(JSON.stringify({version: 1, files: this.#files}));
    const file = {name: manifestName, size: manifest.length, crc: crc32(manifest)};
    return Buffer.concat([this.#stored(file), manifest, this.#headers.end()]);
  }

  #stored({name, size, crc}: ArchivedFile): Buffer {
    return this.#headers.stored({name, bytes: size, checksum: crc});
  }
}
