/**
 * Reads an archive that may come from anywhere: everything its directory says is checked before a
 * byte is written, and every byte against the manifest's checksums while it is.
 *
 * Directories, names and sizes are read by `yauzl`, which refuses absolute names, `..` and lying
 * directories; here follow links, duplicates, entries that share bytes, files that the manifest
 * does not list or that have another size there, checksums, and what a foreign program made.
 * Nothing is written outside the one directory that is given, and into it only names that the
 * manifest lists.
 */
import {createHash} from 'node:crypto';
import {closeSync, fdatasync, openSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {promisify} from 'node:util';
import {crc32, createInflateRaw} from 'node:zlib';
import {type Entry, fromRandomAccessReaderPromise, type ZipFile} from 'yauzl';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {ArchiveBytes, unusable} from './archive/archive-bytes.ts';
import {
  type ArchivedFile,
  type ArchiveManifest,
  decodeManifest,
  manifestBytesMax,
  manifestName,
} from './archive-manifest.ts';
import {syncDirectory} from './directory.ts';

export interface ReadOptions {
  /** Undefined: it is not encrypted. */
  readonly password: string | undefined;
  /** Where the files go, an empty directory; undefined: everything is read and checked alone. */
  readonly directory: string | undefined;
  /** Why so many bytes cannot be taken; undefined: they can. */
  readonly obstacle: (bytes: number) => string | undefined;
  readonly onProgress: (done: number, total: number) => void;
}

const entriesMax = 200_000;
const stored = 0;
const deflated = 8;
/** Entries at once: one is inflated while another is written. */
const lanes = 2;
const writeBytes = 64 << 10;
const syncBytes = 16 << 20;
const datasync = promisify(fdatasync);

/**
 * Takes the files of an archive out of it, or only reads them. They are durable when it resolves.
 *
 * @returns What the archive says it is.
 * @throws {Refusal} `backup.archive`, naming the entry that is to blame; `storage.full`. What was
 *   written until then is for the caller to remove.
 */
export async function readArchive(path: string, options: ReadOptions): Promise<ArchiveManifest> {
  const bytes = new ArchiveBytes(path, options.password);
  const zip = await openDirectory(bytes);
  try {
    const entries = await listEntries(zip);
    const manifest = await readManifest(bytes, zip, entries);
    const files = agreed(entries, manifest);
    const total = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    if (options.directory !== undefined) {
      const obstacle = options.obstacle(total);
      if (obstacle !== undefined) throw new Refusal('storage.full', obstacle);
    }
    await extractAll(files, new Extraction(bytes, zip, options, total));
    if (options.directory !== undefined) syncDirectory(options.directory);
    return manifest;
  } finally {
    zip.close();
  }
}

async function openDirectory(bytes: ArchiveBytes): Promise<ZipFile> {
  try {
    const options = {lazyEntries: true, autoClose: false, strictFileNames: true};
    return await fromRandomAccessReaderPromise(bytes, bytes.size, options);
  } catch (error) {
    bytes.close(() => {});
    throw unusable(`it is cut off or no ZIP archive (${reasonOf(error)})`);
  }
}

/** @throws {Refusal} `backup.archive` for what no archive of ours has in its directory. */
async function listEntries(zip: ZipFile): Promise<ReadonlyMap<string, Entry>> {
  if (zip.entryCount > entriesMax) throw unusable(`it says that it has ${zip.entryCount} entries`);
  const entries = new Map<string, Entry>();
  try {
    for await (const entry of zip.eachEntry()) {
      checkEntry(entry);
      if (entries.has(entry.fileName)) throw unusable('its name occurs twice', entry.fileName);
      entries.set(entry.fileName, entry);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    // The reader names the entry, where one is to blame.
    throw unusable(reasonOf(error));
  }
  checkPlaces([...entries.values()]);
  return entries;
}

function checkEntry(entry: Entry): void {
  const name = entry.fileName;
  const mode = entry.externalFileAttributes >>> 16;
  if ((mode & 0o170000) === 0o120000) throw unusable('it is a link', name);
  if (name.includes('/')) throw unusable('it lies in a directory', name);
  if (entry.isEncrypted()) throw unusable('it is encrypted by itself', name);
  if (entry.compressionMethod !== stored && entry.compressionMethod !== deflated) {
    throw unusable(`it is compressed by method ${entry.compressionMethod}`, name);
  }
}

/** Entries that share bytes make a small archive a huge one. */
function checkPlaces(entries: readonly Entry[]): void {
  const ordered = [...entries].sort(
    (left, right) => left.relativeOffsetOfLocalHeader - right.relativeOffsetOfLocalHeader,
  );
  let end = 0;
  for (const entry of ordered) {
    const at = entry.relativeOffsetOfLocalHeader;
    if (at < end) throw unusable('it shares its bytes with another entry', entry.fileName);
    end = at + localHeaderBytes + entry.fileNameRaw.length + entry.compressedSize;
  }
}

/** The header of a file without its name and what follows it. */
const localHeaderBytes = 30;

async function readManifest(
  bytes: ArchiveBytes,
  zip: ZipFile,
  entries: ReadonlyMap<string, Entry>,
): Promise<ArchiveManifest> {
  const entry = entries.get(manifestName);
  if (entry === undefined) {
    throw unusable(`it has no ${manifestName}: it was made by another program`);
  }
  if (entry.uncompressedSize > manifestBytesMax) throw unusable('it is too large', manifestName);
  const parts: Buffer[] = [];
  await readEntry(bytes, zip, entry, part => void parts.push(part));
  const {key} = bytes;
  const isSigned = key && ((text: string, sign: string): boolean => key.isSigned(text, sign));
  return decodeManifest(Buffer.concat(parts), isSigned);
}

interface AgreedFile {
  readonly entry: Entry;
  readonly file: ArchivedFile;
}

/** Every entry is in the manifest, every file of the manifest is an entry, of the same size. */
function agreed(
  entries: ReadonlyMap<string, Entry>,
  manifest: ArchiveManifest,
): readonly AgreedFile[] {
  const files = manifest.files.map(file => {
    const entry = entries.get(file.name);
    if (entry === undefined) throw unusable('it is missing', file.name);
    if (entry.uncompressedSize !== file.bytes) {
      throw unusable(
        `its size is ${entry.uncompressedSize}, and ${file.bytes} in the manifest`,
        file.name,
      );
    }
    return {entry, file};
  });
  const listed = new Set([manifestName, ...files.map(({file}) => file.name)]);
  for (const name of entries.keys()) {
    if (!listed.has(name)) throw unusable('the manifest does not list it', name);
  }
  return files;
}

async function extractAll(files: readonly AgreedFile[], extraction: Extraction): Promise<void> {
  const waiting = [...files];
  const work = Array.from({length: lanes}, async () => {
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        await extraction.extract(next);
      }
    } catch (error) {
      // The other lane would only go on for nothing.
      waiting.length = 0;
      throw error;
    }
  });
  for (const result of await Promise.allSettled(work)) {
    if (result.status === 'rejected') throw result.reason;
  }
}

class Extraction {
  readonly #bytes: ArchiveBytes;
  readonly #zip: ZipFile;
  readonly #options: ReadOptions;
  readonly #total: number;
  #done = 0;

  constructor(bytes: ArchiveBytes, zip: ZipFile, options: ReadOptions, total: number) {
    this.#bytes = bytes;
    this.#zip = zip;
    this.#options = options;
    this.#total = total;
  }

  async extract({entry, file}: AgreedFile): Promise<void> {
    const {directory} = this.#options;
    const target = directory === undefined ? undefined : new TargetFile(join(directory, file.name));
    try {
      const hash = createHash('sha256');
      await readEntry(this.#bytes, this.#zip, entry, async part => {
        hash.update(part);
        this.#done += part.length;
        this.#options.onProgress(this.#done, this.#total);
        await target?.write(part);
      });
      if (hash.digest('hex') !== file.sha256) {
        throw unusable('its bytes do not have the checksum of the manifest', file.name);
      }
      await target?.finish();
    } finally {
      target?.close();
    }
  }
}

/** The bytes of an entry, inflated, none beyond the size that it says; its CRC-32 is checked. */
async function readEntry(
  bytes: ArchiveBytes,
  zip: ZipFile,
  entry: Entry,
  take: (part: Buffer) => Promise<void> | void,
): Promise<void> {
  const {fileName} = entry;
  let size = 0;
  let checksum = 0;
  const takeAll = async (parts: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<void> => {
    for await (const part of parts) {
      size += part.length;
      if (size > entry.uncompressedSize) throw unusable('it is larger than it says', fileName);
      checksum = crc32(part, checksum);
      await take(part);
    }
  };
  try {
    const start = await startOf(zip, entry);
    const portions = bytes.portions(start, start + entry.compressedSize);
    if (entry.compressionMethod === stored) await takeAll(portions);
    else {
      const inflate = createInflateRaw({chunkSize: 256 << 10});
      await pipeline(Readable.from(portions), inflate, parts => takeAll(parts));
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (isOfFiles(error)) throw error;
    throw unusable(`it cannot be read (${reasonOf(error)})`, fileName);
  }
  if (size < entry.uncompressedSize) throw unusable('it is smaller than it says', fileName);
  if (checksum !== entry.crc32) throw unusable('its CRC-32 is wrong', fileName);
}

/** Where the bytes of an entry begin. Other programs believe this header, not the directory's. */
async function startOf(zip: ZipFile, entry: Entry): Promise<number> {
  const header = await zip.readLocalFileHeaderPromise(entry);
  if (!header.fileName.equals(entry.fileNameRaw)) {
    throw unusable('it has another name in front of its bytes', entry.fileName);
  }
  return header.fileDataStart;
}

/** A file that is made durable as it grows, as an archive is. */
class TargetFile {
  readonly #descriptor: number;
  #at = 0;
  #unsynced = 0;

  constructor(path: string) {
    this.#descriptor = openSync(path, 'wx', 0o600);
  }

  async write(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      const count = Math.min(writeBytes, bytes.length - from);
      from += writeSync(this.#descriptor, bytes, from, count, this.#at + from);
    }
    this.#at += bytes.length;
    this.#unsynced += bytes.length;
    if (this.#unsynced < syncBytes) return;
    this.#unsynced = 0;
    await datasync(this.#descriptor);
  }

  async finish(): Promise<void> {
    await datasync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

function isOfFiles(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
