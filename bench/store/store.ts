/**
 * `store`: the native binding of RocksDB against its fallback, on equal data in one process.
 *
 * A full scan, scans of ten rows by prefix, and random gets (in groups of 64, as the engine asks,
 * and one by one). Both sides must give the same bytes; a checksum over everything read says so.
 */
import assert from 'node:assert/strict';
import {rmSync} from 'node:fs';
import {join} from 'node:path';
import {createPackedRows, packKeys} from '#server/storage/packed-rows.ts';
import {type Engine, openStore} from '#server/storage/rocksdb/open.ts';
import type {PackedRows, Store} from '#server/storage/store.ts';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const prefixes = 50_000;
const rowsOfPrefix = 10;
const rows = prefixes * rowsOfPrefix;
const valueBytes = 100;
const prefixScans = 10_000;
const gets = 64_000;
const keysAtOnce = 64;

interface Task {
  readonly point: string;
  readonly operations: number;
  /** Least ratio of native over fallback, where there is a bound. */
  readonly bound?: number;
  /** Does the work and returns a checksum of what was read. */
  readonly run: (store: Store, into: PackedRows) => number;
}

const tasks: readonly Task[] = [
  {point: 'full scan', operations: rows, bound: 8, run: fullScan},
  {point: '10-row prefix scans', operations: prefixScans, bound: 2.5, run: scanPrefixes},
  {point: 'random gets, 64 at once', operations: gets, bound: 1.4, run: getMany},
  {point: 'random gets, one by one', operations: gets, run: getEach},
];

export async function storeClass(report: Report, options: BenchOptions): Promise<void> {
  report.say(`store: ${rows} rows with values of ${valueBytes} bytes, compacted, in the cache`);
  const root = temporaryRoot('bench-store');
  const stores: Store[] = [];
  try {
    for (const engine of ['native', 'fallback'] as const) {
      stores.push(await filledStore(join(root, engine), engine));
    }
    const [native, fallback] = stores;
    assert(native !== undefined && fallback !== undefined);
    for (const task of tasks) measureTask(report, task, {native, fallback, ...options});
  } finally {
    for (const store of stores) store.close();
    rmSync(root, {recursive: true, force: true});
  }
}

function measureTask(
  report: Report,
  task: Task,
  sides: {native: Store; fallback: Store; rounds: number},
): void {
  const into = createPackedRows(1 << 20);
  const rates = {native: [] as number[], fallback: [] as number[]};
  // Round 0 warms up and compares the answers.
  for (let round = 0; round <= sides.rounds; round += 1) {
    const sums = new Set<number>();
    for (const side of ['native', 'fallback'] as const) {
      const startedAt = performance.now();
      sums.add(task.run(sides[side], into));
      const seconds = (performance.now() - startedAt) / 1_000;
      if (round > 0) rates[side].push(task.operations / seconds);
    }
    assert.equal(sums.size, 1, `native and fallback read different bytes: ${task.point}`);
  }
  report.add({
    class: 'store',
    point: task.point,
    unit: task.point.startsWith('full') ? 'rows/s' : 'ops/s',
    ours: rates.native,
    peer: 'fallback',
    theirs: rates.fallback,
    durability: 'reads',
    ...(task.bound === undefined ? {} : {gate: {at: 'least', bound: task.bound} as const}),
  });
}

async function filledStore(path: string, engine: Engine): Promise<Store> {
  const store = await openStore(path, {engine});
  const batch = store.batch();
  const value = Buffer.alloc(valueBytes);
  for (let row = 0; row < rows; row += 1) {
    value.fill(row & 0xff);
    value.writeUInt32BE(row, 0);
    batch.put(keyOf(Math.floor(row / rowsOfPrefix), row % rowsOfPrefix), value);
    if (batch.operationCount < 5_000) continue;
    store.write(batch);
    batch.clear();
  }
  store.write(batch);
  store.makeDurable();
  store.compact();
  return store;
}

function keyOf(prefix: number, row: number): Buffer {
  const key = Buffer.alloc(12);
  key.writeUInt32BE(prefix, 4);
  key.writeUInt32BE(row, 8);
  return key;
}

/** The same sequence for every run: which prefix or key comes next. */
function* scattered(count: number, below: number): Generator<number> {
  let state = 1;
  for (let index = 0; index < count; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state % below;
  }
}

function fullScan(store: Store, into: PackedRows): number {
  const scanner = store.scan([{start: Buffer.alloc(0)}]);
  let sum = 0;
  try {
    do {
      scanner.next(into);
      sum += into.rowCount * 31 + into.byteLength;
    } while (!into.done);
  } finally {
    scanner.close();
  }
  return sum;
}

function scanPrefixes(store: Store, into: PackedRows): number {
  let sum = 0;
  for (const prefix of scattered(prefixScans, prefixes)) {
    const scanner = store.scan([{start: keyOf(prefix, 0), end: keyOf(prefix + 1, 0)}]);
    try {
      scanner.next(into);
      sum = (sum + into.rowCount * 31 + into.byteLength + into.buffer.readUInt32BE(20)) % 2 ** 40;
    } finally {
      scanner.close();
    }
  }
  return sum;
}

function getMany(store: Store, into: PackedRows): number {
  let sum = 0;
  let keys: Buffer[] = [];
  for (const row of scattered(gets, rows)) {
    keys.push(keyOf(Math.floor(row / rowsOfPrefix), row % rowsOfPrefix));
    if (keys.length < keysAtOnce) continue;
    const answered = store.getMany(packKeys(keys), keys.length, into);
    assert.equal(answered, keys.length);
    sum = (sum + into.byteLength + into.buffer.readUInt32LE(8)) % 2 ** 40;
    keys = [];
  }
  return sum;
}

function getEach(store: Store): number {
  let sum = 0;
  for (const row of scattered(gets, rows)) {
    const value = store.get(keyOf(Math.floor(row / rowsOfPrefix), row % rowsOfPrefix));
    sum = (sum + (value?.readUInt32BE(0) ?? 0)) % 2 ** 40;
  }
  return sum;
}
