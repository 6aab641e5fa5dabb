/**
 * An entry of the group as a record of the segment log: one byte for its kind, six for its term,
 * and what it holds. The log's own frame has length, index and checksum.
 *
 * Kinds are never given another meaning (L1); codes from 16 on are for whoever carries records
 * and has something else to say between them.
 */
import {assert} from '#server/base/assert.ts';
import {Corruption} from '#server/base/errors.ts';
import {
  decodeMembership,
  encodeMembership,
  UnreadableMessage,
} from '#server/raft/message-encoding.ts';
import {bufferOf} from '#server/platform/buffer-of.ts';
import type {Entry} from '#server/raft/message.ts';

export const recordPrefixBytes = 7;
/** Codes of records are below. */
export const recordKindsMax = 16;

const kinds: readonly Entry['kind'][] = ['data', 'membership', 'empty'];
const nothing = new Uint8Array(0);

/** Puts kind and term at the beginning of `target`. */
export function writeRecordPrefix(target: Buffer, entry: Entry): void {
  target[0] = kinds.indexOf(entry.kind);
  target.writeUIntLE(entry.term, 1, 6);
}

/** What stands behind the prefix; the entry's own bytes where it has some. */
export function recordBody(entry: Entry): Uint8Array {
  if (entry.kind === 'data') return entry.data;
  return entry.kind === 'membership' ? encodeMembership(entry.membership) : nothing;
}

/** What the entries take as records, memberships aside. */
export function recordBytes(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const entry of entries) {
    bytes += recordPrefixBytes + (entry.kind === 'data' ? entry.data.length : 0);
  }
  return bytes;
}

/** A whole record. Cost: copies the entry's bytes. */
export function encodeRecord(entry: Entry): Buffer {
  const body = recordBody(entry);
  const record = Buffer.allocUnsafe(recordPrefixBytes + body.length);
  writeRecordPrefix(record, entry);
  record.set(body, recordPrefixBytes);
  return record;
}

/**
 * The entry of a record; its bytes are those of the record, not a copy.
 *
 * @throws {Corruption} for what no release of this format wrote, though its checksum was right.
 */
export function decodeRecord(record: Buffer): Entry {
  const kind = record.length < recordPrefixBytes ? undefined : kinds[record[0] ?? 0];
  if (kind === undefined) {
    throw new Corruption(
      'the log holds a record that is none of a cluster: restore it from a copy',
    );
  }
  const term = record.readUIntLE(1, 6);
  const body = record.subarray(recordPrefixBytes);
  if (kind === 'data') return {kind, term, data: body};
  if (kind === 'empty') return {kind, term};
  try {
    return {kind, term, membership: decodeMembership(body)};
  } catch (error) {
    assert(error instanceof UnreadableMessage, 'decoding fails in one way');
    throw new Corruption(`a membership in the log cannot be read: ${error.message}`);
  }
}

/** Records one after another, and where each one ends. */
export interface RecordRun {
  readonly bytes: Uint8Array;
  readonly ends: readonly number[];
}

/** The entries of a run; their bytes are those of the run, not copies. Throws Corruption. */
export function decodeRun({bytes, ends}: RecordRun): Entry[] {
  const buffer = bufferOf(bytes);
  return ends.map((end, at) => decodeRecord(buffer.subarray(ends[at - 1] ?? 0, end)));
}
