/**
 * The operations of one commit, packed as its log entry will hold them (entry.ts).
 *
 * A bulk load writes keys and values straight into their place, so that no object is made for an
 * operation. Only puts; the keys of unique indexes are kept beside them as texts, since others
 * ask for them while the commit is in flight.
 */
import {utf8Bytes} from '#server/base/utf8.ts';
import {isAdjacencyKey, otherEndOf, vertexOf} from '#server/layout/adjacency-key.ts';
import {recordKey} from '#server/layout/record-key.ts';
import type {Rid} from '#server/model/value.ts';
import {KeyOrder, orderedOperationsMax} from './bulk-order.ts';

const tagPut = 0x01;
const lengthBytesMax = 5;

export class PackedOperations {
  bytes: Buffer;
  /** Bytes in use. */
  length = 0;
  count = 0;
  /** Where key and value of the newest put go. */
  keyAt = 0;
  valueAt = 0;
  /** Keys of unique indexes among the puts, one character a byte. */
  readonly uniqueKeys = new Set<string>();

  constructor(capacity: number) {
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Makes room for a put; the caller fills in key and value at `keyAt` and `valueAt`. */
  open(keyLength: number, valueLength: number): void {
    const needed = this.length + 1 + 2 * lengthBytesMax + keyLength + valueLength;
    if (needed > this.bytes.length) this.#grow(needed);
    const {bytes} = this;
    bytes[this.length++] = tagPut;
    this.#varint(keyLength);
    this.keyAt = this.length;
    this.length += keyLength;
    this.#varint(valueLength);
    this.valueAt = this.length;
    this.length += valueLength;
    this.count++;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.open(key.length, value.length);
    copy(key, this.bytes, this.keyAt);
    copy(value, this.bytes, this.valueAt);
  }

  putText(key: Uint8Array, text: string): void {
    this.put(key, utf8Bytes(text));
  }

  /** Puts the operations in about the order of their keys: see bulk-order.ts. Once, at the end. */
  arrange(): void {
    if (this.count > orderedOperationsMax) return;
    const order = new KeyOrder(this.count);
    const starts = new Uint32Array(this.count + 1);
    let seen = 0;
    this.eachKey((keyStart, _keyEnd, start) => {
      order.add(this.bytes, keyStart);
      starts[seen++] = start;
    });
    starts[seen] = this.length;
    const {bytes} = this;
    const arranged = Buffer.allocUnsafeSlow(bytes.length);
    let to = 0;
    for (const number of order.sorted()) {
      const start = starts[number] as number;
      const end = starts[number + 1] as number;
      for (let at = start; at < end; at++) arranged[to++] = bytes[at] as number;
    }
    this.bytes = arranged;
  }

  /** Every key as text, read anew. */
  keyTexts(): ReadonlySet<string> {
    const texts = new Set<string>();
    this.eachKey((start, end) => texts.add(this.bytes.toString('latin1', start, end)));
    return texts;
  }

  /** Ids of the vertices at which its edges begin or end, by the text of their record keys. */
  edgeEnds(): ReadonlyMap<string, Rid> {
    const ends = new Map<string, Rid>();
    this.eachKey(start => {
      if (!isAdjacencyKey(this.bytes, start)) return;
      for (const end of [vertexOf(this.bytes, start), otherEndOf(this.bytes, start)]) {
        ends.set(Buffer.from(recordKey(end)).toString('latin1'), end);
      }
    });
    return ends;
  }

  /** Calls `visit` with where in `bytes` a key begins and ends, and where its operation begins. */
  eachKey(visit: (start: number, end: number, operation: number) => void): void {
    const {bytes} = this;
    let at = 0;
    const size = (): number => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++] as number;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return value;
      }
    };
    while (at < this.length) {
      const operation = at++;
      const keyLength = size();
      visit(at, at + keyLength, operation);
      at += keyLength;
      const valueLength = size();
      at += valueLength;
    }
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}

const shortCopyMax = 32;

/** A loop is faster than a call for keys and small values. */
function copy(from: Uint8Array, into: Uint8Array, offset: number): void {
  if (from.length > shortCopyMax) into.set(from, offset);
  else for (let at = 0; at < from.length; at++) into[offset + at] = from[at] as number;
}
