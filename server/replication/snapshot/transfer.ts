/**
 * The files of a snapshot, fetched into their places: several at a time, each received, checked
 * and written in one go, and made durable while the next bytes come.
 *
 * An order and its result are plain values, since this takes all of a thread: it writes and reads
 * checksums without giving way. What lies in a place from an earlier attempt is continued (a part
 * of a file) or asked about (a whole one); a file that turns out to be another one is fetched from
 * its beginning, once. Nothing is believed before its checksum, which follows the bytes.
 */
import {closeSync, fstatSync, fdatasync, openSync, rmSync, writeSync} from 'node:fs';
import {promisify} from 'node:util';
import {Corruption} from '#server/base/errors.ts';
import {type Checksummer, checksumOfFile, writtenChecksum} from './file-checksum.ts';
import {FileConnection, type FileTaker} from './file-connection.ts';
import {PeerFailure, type PeerEndpoint} from './peer-requests.ts';

export interface TransferOrder {
  readonly endpoint: PeerEndpoint;
  /** How long a connection may bring nothing. */
  readonly idleMs: number;
  readonly hold: string;
  readonly files: readonly TransferFile[];
}

export interface TransferFile {
  readonly databaseId: number;
  readonly name: string;
  readonly bytes: number;
  readonly path: string;
}

export interface Transferred {
  /** That came over the network; the rest was here. */
  readonly bytesReceived: number;
  readonly filesKept: number;
}

/** The length of the checksum after the bytes of a file; the most significant byte comes first. */
export const checksumBytes = 4;

const filesAtOnce = 3;
/**
 * The disk is told to make a file durable after each so much of it: left to the end, it
 * would begin when the last byte has come, and hold up every other sync on that disk for long.
 */
const syncBytes = 16 << 20;
/**
 * The system takes memory for a file in pieces as large as the writes. Large ones come from where a
 * virtual machine gives free memory back to its host, and are slow to write to for the first time.
 */
const writeBytes = 64 << 10;
const datasync = promisify(fdatasync);

/**
 * Everything is durable when it resolves, but for the directories.
 *
 * @throws {PeerFailure} when the peer cannot be asked or broke off: may be tried again, and goes
 *   on where this ended.
 * @throws {Corruption} when a file does not have its checksum.
 */
export async function transferFiles(
  order: TransferOrder,
  checksummer: Checksummer,
): Promise<Transferred> {
  const waiting = [...order.files];
  const total = {bytesReceived: 0, filesKept: 0};
  const lanes = Array.from({length: Math.min(filesAtOnce, waiting.length)}, async () => {
    const lane = new Lane(order, checksummer, total);
    try {
      for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
        await lane.fetch(file);
      }
    } catch (error) {
      // The others would only go on for nothing.
      waiting.length = 0;
      throw error;
    } finally {
      lane.close();
    }
  });
  const results = await Promise.allSettled(lanes);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return total;
}

type Mutable<T> = {-readonly [K in keyof T]: T[K]};

class Lane {
  readonly #order: TransferOrder;
  readonly #checksummer: Checksummer;
  readonly #total: Mutable<Transferred>;
  readonly #connection: FileConnection;

  constructor(order: TransferOrder, checksummer: Checksummer, total: Mutable<Transferred>) {
    this.#order = order;
    this.#checksummer = checksummer;
    this.#total = total;
    this.#connection = new FileConnection(order.endpoint, order.idleMs);
  }

  async fetch(file: TransferFile): Promise<void> {
    if (await this.#fetchRest(file)) return;
    // What lay here was no part of it.
    rmSync(file.path, {force: true});
    if (await this.#fetchRest(file)) return;
    throw new Corruption(`the file ${file.name} of the snapshot does not have its checksum`);
  }

  close(): void {
    this.#connection.close();
  }

  /** Whether the file is whole, durable and the giver's now. */
  async #fetchRest(file: TransferFile): Promise<boolean> {
    const arriving = new ArrivingFile(file, this.#checksummer);
    try {
      if (arriving.isTooLong) return false;
      const {hold} = this.#order;
      const path = `/api/v1/ha/checkpoint/${hold}/${file.databaseId}/${file.name}`;
      await this.#connection.get({path, headers: arriving.condition}, arriving);
      return await arriving.finish();
    } finally {
      this.#total.bytesReceived += arriving.bytesReceived;
      this.#total.filesKept += arriving.isKept ? 1 : 0;
      await arriving.close();
    }
  }
}

/** One file while it comes: what is there of it, and the checksum of that. */
class ArrivingFile implements FileTaker {
  readonly isTooLong: boolean;
  bytesReceived = 0;
  /** It was here, and is the giver's. */
  isKept = false;
  readonly #file: TransferFile;
  readonly #checksummer: Checksummer;
  #descriptor: number;
  #bytes: number;
  #checksum: number;
  readonly #given: Buffer = Buffer.alloc(checksumBytes);
  #givenBytes = 0;
  #unsynced = 0;
  #syncing: Promise<void> | undefined;

  constructor(file: TransferFile, checksummer: Checksummer) {
    this.#file = file;
    this.#checksummer = checksummer;
    this.#descriptor = openSync(file.path, 'a+');
    this.#bytes = fstatSync(this.#descriptor).size;
    this.isTooLong = this.#bytes > file.bytes;
    this.#checksum = this.isTooLong
      ? 0
      : checksumOfFile(this.#descriptor, this.#bytes, checksummer);
  }

  /** Asks for what is missing, or whether what is here is the same. */
  get condition(): Record<string, string> {
    if (this.#bytes === this.#file.bytes) {
      return {'If-None-Match': `"${writtenChecksum(this.#checksum)}"`};
    }
    return this.#bytes > 0 ? {Range: `bytes=${this.#bytes}-`} : {};
  }

  begin(status: number, bodyBytes: number): void {
    const {name, bytes} = this.#file;
    const isWhole = this.#bytes === bytes;
    if (status === 304 && isWhole) {
      this.isKept = true;
      return;
    }
    if (status === 200) {
      // All of it is sent when what was here is not the same.
      this.#beginAnew();
    } else if (status !== 206 || isWhole) {
      throw new PeerFailure(`${name} was answered ${status}`);
    }
    if (bodyBytes === bytes - this.#bytes + checksumBytes) return;
    throw new Corruption(`the file ${name} of the snapshot does not have the length that it says`);
  }

  /** What was here may be the file of another copy under a second name: it is not written to. */
  #beginAnew(): void {
    if (this.#bytes === 0) return;
    closeSync(this.#descriptor);
    rmSync(this.#file.path);
    this.#descriptor = openSync(this.#file.path, 'a+');
    this.#bytes = 0;
    this.#checksum = 0;
  }

  take(piece: Buffer): void {
    const part = piece.subarray(0, this.#file.bytes - this.#bytes);
    if (part.length > 0) this.#write(part);
    this.#givenBytes += piece.copy(this.#given, this.#givenBytes, part.length);
  }

  /** Makes it durable and tells whether it has the checksum that came with it. */
  async finish(): Promise<boolean> {
    await this.#syncing;
    await datasync(this.#descriptor);
    return this.isKept || this.#given.readUInt32BE() === this.#checksum;
  }

  async close(): Promise<void> {
    await this.#syncing?.catch(() => {});
    closeSync(this.#descriptor);
  }

  #write(part: Buffer): void {
    for (let at = 0; at < part.length; ) {
      const bytes = part.subarray(at, at + writeBytes);
      this.#checksum = this.#checksummer(bytes, this.#checksum);
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done);
      at += bytes.length;
    }
    this.#bytes += part.length;
    this.bytesReceived += part.length;
    this.#unsynced += part.length;
    if (this.#unsynced < syncBytes || this.#syncing !== undefined) return;
    this.#unsynced = 0;
    // One that failed stays: `finish` fails with it, since the system tells of it only once.
    this.#syncing = datasync(this.#descriptor).then(() => {
      this.#syncing = undefined;
    });
    this.#syncing.catch(() => {});
  }
}
