/**
 * What the network thread and the log thread of a member say to each other.
 *
 * Everything that must become durable in order travels in the ring (node/commit/commit-ring.ts):
 * records as they will lie in the log, and commands between them, told apart by their first byte.
 * Reads, records that are too large for the ring and the end of it all come as messages.
 */
import {assert} from '#server/base/assert.ts';
import type {HardState} from '#server/raft/effect.ts';
import type {Checkpoint} from '#server/raft/membership.ts';
import type {LogIndex} from '#server/raft/message.ts';
import {recordKindsMax, type RecordRun} from '#server/replication/storage/stored-record.ts';
import type {StoredLogState} from '#server/replication/stored-log.ts';
import type {Outside} from '../commit/commit-messages.ts';
import type {LogFailed} from '../commit/thread-channel.ts';

export type Command =
  /** Comes before the records of a persist effect, where it does more than append. */
  | {
      readonly kind: 'prepare';
      readonly hardState: HardState;
      readonly restart: Checkpoint | undefined;
      readonly keepThrough: LogIndex;
    }
  /** The ring holds everything up to this persist effect. */
  | {readonly kind: 'end'; readonly number: number}
  | {readonly kind: 'compact'; readonly base: Checkpoint};

export type MemberLogRequest =
  | {readonly kind: 'start'; readonly state: StoredLogState}
  | Outside
  | {
      readonly kind: 'read';
      readonly id: number;
      readonly first: LogIndex;
      readonly through: LogIndex;
      readonly bytesMax: number;
    }
  | {readonly kind: 'close'};

/**
 * A bare number comes after every batch: effects up to it are durable, and the ring has room
 * again. It is sent so often that it is no object.
 */
export type MemberLogNews =
  | number
  | {readonly kind: 'retained'; readonly bytes: number}
  | {readonly kind: 'read'; readonly id: number; readonly run: RecordRun | undefined}
  | {readonly kind: 'closed'}
  | LogFailed;

const commandCode = recordKindsMax;
const endCode = recordKindsMax + 1;

/** The end of effects is by far the most frequent command, so it is six bytes and no text. */
export function encodeCommand(command: Command): Buffer {
  if (command.kind === 'end') {
    const bytes = Buffer.alloc(7);
    bytes[0] = endCode;
    bytes.writeUIntLE(command.number, 1, 6);
    return bytes;
  }
  return Buffer.from(`${String.fromCharCode(commandCode)}${JSON.stringify(command)}`, 'utf8');
}

/** Undefined for a record. */
export function decodeCommand(bytes: Buffer): Command | undefined {
  const code = bytes[0];
  assert(code !== undefined, 'nothing in the ring is empty');
  if (code < recordKindsMax) return undefined;
  if (code === endCode) return {kind: 'end', number: bytes.readUIntLE(1, 6)};
  return JSON.parse(bytes.toString('utf8', 1)) as Command;
}
