/**
 * The rings by which entries reach the log thread and the apply thread: the network thread writes,
 * without a message for an entry. What it writes in a turn is seen when it publishes it.
 *
 * A record is a length, a chain value and the entry, rounded up to 8 bytes. Of the log's ring the
 * log thread fills in the chain values; the network thread reads them behind it, and gives the room
 * back. A record never wraps: the rest of the ring is skipped instead. Cursors count bytes modulo
 * 2^32. An entry too large for the ring lies in shared memory of its own, sent ahead in a message;
 * the ring then holds its number. Invariant N1: applied <= logged <= head <= applied + capacity,
 * each advanced by its owner alone, after the bytes it speaks of are written.
 */
import {assert} from '#server/base/assert.ts';

/** Places in the control words. */
export const word = {
  head: 0,
  logged: 1,
  applied: 2,
  /** Entries applied, modulo 2^32. */
  appliedCount: 3,
  /** Changed whenever the reading thread has something to look at; it waits on this word. */
  signal: 4,
  /** 1 while a message to the network thread is under way. */
  notified: 5,
  /** 1 once the log has failed. */
  failed: 6,
  /** Entries whose application has begun, modulo 2^32: readers may see them from now on. */
  begunCount: 7,
  /** 1 once a full disk is not waited for any more. */
  stopsWaiting: 8,
} as const;

export interface RingMemory {
  readonly control: SharedArrayBuffer;
  readonly bytes: SharedArrayBuffer;
}

/** Nothing was written for so long: a log thread has time for something else. */
export const quietMs = 20;

const controlBytes = 64;
const headerBytes = 8;
const chainAt = 4;
const skipMark = 0xffff_ffff;
/** Set in a length: the entry lies outside under the number that follows. */
const outsideMark = 0x8000_0000;

/** `capacity` is a power of two. */
export function createRingMemory(capacity: number): RingMemory {
  assert((capacity & (capacity - 1)) === 0, 'the capacity is a power of two');
  return {
    control: new SharedArrayBuffer(controlBytes),
    bytes: new SharedArrayBuffer(capacity),
  };
}

/** Entries above this go outside the ring. */
export function entryBytesInside(memory: RingMemory): number {
  return memory.bytes.byteLength / 8;
}

export class RingWriter {
  readonly #control: Int32Array;
  readonly #bytes: Buffer;
  #head = 0;

  constructor(memory: RingMemory) {
    this.#control = new Int32Array(memory.control);
    this.#bytes = Buffer.from(memory.bytes);
  }

  /** Whether an entry of `bytes` inside the ring fits now. */
  hasRoom(bytes: number): boolean {
    // A skip may waste as much as the record itself takes.
    return this.usedBytes + 2 * recordBytes(bytes) <= this.#bytes.length;
  }

  /** The reading thread gives up where a disk is full. */
  stopWaiting(): void {
    Atomics.store(this.#control, word.stopsWaiting, 1);
  }

  /** Bytes that are not given back yet. */
  get usedBytes(): number {
    return (this.#head - Atomics.load(this.#control, word.applied)) >>> 0;
  }

  get head(): number {
    return this.#head;
  }

  /** Whether everything is carried out. */
  get isEmpty(): boolean {
    return Atomics.load(this.#control, word.applied) >>> 0 === this.#head;
  }

  /**
   * What is written so far may be read; whoever waits for it is not woken by this. Until then the
   * entries of one turn stay together: a reader that comes by in the middle of it leaves them.
   */
  publish(): void {
    Atomics.store(this.#control, word.head, this.#head | 0);
  }

  /** `chain` stands until a log thread fills in its own. */
  write(entry: Uint8Array, chain: number): void {
    const at = this.#place(recordBytes(entry.length));
    this.#bytes.writeUInt32LE(entry.length, at);
    this.#bytes.writeUInt32LE(chain >>> 0, at + chainAt);
    this.#bytes.set(entry, at + headerBytes);
    this.#advance(recordBytes(entry.length));
  }

  /** Works like `write` for a record that lies in two pieces, the first of which is short. */
  writePieces(head: Uint8Array, body: Uint8Array): void {
    const length = head.length + body.length;
    const at = this.#place(recordBytes(length));
    this.#bytes.writeUInt32LE(length, at);
    const bodyAt = at + headerBytes + head.length;
    // A call to copy costs more than a few bytes.
    for (let place = 0; place < head.length; place++) {
      this.#bytes[at + headerBytes + place] = head[place] as number;
    }
    if (body.length > 0) this.#bytes.set(body, bodyAt);
    this.#advance(recordBytes(length));
  }

  /** The entry lies in shared memory that both threads were sent under `number`. */
  writeOutside(number: number, chain: number): void {
    const at = this.#place(recordBytes(4));
    this.#bytes.writeUInt32LE(outsideMark, at);
    this.#bytes.writeUInt32LE(chain >>> 0, at + chainAt);
    this.#bytes.writeUInt32LE(number, at + headerBytes);
    this.#advance(recordBytes(4));
  }

  #place(bytes: number): number {
    const capacity = this.#bytes.length;
    const at = this.#head % capacity;
    if (at + bytes <= capacity) return at;
    this.#bytes.writeUInt32LE(skipMark, at);
    this.#head = (this.#head + capacity - at) >>> 0;
    return 0;
  }

  #advance(bytes: number): void {
    this.#head = (this.#head + bytes) >>> 0;
  }
}

export interface RingRecord {
  /** Points into shared memory until the reader advances. */
  readonly payload: Buffer;
  readonly chain: number;
  /** Where the chain value goes. */
  readonly at: number;
  /** Number of an entry outside the ring, or undefined. */
  readonly outside: number | undefined;
}

export class RingReader {
  readonly #control: Int32Array;
  readonly #bytes: Buffer;
  readonly #source: number;
  readonly #own: number;
  readonly #outside: ReadonlyMap<number, Buffer>;
  #cursor = 0;

  /** Reads up to the cursor `source`, and publishes its own as `own`. */
  constructor(
    memory: RingMemory,
    words: {readonly source: number; readonly own: number},
    outside: ReadonlyMap<number, Buffer>,
  ) {
    this.#control = new Int32Array(memory.control);
    this.#bytes = Buffer.from(memory.bytes);
    this.#source = words.source;
    this.#own = words.own;
    this.#outside = outside;
  }

  /** Whether a full disk is waited for: until the server closes. */
  get waitsForRoom(): boolean {
    return Atomics.load(this.#control, word.stopsWaiting) === 0;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Where the records that wait now end. What they need from outside was sent before. */
  get end(): number {
    return Atomics.load(this.#control, this.#source) >>> 0;
  }

  /**
   * Records up to `end`, at most `countMax` and about `bytesMax`; `advance` gives them back.
   * Receive messages between reading `end` and taking.
   */
  take(
    end: number,
    countMax: number,
    bytesMax: number,
  ): {readonly records: RingRecord[]; readonly to: number} {
    const records: RingRecord[] = [];
    let cursor = this.#cursor;
    let bytes = 0;
    while (cursor !== end && records.length < countMax && bytes < bytesMax) {
      cursor = recordFrom(this.#bytes, cursor);
      const at = cursor % this.#bytes.length;
      const length = this.#bytes.readUInt32LE(at);
      const record = length === outsideMark ? this.#readOutside(at) : this.#readInside(at, length);
      records.push(record);
      bytes += record.payload.length;
      cursor = recordEnd(cursor, length);
    }
    return {records, to: cursor};
  }

  writeChain(record: RingRecord, chain: number): void {
    this.#bytes.writeUInt32LE(chain, record.at + chainAt);
  }

  advance(to: number): void {
    this.#cursor = to;
    Atomics.store(this.#control, this.#own, to | 0);
  }

  #readInside(at: number, length: number): RingRecord {
    return {
      payload: this.#bytes.subarray(at + headerBytes, at + headerBytes + length),
      chain: this.#bytes.readUInt32LE(at + chainAt),
      at,
      outside: undefined,
    };
  }

  #readOutside(at: number): RingRecord {
    const outside = this.#bytes.readUInt32LE(at + headerBytes);
    const payload = this.#outside.get(outside);
    assert(payload !== undefined, 'an entry outside the ring was sent ahead');
    return {payload, chain: this.#bytes.readUInt32LE(at + chainAt), at, outside};
  }
}

/** Reads, after the log thread, which chain values it gave to the records of its ring. */
export class ChainReader {
  readonly #control: Int32Array;
  readonly #bytes: Buffer;
  #cursor = 0;

  constructor(memory: RingMemory) {
    this.#control = new Int32Array(memory.control);
    this.#bytes = Buffer.from(memory.bytes);
  }

  /** Calls `visit` for each record that was logged since, in order, and gives its room back. */
  pass(visit: (chain: number) => void): void {
    const end = Atomics.load(this.#control, word.logged) >>> 0;
    while (this.#cursor !== end) {
      const from = recordFrom(this.#bytes, this.#cursor);
      const at = from % this.#bytes.length;
      visit(this.#bytes.readUInt32LE(at + chainAt));
      this.#cursor = recordEnd(from, this.#bytes.readUInt32LE(at));
    }
    Atomics.store(this.#control, word.applied, end | 0);
  }
}

/** Wakes the thread that reads the ring. */
export function signal(control: Int32Array): void {
  Atomics.add(control, word.signal, 1);
  Atomics.notify(control, word.signal);
}

/** What an entry takes of the ring. */
export function recordBytes(payloadBytes: number): number {
  return (headerBytes + payloadBytes + 7) & ~7;
}

/** The bytes in memory that another thread can see: where they lie in some of their own, that. */
export function sharedBytes(entry: Uint8Array): SharedArrayBuffer {
  const {buffer} = entry;
  if (buffer instanceof SharedArrayBuffer && buffer.byteLength === entry.length) return buffer;
  const bytes = new SharedArrayBuffer(entry.length);
  new Uint8Array(bytes).set(entry);
  return bytes;
}

/** Where the record behind `cursor` begins: the rest of the ring may be skipped. */
function recordFrom(ring: Buffer, cursor: number): number {
  const at = cursor % ring.length;
  return ring.readUInt32LE(at) === skipMark ? (cursor + ring.length - at) >>> 0 : cursor;
}

/** The cursor behind a record that begins at `cursor` with this length. */
function recordEnd(cursor: number, length: number): number {
  return (cursor + recordBytes(length === outsideMark ? 4 : length)) >>> 0;
}
