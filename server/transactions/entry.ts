/**
 * One log entry as bytes: physical, idempotent, the same on every node.
 *
 * Layout: version u8, kind u8, then varints and slices (varint length, bytes): database id,
 * schema version, clock (u64 little endian), new schema version + 1 (0: none), request id,
 * counters, operation count, operations to the end. The operations of a transaction are packed
 * the way a store's batch packs them (storage/packed-batch.ts), so that apply may copy them as
 * they are. Server-level entries hold a JSON head and raw bytes instead.
 *
 * Invariant T2: an entry of a version or kind that this build does not know stops the node.
 * Source: docs/design/0006-conflicts-by-log-index.md.
 */
import {assert} from '#server/base/assert.ts';
import {Corruption} from '#server/base/errors.ts';
import type {PackedOperations} from './bulk-operations.ts';
import {DeleteWrite, PutWrite} from './own-writes/point-write.ts';
import type {CounterKind} from './system-keys.ts';

const entryVersion = 1;

export const entryKinds = {
  transaction: 1,
  'create-database': 2,
  'drop-database': 3,
  'attach-database': 4,
  'put-document': 5,
  'format-level': 6,
  /** Takes the place of an entry that was lost while `svc.txWalFlush` was below 2. */
  nothing: 7,
} as const;
export type EntryKind = keyof typeof entryKinds;

const kindNames = new Map<number, EntryKind>(
  Object.entries(entryKinds).map(([name, code]) => [code, name as EntryKind]),
);

/** Tags of packed operations: those of storage/packed-batch.ts. */
const tags = {delete: 0x00, put: 0x01, deleteRange: 0x0f} as const;

export interface Counter {
  readonly kind: CounterKind;
  readonly bucketId: number;
  /** The value after this entry. */
  readonly value: number;
}

/** What an entry adds besides keys and values. */
export interface EntryHead {
  readonly kind: EntryKind;
  /** 0 for server-level entries. */
  readonly databaseId: number;
  readonly schemaVersion: number;
  /** The leader's wall clock in milliseconds. */
  readonly clock: number;
  readonly newSchemaVersion: number | undefined;
  readonly requestId: string | undefined;
  readonly counters: readonly Counter[];
}

export interface Entry extends EntryHead {
  readonly operationCount: number;
  /** Points into the entry's bytes. */
  readonly operations: Buffer;
}

export type EntryOperation =
  | {readonly kind: 'put'; readonly key: Uint8Array; readonly value: Uint8Array}
  | {readonly kind: 'delete'; readonly key: Uint8Array}
  | {readonly kind: 'delete-range'; readonly start: Uint8Array; readonly end: Uint8Array};

const sliceOverhead = 5;
/** Up to here a loop is faster than a call. */
const loopBytesMax = 40;
const counterBytesMax = 1 + 5 + 8;

function headBytesMax({requestId, counters}: EntryHead): number {
  return 64 + (requestId?.length ?? 0) * 3 + counters.length * counterBytesMax;
}

/** Writes entries into one growing buffer; the bytes are valid until the next `encode`. */
export class EntryEncoder {
  #buffer = Buffer.allocUnsafeSlow(16 << 10);
  #at = 0;

  /** @param bytesExpected - Of the operations, where it is known: room is made once then. */
  encode(head: EntryHead, operations: readonly EntryOperation[], bytesExpected = 0): Buffer {
    this.#at = 0;
    this.#reserve(headBytesMax(head) + bytesExpected + 4 * operations.length);
    this.#writeHead(head, operations.length);
    for (const operation of operations) this.#writeOperation(operation);
    return this.#finish();
  }

  /** Works like `encode` for operations that are packed already, and `more` behind them. */
  encodePacked(
    head: EntryHead,
    operations: PackedOperations,
    more: readonly EntryOperation[] = [],
  ): Buffer {
    this.#at = 0;
    const {bytes, length, count} = operations;
    this.#reserve(headBytesMax(head) + length);
    this.#writeHead(head, count + more.length);
    this.#at += bytes.copy(this.#buffer, this.#at, 0, length);
    for (const operation of more) this.#writeOperation(operation);
    return this.#finish();
  }

  /** A server-level entry: `head` as JSON and bytes that JSON would only blow up. */
  encodeServer(kind: EntryKind, clock: number, body: ServerBody): Buffer {
    const json = Buffer.from(JSON.stringify(body.head), 'utf8');
    this.#at = 0;
    this.#reserve(64 + json.length + body.bytes.length + 2 * sliceOverhead);
    this.#writeHead({kind, databaseId: 0, schemaVersion: 0, clock, ...noExtras}, 0);
    this.#slice(json);
    this.#slice(body.bytes);
    return this.#finish();
  }

  #finish(): Buffer {
    const entry = this.#buffer.subarray(0, this.#at);
    if (this.#at > 4 << 20) this.#buffer = Buffer.allocUnsafeSlow(16 << 10);
    return entry;
  }

  #writeHead(head: EntryHead, operationCount: number): void {
    const buffer = this.#buffer;
    buffer[0] = entryVersion;
    buffer[1] = entryKinds[head.kind];
    this.#at = 2;
    this.#varint(head.databaseId);
    this.#varint(head.schemaVersion);
    this.#u64(head.clock);
    this.#varint(head.newSchemaVersion === undefined ? 0 : head.newSchemaVersion + 1);
    if (head.requestId === undefined) this.#varint(0);
    else this.#slice(Buffer.from(head.requestId, 'utf8'));
    this.#varint(head.counters.length);
    for (const counter of head.counters) {
      buffer[this.#at++] = counter.kind === 'position' ? 0 : 1;
      this.#varint(counter.bucketId);
      this.#u64(counter.value);
    }
    this.#varint(operationCount);
  }

  #writeOperation(operation: EntryOperation): void {
    switch (operation.kind) {
      case 'put':
        if (operation instanceof PutWrite) return this.#writePut(operation);
        this.#reserve(1 + 2 * sliceOverhead + operation.key.length + operation.value.length);
        this.#buffer[this.#at++] = tags.put;
        this.#slice(operation.key);
        this.#slice(operation.value);
        return;
      case 'delete':
        if (operation instanceof DeleteWrite) {
          this.#reserve(1 + sliceOverhead + operation.text.length);
          this.#buffer[this.#at++] = tags.delete;
          this.#text(operation.text);
          return;
        }
        this.#reserve(1 + sliceOverhead + operation.key.length);
        this.#buffer[this.#at++] = tags.delete;
        this.#slice(operation.key);
        return;
      default:
        this.#reserve(1 + 2 * sliceOverhead + operation.start.length + operation.end.length);
        this.#buffer[this.#at++] = tags.deleteRange;
        this.#slice(operation.start);
        this.#slice(operation.end);
    }
  }

  /** The same bytes as any put, without snapshots on key and value. */
  #writePut(write: PutWrite): void {
    const {text, chunk, from, to} = write;
    this.#reserve(1 + 2 * sliceOverhead + text.length + to - from);
    this.#buffer[this.#at++] = tags.put;
    this.#text(text);
    this.#varint(to - from);
    if (to - from <= loopBytesMax) {
      for (let at = from; at < to; at++) this.#buffer[this.#at++] = chunk[at] ?? 0;
    } else this.#at += chunk.copy(this.#buffer, this.#at, from, to);
  }

  /** A key that is kept as text, one character a byte. */
  #text(text: string): void {
    this.#varint(text.length);
    if (text.length <= loopBytesMax) {
      for (let at = 0; at < text.length; at++) this.#buffer[this.#at++] = text.charCodeAt(at);
    } else this.#at += this.#buffer.write(text, this.#at, 'latin1');
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#at + bytes, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.#at));
    this.#buffer = larger;
  }

  #slice(bytes: Uint8Array): void {
    this.#varint(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#at++] = rest;
  }

  #u64(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'entries hold whole numbers below 2^53');
    this.#buffer.writeUInt32LE(value >>> 0, this.#at);
    this.#buffer.writeUInt32LE(Math.floor(value / 0x1_0000_0000), this.#at + 4);
    this.#at += 8;
  }
}

const noExtras = {newSchemaVersion: undefined, requestId: undefined, counters: []} as const;

/** What a server-level entry says. */
export interface ServerBody {
  readonly head: Readonly<Record<string, string | number>>;
  readonly bytes: Uint8Array;
}

class EntryCursor {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  u8(): number {
    const value = this.bytes[this.at++];
    if (value === undefined) throw damaged('ends too early');
    return value;
  }

  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.u8();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw damaged('has an endless number');
  }

  u64(): number {
    if (this.at + 8 > this.bytes.length) throw damaged('ends too early');
    const low = this.bytes.readUInt32LE(this.at);
    const high = this.bytes.readUInt32LE(this.at + 4);
    this.at += 8;
    return high * 0x1_0000_0000 + low;
  }

  slice(): Buffer {
    const length = this.varint();
    if (this.at + length > this.bytes.length) throw damaged('ends too early');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** Undefined for an empty one, of which no snapshot is made. */
  text(): string | undefined {
    if (this.bytes[this.at] === 0) {
      this.at += 1;
      return undefined;
    }
    return this.slice().toString('utf8');
  }
}

function damaged(what: string): Corruption {
  return new Corruption(`a log entry ${what}`);
}

/** Reads an entry; copies nothing but the request id. Throws Corruption for what it cannot be. */
export function decodeEntry(bytes: Buffer): Entry {
  const cursor = new EntryCursor(bytes);
  const version = cursor.u8();
  const code = cursor.u8();
  const kind = kindNames.get(code);
  if (version !== entryVersion || kind === undefined) {
    throw new Corruption(
      `the log holds an entry of version ${version} and kind ${code}, and this release knows ` +
        `version ${entryVersion} and kinds up to ${kindNames.size}, so it does not know what the ` +
        'entry means: start the release that wrote it',
      {version, kind: code},
    );
  }
  const databaseId = cursor.varint();
  const schemaVersion = cursor.varint();
  const clock = cursor.u64();
  const newSchemaVersion = cursor.varint();
  const requestId = cursor.text();
  const counters = readCounters(cursor);
  return {
    kind,
    databaseId,
    schemaVersion,
    clock,
    newSchemaVersion: newSchemaVersion === 0 ? undefined : newSchemaVersion - 1,
    requestId,
    counters,
    operationCount: cursor.varint(),
    operations: bytes.subarray(cursor.at),
  };
}

function readCounters(cursor: EntryCursor): readonly Counter[] {
  const count = cursor.varint();
  // Those of a record that was made: a list of this size from the start.
  if (count === 2) return [readCounter(cursor), readCounter(cursor)];
  const counters: Counter[] = [];
  for (let left = count; left > 0; left--) counters.push(readCounter(cursor));
  return counters;
}

function readCounter(cursor: EntryCursor): Counter {
  const kind = cursor.u8() === 0 ? 'position' : 'count';
  return {kind, bucketId: cursor.varint(), value: cursor.u64()};
}

/** The operations of a transaction entry; keys and values point into the entry's bytes. */
export function* eachOperation(entry: Entry): Generator<EntryOperation> {
  const cursor = new EntryCursor(entry.operations);
  for (let left = entry.operationCount; left > 0; left--) {
    const tag = cursor.u8();
    if (tag === tags.put) yield {kind: 'put', key: cursor.slice(), value: cursor.slice()};
    else if (tag === tags.delete) yield {kind: 'delete', key: cursor.slice()};
    else if (tag === tags.deleteRange) {
      yield {kind: 'delete-range', start: cursor.slice(), end: cursor.slice()};
    } else throw damaged(`has an operation of tag ${tag}, which this build does not know`);
  }
  if (cursor.at !== entry.operations.length) throw damaged('is longer than its operations');
}

/** The body of a server-level entry. */
export function decodeServerBody(entry: Entry): ServerBody {
  const cursor = new EntryCursor(entry.operations);
  const json = cursor.slice().toString('utf8');
  return {head: parseHead(json), bytes: cursor.slice()};
}

function parseHead(json: string): ServerBody['head'] {
  let head: unknown;
  try {
    head = JSON.parse(json);
  } catch {
    throw damaged('has a head that is no JSON');
  }
  if (typeof head !== 'object' || head === null) throw damaged('has a head that is no object');
  return head as ServerBody['head'];
}
