/**
 * The file of an archive while it is written, from front to back: encrypted where there is a key,
 * and made durable as it grows.
 *
 * Left to the end, a gigabyte that waits for the disk would hold up the sync of every commit for as
 * long as it takes. Writes are small because the system takes memory for a file in pieces as large
 * as they are, and large ones cost several times as much.
 */
import {closeSync, fdatasync, openSync, writeSync} from 'node:fs';
import {promisify} from 'node:util';
import type {ArchiveKey} from './archive-cipher.ts';

const writeBytes = 64 << 10;
const syncBytes = 16 << 20;
const datasync = promisify(fdatasync);

export class ArchiveOutput {
  readonly #descriptor: number;
  readonly #encrypt: ((bytes: Uint8Array) => Buffer) | undefined;
  #at = 0;
  #unsynced = 0;
  #syncing: Promise<void> = Promise.resolve();

  /** Makes the file, which must not exist. */
  constructor(path: string, key: ArchiveKey | undefined) {
    this.#descriptor = openSync(path, 'wx', 0o600);
    this.#encrypt = undefined;
    if (key === undefined) return;
    this.#put(key.header);
    this.#encrypt = key.cipherAt(0);
  }

  /** The bytes of the file so far. */
  get bytes(): number {
    return this.#at;
  }

  /** Resolves when more may be written. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#put(this.#encrypt === undefined ? bytes : this.#encrypt(bytes));
    if (this.#unsynced < syncBytes) return;
    // The disk works on one stretch while the next one is written.
    await this.#syncing;
    this.#unsynced = 0;
    this.#syncing = datasync(this.#descriptor);
    this.#syncing.catch(() => {});
  }

  /** Everything is durable when it resolves, but for the name. */
  async finish(): Promise<void> {
    await this.#syncing;
    await datasync(this.#descriptor);
  }

  async close(): Promise<void> {
    await this.#syncing.catch(() => {});
    closeSync(this.#descriptor);
  }

  #put(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const count = Math.min(writeBytes, bytes.length - from);
      from += writeSync(this.#descriptor, bytes, from, count, this.#at + from);
    }
    this.#at += bytes.length;
    this.#unsynced += bytes.length;
  }
}
