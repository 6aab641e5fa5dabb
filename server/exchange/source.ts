/**
 * Where the bytes of an import come from: a file or an address, guarded as those of LOAD CSV are,
 * or a file that was sent; plain, in gzip, or the first entry of a ZIP archive.
 *
 * A source is read several times, from its beginning each. What becomes many times as large as it
 * was sent is refused, so that a small file does not fill a day.
 */
import {createReadStream, createWriteStream, mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {createGunzip} from 'node:zlib';
import {openPromise} from 'yauzl';
import {shownAddress} from '#server/base/addresses.ts';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {RequestSources} from '#server/session/request-sources.ts';

export interface ImportSource {
  /** The address that somebody named, without what may be a secret. */
  readonly name: string;
  /** Reads from the beginning, each time. @throws {Refusal} */
  read(): AsyncIterable<Buffer>;
  close(): void;
}

const ratioMax = 500;
const freeBytes = 64 << 20;
const sniffedBytes = 4;

/** @throws {Refusal} `source.address-refused`, `source.unreadable`. */
export async function openAddress(
  address: string,
  sources: RequestSources,
  temporaryPath: string,
): Promise<ImportSource> {
  return await allowed(async () => {
    if (/^https?:/i.test(address)) await sources.fetch(address);
    const raw = (): AsyncIterable<Buffer> => copies(sources.open(address));
    return await unpacked(shownAddress(address), raw, temporaryPath);
  });
}

/**
 * Copies a file or an address, as it is, to a path that is the caller's to remove.
 *
 * @throws {Refusal} `source.address-refused`, `source.unreadable`.
 */
export async function copyAddress(
  address: string,
  sources: RequestSources,
  path: string,
): Promise<void> {
  await allowed(async () => {
    if (/^https?:/i.test(address)) await sources.fetch(address);
    const pieces = Readable.from(copies(sources.open(address)));
    await pipeline(pieces, createWriteStream(path, {mode: 0o600}));
  });
}

/** An address that may not be read is refused in the words of imports. */
async function allowed<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'source.refused') throw error;
    throw new Refusal('source.address-refused', error.message, {cause: error});
  }
}

/** A file that was sent to the server. */
export async function openSent(name: string, path: string): Promise<ImportSource> {
  return await unpacked(name, () => createReadStream(path), `${path}.zip`);
}

/** Portions are overwritten by the next one. */
async function* copies(portions: Iterable<Uint8Array>): AsyncGenerator<Buffer> {
  for (const portion of portions) yield Buffer.from(portion);
}

async function unpacked(
  name: string,
  raw: () => AsyncIterable<Buffer>,
  temporaryPath: string,
): Promise<ImportSource> {
  const start = await startOf(raw());
  const isGzip = start[0] === 0x1f && start[1] === 0x8b;
  const isZip = start.subarray(0, 4).equals(Buffer.from('PK\x03\x04'));
  if (isZip) {
    mkdirSync(join(temporaryPath, '..'), {recursive: true});
    await pipeline(Readable.from(raw()), createWriteStream(temporaryPath, {mode: 0o600}));
    const read = (): AsyncIterable<Buffer> => firstEntry(name, temporaryPath);
    return {name, read, close: () => rmSync(temporaryPath, {force: true})};
  }
  if (isGzip) return {name, read: () => gunzipped(name, raw()), close: () => {}};
  return {name, read: raw, close: () => {}};
}

async function startOf(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  let start: Buffer = Buffer.alloc(0);
  for await (const piece of bytes) {
    start = Buffer.concat([start, piece]);
    if (start.length >= sniffedBytes) break;
  }
  return start;
}

async function* gunzipped(name: string, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const sizes = {read: 0, given: 0};
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const piece of bytes) {
      sizes.read += piece.length;
      yield piece;
    }
  };
  const inflating = Readable.from(counted()).pipe(createGunzip());
  yield* bounded(name, inflating, sizes);
}

async function* firstEntry(name: string, path: string): AsyncGenerator<Buffer> {
  try {
    const zip = await openPromise(path, {lazyEntries: true, autoClose: false});
    try {
      for await (const entry of zip.eachEntry()) {
        if (entry.fileName.endsWith('/')) continue;
        const sizes = {read: entry.compressedSize, given: 0};
        yield* bounded(name, await zip.openReadStreamPromise(entry), sizes);
        return;
      }
    } finally {
      zip.close();
    }
  } catch (error) {
    throw unreadable(name, error);
  }
  throw new Refusal('source.unreadable', `'${name}' is an archive without a file`);
}

async function* bounded(
  name: string,
  pieces: AsyncIterable<Buffer>,
  sizes: {readonly read: number; given: number},
): AsyncGenerator<Buffer> {
  try {
    for await (const piece of pieces) {
      sizes.given += piece.length;
      if (sizes.given > freeBytes && sizes.given > sizes.read * ratioMax) {
        const what = `becomes more than ${ratioMax} times as large as it is`;
        throw new Refusal('source.unreadable', `'${name}' ${what}`);
      }
      yield piece;
    }
  } catch (error) {
    throw unreadable(name, error);
  }
}

function unreadable(name: string, error: unknown): unknown {
  if (error instanceof Refusal) return error;
  return new Refusal('source.unreadable', `'${name}' cannot be unpacked: ${reasonOf(error)}`);
}
