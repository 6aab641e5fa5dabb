/**
 * The one WriteBatch of all three stores: operations packed back to back in one growing buffer.
 *
 * The bytes are those of a RocksDB write batch (12 header bytes whose last four count the
 * operations; then a tag and length-prefixed slices), a format that RocksDB keeps stable because
 * its log holds it. So the native store hands them over without looking at them, and the other
 * two walk them with `forEachOperation`. Source: rocksdb `db/write_batch.cc`, "rep_".
 */
import {assert} from '#server/base/assert.ts';
import type {WriteBatch} from './store.ts';

const headerBytes = 12;
const countOffset = 8;
const lengthBytesMax = 5;
const capacityKeptMax = 4 << 20;
const tagDelete = 0x0;
const tagPut = 0x1;
const tagDeleteRange = 0xf;

/** Receives the operations of a batch in order; the arrays point into the batch's buffer. */
export interface OperationVisitor {
  put(key: Uint8Array, value: Uint8Array): void;
  delete(key: Uint8Array): void;
  deleteRange(start: Uint8Array, end: Uint8Array): void;
}

/** Copies every key and value; the caller may reuse its arrays at once. */
export class PackedBatch implements WriteBatch {
  #buffer = Buffer.alloc(1024);
  #length = headerBytes;
  #count = 0;

  get operationCount(): number {
    return this.#count;
  }

  get byteLength(): number {
    return this.#length;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#append(tagPut, key, value);
  }

  delete(key: Uint8Array): void {
    this.#append(tagDelete, key, undefined);
  }

  /** A range that holds nothing (start >= end) is left out. */
  deleteRange(start: Uint8Array, end: Uint8Array): void {
    if (Buffer.compare(start, end) >= 0) return;
    this.#append(tagDeleteRange, start, end);
  }

  /** The bytes must be whole operations as `put`, `delete` and `deleteRange` pack them. */
  appendPacked(operations: Uint8Array, count: number): void {
    if (this.#length + operations.length > this.#buffer.length) {
      this.#grow(this.#length + operations.length);
    }
    this.#buffer.set(operations, this.#length);
    this.#length += operations.length;
    this.#count += count;
  }

  clear(): void {
    if (this.#buffer.length > capacityKeptMax) this.#buffer = Buffer.alloc(1024);
    this.#length = headerBytes;
    this.#count = 0;
  }

  /** The packed bytes with the count filled in; valid until the batch is changed. */
  packed(): Buffer {
    this.#buffer.writeUInt32LE(this.#count, countOffset);
    return this.#buffer.subarray(0, this.#length);
  }

  /** Calls `visitor` for every operation in the order they were added. */
  forEachOperation(visitor: OperationVisitor): void {
    forEachPackedOperation(this.packed(), visitor);
  }

  #append(tag: number, first: Uint8Array, second: Uint8Array | undefined): void {
    assert(tag === tagDeleteRange || first.length > 0, 'a key has at least one byte');
    const bytesMax = 1 + lengthBytesMax * 2 + first.length + (second?.length ?? 0);
    if (this.#length + bytesMax > this.#buffer.length) this.#grow(this.#length + bytesMax);
    this.#buffer[this.#length++] = tag;
    this.#appendSlice(first);
    if (second !== undefined) this.#appendSlice(second);
    this.#count++;
  }

  #appendSlice(bytes: Uint8Array): void {
    let rest = bytes.length;
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#length++] = rest;
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #grow(bytesNeeded: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(bytesNeeded, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}

/** Calls `visitor` for every operation of the packed bytes of a batch. */
export function forEachPackedOperation(packed: Buffer, visitor: OperationVisitor): void {
  let offset = headerBytes;
  const slice = (): Uint8Array => {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = packed[offset++] ?? 0;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    offset += length;
    return packed.subarray(offset - length, offset);
  };
  while (offset < packed.length) {
    const tag = packed[offset++];
    const first = slice();
    if (tag === tagPut) visitor.put(first, slice());
    else if (tag === tagDelete) visitor.delete(first);
    else visitor.deleteRange(first, slice());
  }
}
