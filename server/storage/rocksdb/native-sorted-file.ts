/**
 * Builds an SST file for `ingest` through the native binding: rows are collected packed and cross
 * a megabyte at a time. The file is made at the first full buffer or at `finish`, so a writer
 * without rows leaves nothing.
 */
import {rmSync} from 'node:fs';
import {assert} from '#server/base/assert.ts';
import {AscendingKeys} from '../sorted-rows.ts';
import type {SortedFileWriter} from '../store.ts';
import type {NativeBinding} from './native.ts';

const bufferBytes = 1 << 20;

export class NativeSortedFile implements SortedFileWriter {
  readonly #binding: NativeBinding;
  readonly #client: number;
  readonly #path: string;
  readonly #order = new AscendingKeys();
  #buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #used = 0;
  #writer: number | undefined;
  #ended = false;

  constructor(binding: NativeBinding, client: number, path: string) {
    this.#binding = binding;
    this.#client = client;
    this.#path = path;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    assert(!this.#ended, 'the sorted file is finished');
    this.#order.check(key);
    const bytes = 8 + key.length + value.length;
    if (this.#used + bytes > this.#buffer.length) this.#flush();
    if (bytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(bytes);
    const buffer = this.#buffer;
    let offset = buffer.writeUInt32LE(key.length, this.#used);
    offset = buffer.writeUInt32LE(value.length, offset);
    buffer.set(key, offset);
    buffer.set(value, offset + key.length);
    this.#used += bytes;
  }

  finish(): number {
    assert(!this.#ended, 'the sorted file is finished');
    this.#flush();
    this.#ended = true;
    if (this.#writer === undefined) return 0;
    return this.#binding.finishSortedFile(this.#client, this.#writer);
  }

  abandon(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#writer === undefined) return;
    this.#binding.abandonSortedFile(this.#client, this.#writer);
    rmSync(this.#path, {force: true});
  }

  #flush(): void {
    if (this.#used === 0) return;
    this.#writer ??= this.#binding.openSortedFile(this.#client, this.#path);
    this.#binding.putSortedRows(this.#client, this.#writer, this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }
}
