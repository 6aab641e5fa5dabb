/**
 * Messages as bytes: a version, a kind, and the fields in their order. Numbers are varints (seven
 * bits a byte, least first), texts and data have their length in front.
 *
 * Whoever carries the bytes frames them with a length and a checksum: it sees every byte anyway,
 * and has the machine's instruction for it. What comes in is not trusted all the same: lengths
 * are held against what is there, before anything is made of them.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {copyBytes, readUtf8, utf8Bytes} from '#server/base/utf8.ts';
import {type Member, type Membership, ordered} from './membership.ts';
import type {AppendReply, Entry, LogPosition, Message} from './message.ts';

/** Bytes that are no message of this version; the connection that brought them is of no use. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
}

const version = 1;
/** Most messages have a few numbers; arrays up to this length are many times cheaper to make. */
const shortMessageBytes = 64;

/** A kind's code is its place; new ones come at the end. */
const kinds: readonly Message['kind'][] = [
  'pre-vote',
  'pre-vote-reply',
  'vote',
  'vote-reply',
  'append',
  'append-reply',
  'snapshot',
  'timeout-now',
  'read',
  'read-reply',
];
const entryKinds: readonly Entry['kind'][] = ['data', 'membership', 'empty'];
const roles: readonly Member['role'][] = ['voter', 'joining'];

/** The bytes of a message. Cost: copies the data of its entries once or twice. */
export function encodeMessage(message: Message): Uint8Array {
  const isShort = message.kind !== 'append' || message.entries.length === 0;
  const writer = isShort ? new ByteWriter(shortMessageBytes) : new ByteWriter();
  writer.byte(version);
  writer.byte(kinds.indexOf(message.kind));
  writeNumber(writer, message.term);
  switch (message.kind) {
    case 'pre-vote':
      writePosition(writer, message.last);
      break;
    case 'vote':
      writePosition(writer, message.last);
      writer.byte(message.transfer ? 1 : 0);
      break;
    case 'pre-vote-reply':
    case 'vote-reply':
      writer.byte(message.granted ? 1 : 0);
      break;
    case 'append':
      writeNumber(writer, message.round);
      writePosition(writer, message.previous);
      writeNumber(writer, message.commit);
      writeNumber(writer, message.entries.length);
      for (const entry of message.entries) writeEntry(writer, entry);
      break;
    case 'append-reply':
      writeReply(writer, message);
      break;
    case 'snapshot':
      writeNumber(writer, message.round);
      writePosition(writer, message.atLeast);
      break;
    case 'read':
      writeBytes(writer, utf8Bytes(message.id));
      break;
    case 'read-reply':
      writeBytes(writer, utf8Bytes(message.id));
      writeNumber(writer, message.index === undefined ? 0 : message.index + 1);
      break;
    default:
      // `timeout-now` is its term alone.
      break;
  }
  return writer.take();
}

/** The message of these bytes, which may be anything. @throws {UnreadableMessage} */
export function decodeMessage(bytes: Uint8Array): Message {
  const reader = new MessageReader(bytes);
  const found = reader.byte();
  if (found !== version) throw new UnreadableMessage(`a message of version ${found}`);
  const kind = reader.oneOf(kinds);
  const message = readMessage(reader, kind, reader.number());
  reader.end();
  return message;
}

/** The bytes of a membership, as messages hold it. */
export function encodeMembership(membership: Membership): Uint8Array {
  const writer = new ByteWriter();
  writeMembership(writer, membership);
  return writer.take();
}

/** @throws {UnreadableMessage} */
export function decodeMembership(bytes: Uint8Array): Membership {
  const reader = new MessageReader(bytes);
  const membership = readMembership(reader);
  reader.end();
  return membership;
}

function readMessage(reader: MessageReader, kind: Message['kind'], term: number): Message {
  switch (kind) {
    case 'pre-vote':
      return {kind, term, last: readPosition(reader)};
    case 'vote':
      return {kind, term, last: readPosition(reader), transfer: reader.flag()};
    case 'pre-vote-reply':
    case 'vote-reply':
      return {kind, term, granted: reader.flag()};
    case 'append': {
      const round = reader.number();
      const previous = readPosition(reader);
      const commit = reader.number();
      return {kind, term, round, previous, commit, entries: reader.list(readEntry)};
    }
    case 'append-reply': {
      const round = reader.number();
      const accepted = reader.flag();
      if (accepted) return {kind, term, round, accepted, match: reader.number()};
      const refused = reader.number();
      return {kind, term, round, accepted, refused, hint: readPosition(reader)};
    }
    case 'snapshot':
      return {kind, term, round: reader.number(), atLeast: readPosition(reader)};
    case 'read':
      return {kind, term, id: reader.text()};
    case 'read-reply': {
      const id = reader.text();
      const index = reader.number();
      return {kind, term, id, index: index === 0 ? undefined : index - 1};
    }
    default:
      return {kind, term};
  }
}

function writeReply(writer: ByteWriter, reply: AppendReply): void {
  writeNumber(writer, reply.round);
  writer.byte(reply.accepted ? 1 : 0);
  if (reply.accepted) {
    writeNumber(writer, reply.match);
  } else {
    writeNumber(writer, reply.refused);
    writePosition(writer, reply.hint);
  }
}

function writeEntry(writer: ByteWriter, entry: Entry): void {
  writer.byte(entryKinds.indexOf(entry.kind));
  writeNumber(writer, entry.term);
  if (entry.kind === 'data') writeBytes(writer, entry.data);
  if (entry.kind === 'membership') writeMembership(writer, entry.membership);
}

function readEntry(reader: MessageReader): Entry {
  const kind = reader.oneOf(entryKinds);
  const term = reader.number();
  if (kind === 'data') return {kind, term, data: reader.bytes()};
  return kind === 'empty' ? {kind, term} : {kind, term, membership: readMembership(reader)};
}

function writeMembership(writer: ByteWriter, membership: Membership): void {
  writeNumber(writer, membership.length);
  for (const {id, role, priority} of membership) {
    writeBytes(writer, utf8Bytes(id));
    writer.byte(roles.indexOf(role));
    writeNumber(writer, priority);
  }
}

function readMembership(reader: MessageReader): Membership {
  const members = reader.list(() => ({
    id: reader.text(),
    role: reader.oneOf(roles),
    priority: reader.number(),
  }));
  if (new Set(members.map(member => member.id)).size !== members.length) {
    throw new UnreadableMessage('a membership that names a server twice');
  }
  return ordered(members);
}

function writePosition(writer: ByteWriter, {index, term}: LogPosition): void {
  writeNumber(writer, index);
  writeNumber(writer, term);
}

function readPosition(reader: MessageReader): LogPosition {
  return {index: reader.number(), term: reader.number()};
}

function writeBytes(writer: ByteWriter, bytes: Uint8Array): void {
  writeNumber(writer, bytes.length);
  writer.raw(bytes);
}

function writeNumber(writer: ByteWriter, value: number): void {
  let left = value;
  // Division, since shifts end at 32 bits.
  for (; left >= 0x80; left = Math.floor(left / 0x80)) writer.byte((left % 0x80) | 0x80);
  writer.byte(left);
}

/** Reads what `encodeMessage` writes, and nothing behind the end. */
class MessageReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  byte(): number {
    const value = this.#bytes[this.#at++];
    if (value === undefined) throw new UnreadableMessage('a message that ends too early');
    return value;
  }

  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const next = this.byte();
      value += (next & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER) throw new UnreadableMessage('a number beyond 2^53');
      if (next < 0x80) return value;
    }
  }

  flag(): boolean {
    return this.oneOf([false, true]);
  }

  oneOf<Item>(items: readonly Item[]): Item {
    const code = this.byte();
    const item = items[code];
    if (item === undefined) throw new UnreadableMessage(`the code ${code}, which means nothing`);
    return item;
  }

  /** A copy: what is read from may be used again. */
  bytes(): Uint8Array {
    const length = this.number();
    this.#skip(length);
    return copyBytes(this.#bytes, this.#at - length, this.#at);
  }

  text(): string {
    const length = this.number();
    this.#skip(length);
    return readUtf8(this.#bytes, this.#at - length, this.#at);
  }

  list<Item>(read: (reader: MessageReader) => Item): Item[] {
    const count = this.number();
    // Every item takes a byte at least.
    if (count > this.#bytes.length - this.#at) throw new UnreadableMessage('a list without end');
    const items: Item[] = [];
    while (items.length < count) items.push(read(this));
    return items;
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new UnreadableMessage('bytes behind a message');
  }

  #skip(count: number): void {
    if (count > this.#bytes.length - this.#at) {
      throw new UnreadableMessage('a length beyond the end');
    }
    this.#at += count;
  }
}
