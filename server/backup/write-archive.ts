/**
 * Writes an archive of one database: the files of a checkpoint, stored or deflated, and the
 * manifest behind them.
 *
 * Reading, checksums and encryption take all of a thread, so this belongs on one of its own. The
 * archive stands under its name only when every byte of it is durable; until then it has the name
 * of a part, which is removed when anything fails, and by the next start after a kill.
 */
import {createHash} from 'node:crypto';
import {closeSync, fstatSync, openSync, readdirSync, readSync, renameSync, rmSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {crc32} from 'node:zlib';
import {Refusal} from '#server/base/errors.ts';
import {syncDirectory} from './directory.ts';
import {ArchiveKey} from './archive/archive-cipher.ts';
import {ArchiveOutput} from './archive/archive-output.ts';
import {type Deflate, DeflatedPieces, pieceBytes, PieceMemory} from './archive/deflated-pieces.ts';
import {ZipHeaders} from '#server/platform/zip-headers.ts';
import {
  type ArchivedFile,
  type ArchiveManifest,
  encodeManifest,
  manifestName,
} from './archive-manifest.ts';

/** A plain value: it is given to a thread. */
export interface ArchiveOrder {
  /** The directory whose files all go into the archive. */
  readonly directory: string;
  /** The path of the archive; its directory exists. */
  readonly path: string;
  readonly manifest: Omit<ArchiveManifest, 'files'>;
  /** The level of deflate, 1 to 9; 0 stores files as they are. */
  readonly level: number;
  readonly threads: number;
  /** The rate at which files are read; undefined: as fast as it goes. */
  readonly bytesPerSecond: number | undefined;
  /** Undefined: not encrypted. */
  readonly password: string | undefined;
}

export interface ArchiveWritten {
  /** The size of the archive. */
  readonly bytes: number;
  /** The size of the files in it. */
  readonly contentBytes: number;
  readonly files: number;
}

/** What the work needs of its surroundings. */
export interface ArchiveMeans {
  /** Bytes of the database that are in the archive so far. */
  readonly onProgress: (done: number, total: number) => void;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly pause: (ms: number) => Promise<void>;
  /** Resolves when the next piece may be taken, by what else there is to do (pace.ts). */
  readonly giveWay: () => Promise<void>;
  /** Deflates on another thread; called so often at once as the order has threads. */
  readonly deflate: Deflate;
}

const partEnding = '.part';

/** Where an archive lies until it is whole. */
export function partPath(path: string): string {
  return join(dirname(path), `.${basename(path)}${partEnding}`);
}

/** Whether a file of the directory of archives is what a broken backup left. */
export function isPart(name: string): boolean {
  return name.startsWith('.') && name.endsWith(partEnding);
}

/** @throws {Error} as the file system says it; nothing is left then. */
export async function writeArchive(
  order: ArchiveOrder,
  means: ArchiveMeans,
): Promise<ArchiveWritten> {
  const directory = dirname(order.path);
  const part = partPath(order.path);
  const key = order.password === undefined ? undefined : new ArchiveKey(order.password);
  rmSync(part, {force: true});
  const output = new ArchiveOutput(part, key);
  try {
    const writer = new ArchiveWriter(order, means, output);
    const files = await writer.writeFiles();
    await writer.writeManifest(files, key);
    await output.finish();
    renameSync(part, order.path);
    syncDirectory(directory);
    return {bytes: output.bytes, contentBytes: writer.done, files: files.length};
  } catch (error) {
    rmSync(part, {force: true});
    throw error;
  } finally {
    await output.close();
  }
}

class ArchiveWriter {
  readonly #order: ArchiveOrder;
  readonly #means: ArchiveMeans;
  readonly #output: ArchiveOutput;
  readonly #headers = new ZipHeaders();
  readonly #memory: PieceMemory;
  readonly #startedAt: number;
  #total = 0;
  done = 0;

  constructor(order: ArchiveOrder, means: ArchiveMeans, output: ArchiveOutput) {
    this.#order = order;
    this.#means = means;
    this.#output = output;
    this.#memory = new PieceMemory(order.threads);
    this.#startedAt = means.monotonic();
  }

  async writeFiles(): Promise<readonly ArchivedFile[]> {
    const sources = readdirSync(this.#order.directory)
      .sort()
      .map(name => new SourceFile(name, join(this.#order.directory, name)));
    try {
      this.#total = sources.reduce((sum, {bytes}) => sum + bytes, 0);
      const files: ArchivedFile[] = [];
      for (const source of sources) files.push(await this.#writeFile(source));
      return files;
    } finally {
      for (const source of sources) source.close();
    }
  }

  async writeManifest(files: readonly ArchivedFile[], key: ArchiveKey | undefined): Promise<void> {
    const manifest = {...this.#order.manifest, files};
    const bytes = encodeManifest(manifest, key && (text => key.sign(text)));
    const header = this.#headers.stored({
      name: manifestName,
      bytes: bytes.length,
      checksum: crc32(bytes),
    });
    await this.#output.write(Buffer.concat([header, bytes]));
    await this.#output.write(this.#headers.end());
  }

  async #writeFile(source: SourceFile): Promise<ArchivedFile> {
    const hash = createHash('sha256');
    if (this.#order.level === 0) await this.#store(source, piece => hash.update(piece));
    else await this.#deflate(source, piece => hash.update(piece));
    return {name: source.name, bytes: source.bytes, sha256: hash.digest('hex')};
  }

  /** The header of a stored file tells its checksum, so it is read twice, from memory mostly. */
  async #store(source: SourceFile, see: (piece: Buffer) => void): Promise<void> {
    let checksum = 0;
    const piece = this.#memory.next();
    for (let at = 0; at < source.bytes; at += pieceBytes) {
      checksum = crc32(source.read(piece, at), checksum);
      await this.#means.giveWay();
    }
    await this.#output.write(this.#headers.stored({...source.facts, checksum}));
    for (let at = 0; at < source.bytes; at += pieceBytes) {
      const bytes = source.read(piece, at);
      see(bytes);
      await this.#output.write(bytes);
      await this.#advance(bytes.length);
    }
  }

  async #deflate(source: SourceFile, see: (piece: Buffer) => void): Promise<void> {
    await this.#output.write(this.#headers.beginDeflated(source.name, source.bytes));
    const {deflate} = this.#means;
    const pieces = new DeflatedPieces(this.#order, deflate, bytes => this.#output.write(bytes));
    let checksum = 0;
    for (let at = 0; at === 0 || at < source.bytes; at += pieceBytes) {
      const bytes = source.read(this.#memory.next(), at);
      await pieces.add(bytes, at + pieceBytes >= source.bytes);
      checksum = crc32(bytes, checksum);
      see(bytes);
      await this.#advance(bytes.length);
    }
    const compressed = await pieces.finish();
    const sizes = {bytes: source.bytes, compressed, checksum};
    await this.#output.write(this.#headers.endDeflated(sizes));
  }

  async #advance(bytes: number): Promise<void> {
    this.done += bytes;
    this.#means.onProgress(this.done, this.#total);
    await this.#means.giveWay();
    const {bytesPerSecond} = this.#order;
    if (bytesPerSecond === undefined) return;
    const due = this.#startedAt + (this.done / bytesPerSecond) * 1_000;
    const ahead = due - this.#means.monotonic();
    if (ahead > 1) await this.#means.pause(ahead);
  }
}

/** A file of the checkpoint, as long as it was when the archive began. */
class SourceFile {
  readonly name: string;
  readonly bytes: number;
  readonly #descriptor: number;

  constructor(name: string, path: string) {
    this.name = name;
    this.#descriptor = openSync(path, 'r');
    this.bytes = fstatSync(this.#descriptor).size;
  }

  get facts(): {readonly name: string; readonly bytes: number} {
    return {name: this.name, bytes: this.bytes};
  }

  /** Fills `target` from `at` on, up to the end of the file. */
  read(target: Buffer, at: number): Buffer {
    const wanted = Math.min(target.length, this.bytes - at);
    for (let read = 0; read < wanted; ) {
      const count = readSync(this.#descriptor, target, read, wanted - read, at + read);
      if (count === 0) throw new Refusal('database.operation', `${this.name} ended too early`);
      read += count;
    }
    return target.subarray(0, wanted);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
