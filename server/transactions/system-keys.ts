/**
 * The keys that the commit path keeps inside every database's store, and their values.
 *
 * All begin with the byte 0x00, which layout/ leaves to us. They are written by apply in the same
 * batch as the changes they speak of, except the identity, which is written (synced) when a
 * database is created or attached. The position key and the changes of the entries up to it are
 * in the store together or not at all (T1, apply.ts).
 */
import {Corruption} from '#server/base/errors.ts';

export const systemPrefix = 0x00;

/** How far a database has come: which log, which entry, and how many entries changed it. */
export interface DatabasePosition {
  readonly databaseId: number;
  /** 32 hexadecimal digits; of the log that `index` counts in. */
  readonly logId: string;
  readonly index: number;
  readonly chain: number;
  /** Entries ever applied to this database; survives a change of log. */
  readonly transactionCount: number;
  /** Catalog version after the last schema entry. */
  readonly schemaVersion: number;
  /** Greatest level of the formats in this store (formats/levels.ts). */
  readonly formatLevel: number;
}

export const positionKey = Buffer.from([systemPrefix, 0x01]);
/** The catalog: its value is decoded above this folder. */
export const catalogKey = Buffer.from([systemPrefix, 0x02]);
/** The name under which the database was created, for a person who finds the directory. */
export const nameKey = Buffer.from([systemPrefix, 0x03]);

/** How far the rows have come on the way to the format level; absent when all are of it. */
export const migrationKey = Buffer.from([systemPrefix, 0x04]);

const positionBytes = 56;

export function encodePosition(position: DatabasePosition): Buffer {
  const bytes = Buffer.alloc(positionBytes);
  bytes.writeUInt32LE(position.formatLevel, 0);
  bytes.writeUInt32LE(position.databaseId, 4);
  bytes.write(position.logId, 8, 16, 'hex');
  bytes.writeDoubleLE(position.index, 24);
  bytes.writeUInt32LE(position.chain, 32);
  bytes.writeDoubleLE(position.transactionCount, 36);
  bytes.writeDoubleLE(position.schemaVersion, 44);
  return bytes;
}

export function decodePosition(bytes: Buffer): DatabasePosition {
  if (bytes.length !== positionBytes) {
    throw new Corruption('the position of a database has an impossible length', {
      bytes: bytes.length,
    });
  }
  return {
    formatLevel: bytes.readUInt32LE(0),
    databaseId: bytes.readUInt32LE(4),
    logId: bytes.toString('hex', 8, 24),
    index: bytes.readDoubleLE(24),
    chain: bytes.readUInt32LE(32),
    transactionCount: bytes.readDoubleLE(36),
    schemaVersion: bytes.readDoubleLE(44),
  };
}

/** A migration under way (formats/migration.ts). */
export interface MigrationState {
  /** The level that rows may still be of. */
  readonly from: number;
  readonly rowsRewritten: number;
  /** The first key that was not looked at; empty: none was. */
  readonly cursor: Buffer;
}

const migrationHeadBytes = 12;

export function encodeMigration(state: MigrationState): Buffer {
  const bytes = Buffer.alloc(migrationHeadBytes + state.cursor.length);
  bytes.writeUInt32LE(state.from, 0);
  bytes.writeDoubleLE(state.rowsRewritten, 4);
  state.cursor.copy(bytes, migrationHeadBytes);
  return bytes;
}

/** @throws {Corruption} when the bytes are none. */
export function decodeMigration(bytes: Buffer): MigrationState {
  if (bytes.length < migrationHeadBytes) {
    throw new Corruption('the state of a migration has an impossible length');
  }
  return {
    from: bytes.readUInt32LE(0),
    rowsRewritten: bytes.readDoubleLE(4),
    cursor: Buffer.from(bytes.subarray(migrationHeadBytes)),
  };
}

/** `position`: high-water mark of record positions handed out. `count`: records in a bucket. */
export type CounterKind = 'position' | 'count';

export function counterKey(kind: CounterKind, bucketId: number): Buffer {
  const key = Buffer.alloc(6);
  key[0] = systemPrefix;
  key[1] = kind === 'position' ? 0x10 : 0x11;
  key.writeUInt32BE(bucketId, 2);
  return key;
}

const counterBytes = 8;

export function encodeCounter(value: number): Buffer {
  const bytes = Buffer.alloc(counterBytes);
  bytes.writeDoubleLE(value, 0);
  return bytes;
}

/** Why the bytes are no counter; undefined when they are one. */
export function counterFault(bytes: Buffer): string | undefined {
  if (bytes.length !== counterBytes) return `it has ${bytes.length} bytes`;
  const value = bytes.readDoubleLE(0);
  return Number.isSafeInteger(value) && value >= 0 ? undefined : `it is ${value}`;
}

/** A counter's value, 0 before its first. @throws {Corruption} when the bytes are none. */
export function decodeCounter(bytes: Buffer | undefined): number {
  if (bytes === undefined) return 0;
  const fault = counterFault(bytes);
  if (fault === undefined) return bytes.readDoubleLE(0);
  throw new Corruption(`a stored counter cannot be read: ${fault}; CHECK DATABASE says which`);
}

/** The index under which a request with this id was committed. */
export function requestKey(requestId: string): Buffer {
  return Buffer.concat([Buffer.from([systemPrefix, 0x20]), Buffer.from(requestId, 'utf8')]);
}

/** Request ids in the order of their commits, for their expiry. */
export function requestOrderKey(index: number): Buffer {
  const key = Buffer.alloc(10);
  key[0] = systemPrefix;
  key[1] = 0x21;
  key.writeUInt32BE(Math.floor(index / 0x1_0000_0000), 2);
  key.writeUInt32BE(index >>> 0, 6);
  return key;
}
