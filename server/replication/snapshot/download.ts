/**
 * Fetches a snapshot from another member into staged directories, so that it may be cut off and
 * begun again anywhere: what is there already is not sent again.
 *
 * Every file ends with its checksum, computed here over what was received and there over what was
 * read, so a file that is kept is the giver's. What lies in a staged directory from an earlier
 * attempt is continued (a part of a file) or asked about (a whole one); a file that turns out to
 * be another one is fetched from its beginning, once. Nothing outside the staged directories is
 * written, and nothing in them believed before it is checked.
 */
import {type FileHandle, mkdir, open, readdir, rm} from 'node:fs/promises';
import type {IncomingMessage} from 'node:http';
import {join} from 'node:path';
import {crc32} from 'node:zlib';
import {Corruption} from '#server/base/errors.ts';
import {
  decodeManifest,
  type SnapshotDatabase,
  type SnapshotFile,
  type SnapshotManifest,
} from './manifest.ts';
import {asPeerFailure, PeerFailure, type PeerRequests} from './peer-requests.ts';

export interface DownloadOptions {
  readonly requests: PeerRequests;
  /** Of this node. */
  readonly receiver: string;
  readonly atLeast: number;
  /** Where the files of a database come together. */
  readonly stagedPath: (databaseId: number) => string;
  /** Only this database; all without it. */
  readonly only?: string;
  /** `svc.ha.snapshotMaxEntrySize`. */
  readonly fileBytesMax: number;
  /** Why so many bytes cannot be taken; undefined: they can. */
  readonly obstacle: (bytes: number) => string | undefined;
  readonly signal?: AbortSignal;
}

export interface Downloaded {
  readonly manifest: SnapshotManifest;
  readonly figures: TransferFigures;
}

export interface TransferFigures {
  /** Of all files of the snapshot. */
  bytes: number;
  /** That came over the network; the rest was here. */
  bytesReceived: number;
  files: number;
  filesKept: number;
}

const manifestBytesMax = 256 << 20;
const filesAtOnce = 3;
const readBytes = 1 << 20;
const writeBytes = 1 << 20;

/**
 * Fetches what is missing; everything is durable when it resolves.
 *
 * @throws {PeerFailure} when the peer cannot be asked or broke off: may be tried again.
 * @throws {Corruption} when what it gives cannot be a snapshot.
 */
export async function downloadSnapshot(options: DownloadOptions): Promise<Downloaded> {
  const {requests, receiver, atLeast} = options;
  const body = JSON.stringify({receiver, atLeast});
  const headers = {'Content-Type': 'application/json'};
  const asked = {method: 'POST', path: '/api/v1/ha/checkpoint', headers, body} as const;
  const {head, text} = await requests.text(asked, manifestBytesMax);
  const hold = head.headers['x-svc-snapshot-hold'];
  if (typeof hold !== 'string' || !/^[0-9a-f]{32}$/.test(hold)) {
    throw new Corruption('the peer gave a snapshot without a number to hold it by');
  }
  try {
    const manifest = decodeManifest(text, options);
    if (manifest.state.durableIndex < atLeast) {
      throw new PeerFailure(`the snapshot ends at ${manifest.state.durableIndex}`);
    }
    return {manifest, figures: await new Transfer(options, hold).fetch(manifest)};
  } finally {
    await letGo(requests, hold);
  }
}

async function letGo(requests: PeerRequests, hold: string): Promise<void> {
  try {
    const answer = await requests.send({method: 'DELETE', path: `/api/v1/ha/checkpoint/${hold}`});
    answer.resume();
  } catch (error) {
    // It ends by itself when nobody reads.
    if (!(error instanceof PeerFailure)) throw error;
  }
}

interface WantedFile extends SnapshotFile {
  readonly databaseId: number;
  readonly path: string;
}

class Transfer {
  readonly #options: DownloadOptions;
  readonly #hold: string;
  readonly #figures: TransferFigures = {bytes: 0, bytesReceived: 0, files: 0, filesKept: 0};

  constructor(options: DownloadOptions, hold: string) {
    this.#options = options;
    this.#hold = hold;
  }

  async fetch(manifest: SnapshotManifest): Promise<TransferFigures> {
    const {only, stagedPath, obstacle} = this.#options;
    const databases = manifest.databases.filter(({name}) => only === undefined || name === only);
    const wanted: WantedFile[] = [];
    for (const database of databases) wanted.push(...(await this.#prepare(database)));
    this.#figures.files = wanted.length;
    this.#figures.bytes = wanted.reduce((sum, {bytes}) => sum + bytes, 0);
    const reason = obstacle(this.#figures.bytes);
    if (reason !== undefined) throw new PeerFailure(`the snapshot is not fetched: ${reason}`);
    const lanes = Array.from({length: filesAtOnce}, () => this.#fetchInTurn(wanted));
    const results = await Promise.allSettled(lanes);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    for (const {id} of databases) await syncDirectory(stagedPath(id));
    return this.#figures;
  }

  /** Makes the directory and removes from it what the snapshot has not. */
  async #prepare(database: SnapshotDatabase): Promise<WantedFile[]> {
    const directory = this.#options.stagedPath(database.id);
    await mkdir(directory, {recursive: true});
    const names = new Set(database.files.map(({name}) => name));
    for (const name of await readdir(directory)) {
      if (!names.has(name)) await rm(join(directory, name), {recursive: true});
    }
    return database.files.map(file => ({
      ...file,
      databaseId: database.id,
      path: join(directory, file.name),
    }));
  }

  /** One of several lanes: takes the next file of the list until there is none. */
  async #fetchInTurn(wanted: WantedFile[]): Promise<void> {
    for (;;) {
      const file = wanted.shift();
      if (file === undefined) return;
      try {
        await this.#fetchFile(file);
      } catch (error) {
        // The others would only go on for nothing.
        wanted.length = 0;
        throw error;
      }
    }
  }

  async #fetchFile(file: WantedFile): Promise<void> {
    if (await this.#fetchRest(file)) return;
    // What lay here was no part of it.
    await rm(file.path, {force: true});
    if (await this.#fetchRest(file)) return;
    throw new Corruption(`the file ${file.name} of the snapshot does not have its checksum`);
  }

  /** Whether the file is whole, durable and the giver's now. */
  async #fetchRest(file: WantedFile): Promise<boolean> {
    const handle = await open(file.path, 'a+');
    try {
      const present = await presentPart(handle, file.bytes);
      if (present === undefined) return false;
      const answer = await this.#ask(file, present);
      if (answer.statusCode === 304) {
        answer.resume();
        this.#figures.filesKept += 1;
        await handle.datasync();
        return true;
      }
      const checksum = await this.#receive(answer, handle, {file, present});
      await handle.datasync();
      return answer.trailers['x-svc-checksum'] === written(checksum);
    } finally {
      await handle.close();
    }
  }

  async #ask(file: WantedFile, present: PresentPart): Promise<IncomingMessage> {
    const path = `/api/v1/ha/checkpoint/${this.#hold}/${file.databaseId}/${file.name}`;
    const headers: Record<string, string> = {};
    const isWhole = present.bytes === file.bytes;
    if (isWhole) headers['If-None-Match'] = `"${written(present.checksum)}"`;
    else if (present.bytes > 0) headers['Range'] = `bytes=${present.bytes}-`;
    const answer = await this.#options.requests.send({method: 'GET', path, headers});
    const expected = isWhole ? [200, 304] : [present.bytes > 0 ? 206 : 200];
    if (expected.includes(answer.statusCode ?? 0)) return answer;
    answer.resume();
    throw new PeerFailure(`${file.name} was answered ${answer.statusCode}`);
  }

  async #receive(
    answer: IncomingMessage,
    handle: FileHandle,
    {file, present}: {readonly file: WantedFile; readonly present: PresentPart},
  ): Promise<number> {
    // All of it is sent when what was here is not the same.
    const isPart = answer.statusCode === 206;
    if (!isPart) await handle.truncate(0);
    let bytes = isPart ? present.bytes : 0;
    let checksum = isPart ? present.checksum : 0;
    const gathered: Buffer[] = [];
    let gatheredBytes = 0;
    try {
      for await (const piece of answer as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes > file.bytes) {
          throw new Corruption(`the file ${file.name} of the snapshot is longer than it says`);
        }
        checksum = crc32(piece, checksum);
        gathered.push(piece);
        gatheredBytes += piece.length;
        if (gatheredBytes < writeBytes && bytes < file.bytes) continue;
        await writeWhole(handle, gathered.splice(0));
        this.#figures.bytesReceived += gatheredBytes;
        gatheredBytes = 0;
        this.#options.signal?.throwIfAborted();
      }
    } catch (error) {
      // What came before the break is not asked for again.
      await writeWhole(handle, gathered);
      this.#figures.bytesReceived += gatheredBytes;
      answer.destroy();
      if (error instanceof Corruption) throw error;
      throw asPeerFailure(error);
    }
    if (bytes === file.bytes) return checksum;
    throw new PeerFailure(`${file.name} ended after ${bytes} of ${file.bytes} bytes`);
  }
}

interface PresentPart {
  readonly bytes: number;
  readonly checksum: number;
}

/** What an earlier attempt left of a file; undefined when it cannot be a part of it. */
async function presentPart(handle: FileHandle, bytesMax: number): Promise<PresentPart | undefined> {
  const {size} = await handle.stat();
  if (size > bytesMax) return undefined;
  const piece = Buffer.allocUnsafe(Math.min(readBytes, Math.max(1, size)));
  let checksum = 0;
  for (let at = 0; at < size; ) {
    const {bytesRead} = await handle.read(piece, 0, piece.length, at);
    checksum = crc32(piece.subarray(0, bytesRead), checksum);
    at += bytesRead;
  }
  return {bytes: size, checksum};
}

/** Pieces come as small as a socket gives them; a call for each would cost more than the bytes. */
async function writeWhole(handle: FileHandle, pieces: readonly Buffer[]): Promise<void> {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (bytes === 0) return;
  const {bytesWritten} = await handle.writev(pieces);
  if (bytesWritten === bytes) return;
  const rest = Buffer.concat(pieces).subarray(bytesWritten);
  await writeWhole(handle, [rest]);
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function written(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}
