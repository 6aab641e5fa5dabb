/**
 * Random histories of operations for tests that compare stores: a seed gives one history, and
 * every store that applies it must answer the same.
 *
 * Keys come from a small alphabet with few lengths, so that operations meet: prefixes of one
 * another, neighbours, deletes of what is there. A history is plain data and can be sent to a
 * child process.
 */
import {createHash} from 'node:crypto';
import type {Random} from '#server/platform/clock.ts';
import {createPackedRows, eachRow, packKeys} from '#server/storage/packed-rows.ts';
import type {Reader, ScanRange, Store} from '#server/storage/store.ts';

/** A change of one key or range; bytes are hex so that a history is JSON. */
export type Change =
  | {readonly kind: 'put'; readonly key: string; readonly value: string}
  | {readonly kind: 'delete'; readonly key: string}
  | {readonly kind: 'delete-range'; readonly start: string; readonly end: string};

export type Operation =
  | {readonly kind: 'write'; readonly changes: readonly Change[]; readonly sync: boolean}
  | {readonly kind: 'make-durable' | 'compact' | 'snapshot' | 'release' | 'reopen' | 'checkpoint'}
  | {readonly kind: 'read'; readonly seed: number};

/** A small fast generator (xorshift32); the same seed gives the same numbers everywhere. */
export function createSeeded(seed: number): Random {
  let state = seed === 0 ? 0x9e3779b9 : seed >>> 0;
  const u32 = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  for (let warmUp = 0; warmUp < 8; warmUp++) u32();
  return {
    u32,
    fill(target) {
      for (let at = 0; at < target.length; at++) target[at] = u32() & 0xff;
    },
  };
}

/** A history of `length` operations. */
export function randomHistory(random: Random, length: number): Operation[] {
  return Array.from({length}, () => randomOperation(random));
}

/**
 * A history without reads and snapshots, the same in the recorded program and in its judge. Every
 * other seed writes much and makes nothing durable, so that memtables fill and logs are changed
 * while nothing is promised.
 */
export function powerLossHistory(
  seed: number,
  options: {readonly length: number; readonly bulkBytes: number},
): Operation[] {
  const {length, bulkBytes} = options;
  const random = createSeeded(seed);
  if (seed % 2 === 0) {
    return Array.from({length}, () => {
      const rows = randomSortedRows(random);
      const changes = rows.map(
        ([key]): Change => ({kind: 'put', key, value: bulkOf(random, bulkBytes)}),
      );
      return {kind: 'write', changes, sync: false};
    });
  }
  const silent = ['read', 'snapshot', 'release'];
  return randomHistory(random, length).filter(({kind}) => !silent.includes(kind));
}

function bulkOf(random: Random, bytes: number): string {
  const value = Buffer.alloc(bytes);
  value.writeUInt32LE(random.u32());
  return value.toString('hex');
}

function randomOperation(random: Random): Operation {
  const dice = random.u32() % 100;
  if (dice < 50) return {kind: 'write', changes: randomChanges(random), sync: dice < 6};
  if (dice < 75) return {kind: 'read', seed: random.u32()};
  if (dice < 85) return {kind: 'snapshot'};
  if (dice < 90) return {kind: 'release'};
  if (dice < 94) return {kind: 'make-durable'};
  if (dice < 96) return {kind: 'compact'};
  if (dice < 98) return {kind: 'checkpoint'};
  return {kind: 'reopen'};
}

/** Some changes of one batch, often on the same keys. */
export function randomChanges(random: Random): Change[] {
  return Array.from({length: random.u32() % 12}, () => {
    const dice = random.u32() % 10;
    if (dice < 6) return {kind: 'put', key: randomKey(random), value: randomValue(random)};
    if (dice < 9) return {kind: 'delete', key: randomKey(random)};
    return {kind: 'delete-range', start: randomKey(random), end: randomKey(random)};
  });
}

/** Rows in the order of their keys, at least one. */
function randomSortedRows(random: Random): [string, string][] {
  const rows = new Map<string, string>();
  for (let count = 1 + (random.u32() % 20); count > 0; count--) {
    rows.set(randomKey(random), randomValue(random));
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
}

const alphabet = ['00', '01', '61', '62', '7f', '80', 'fe', 'ff'];

function randomKey(random: Random): string {
  let key = '';
  for (let length = 1 + (random.u32() % 4); length > 0; length--) {
    key += alphabet[random.u32() % alphabet.length];
  }
  return key;
}

function randomValue(random: Random): string {
  const value = Buffer.alloc(random.u32() % 8 === 0 ? 3000 : random.u32() % 20);
  random.fill(value);
  return value.toString('hex');
}

/** Applies one batch; the caller says whether it is synced. */
export function writeChanges(store: Store, changes: readonly Change[], sync: boolean): void {
  const batch = store.batch();
  for (const change of changes) {
    if (change.kind === 'put') batch.put(hex(change.key), hex(change.value));
    else if (change.kind === 'delete') batch.delete(hex(change.key));
    else batch.deleteRange(hex(change.start), hex(change.end));
  }
  store.write(batch, {sync});
}

/** Reads in ways that `seed` chooses and says what came, short enough to compare and print. */
export function describeReads(reader: Reader, seed: number): string {
  const random = createSeeded(seed);
  const found: string[] = [];
  for (let count = 0; count < 3; count++) {
    const key = randomKey(random);
    found.push(`${key}=${short(reader.get(hex(key)))}`);
  }
  const keys = Array.from({length: 5}, () => hex(randomKey(random)));
  const into = createPackedRows(8 + 3000 + 4 * (8 + 3000));
  reader.getMany(packKeys(keys), keys.length, into);
  for (const row of eachRow(into)) found.push(short(row.value));
  const ranges: ScanRange[] = Array.from({length: random.u32() % 4}, () => {
    const start = random.u32() % 4 === 0 ? Buffer.alloc(0) : hex(randomKey(random));
    return random.u32() % 4 === 0 ? {start} : {start, end: hex(randomKey(random))};
  });
  const scanner = reader.scan(ranges, {
    reverse: random.u32() % 2 === 0,
    keysOnly: random.u32() % 4 === 0,
    rowsMax: 1 + (random.u32() % 40),
  });
  const pages = createPackedRows(4096);
  do {
    scanner.next(pages);
    for (const row of eachRow(pages)) found.push(`${row.key.toString('hex')}:${short(row.value)}`);
    found.push(`@${scanner.rangeIndex}`);
  } while (!pages.done && random.u32() % 16 !== 0);
  scanner.close();
  return found.join(' ');
}

/** All rows of a reader in one digest. */
export function digestOf(reader: Reader): string {
  const hash = createHash('sha256');
  const scanner = reader.scan([{start: Buffer.alloc(0)}]);
  const into = createPackedRows(1 << 16);
  do {
    scanner.next(into);
    hash.update(into.buffer.subarray(0, into.byteLength));
  } while (!into.done);
  scanner.close();
  return hash.digest('hex');
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

function short(value: Buffer | undefined): string {
  if (value === undefined) return 'absent';
  return value.length <= 8
    ? value.toString('hex')
    : `${value.toString('hex', 0, 4)}+${value.length}`;
}
