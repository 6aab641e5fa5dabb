/** Digests of databases: equal for what is equal however it lies in files, and for nothing else. */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {openStore} from '#server/storage/rocksdb/open.ts';
import type {Reader, Store} from '#server/storage/store.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {positionKey} from '#server/transactions/system-keys.ts';
import {closing} from '#server/testing/closing.ts';
import {type ComponentDigest, digestDatabase, fingerprintDatabase} from './digest.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-digest-'));
after(() => rmSync(base, {recursive: true}));
const world = await ServiceWorld.open({});
after(() => world.close());
let copies = 0;

const digestOf = (reader: Reader) => digestDatabase(reader, () => Promise.resolve());

/** A copy of a database of the world, with a store of its own. */
async function copyOf({name}: TestDatabase): Promise<Store> {
  const directory = join(base, `copy${++copies}`);
  await world.engine.copyDatabase(name, directory);
  return closing(await openStore(directory, {mustExist: true}));
}

function fill(): Promise<TestDatabase> {
  return world.database([
    'CREATE VERTEX TYPE Person',
    'CREATE PROPERTY Person.name STRING',
    'CREATE INDEX ON Person (name) UNIQUE',
    'CREATE EDGE TYPE Knows',
    ...['ann', 'bob', 'cleo'].map(name => `CREATE VERTEX Person SET name = '${name}'`),
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'ann') " +
      "TO (SELECT FROM Person WHERE name = 'bob')",
  ]);
}

function differing(left: readonly ComponentDigest[], right: readonly ComponentDigest[]): string[] {
  const byName = new Map(right.map(one => [one.name, one]));
  return left.filter(one => byName.get(one.name)?.checksum !== one.checksum).map(one => one.name);
}

test('a digest names every part of a database, and counts its rows', async () => {
  const store = await copyOf(await fill());
  const digests = await digestOf(store);
  const kinds = new Map(digests.map(({name, kind, rows}) => [name, {kind, rows}]));
  assert.deepEqual(kinds.get('Person_0.bucket'), {kind: 'bucket', rows: 3});
  assert.deepEqual(kinds.get('Person[name].index'), {kind: 'index', rows: 3});
  assert.deepEqual(kinds.get('Person_0.edges'), {kind: 'edges', rows: 2});
  for (const name of ['schema', 'names']) assert.ok(kinds.has(name), name);
  assert.equal(kinds.size, digests.length, 'no name is given twice');
  store.close();
});

test('how a database lies in its files, and where it stands in its log, are left out', async () => {
  const database = await fill();
  const store = await copyOf(database);
  const before = await digestOf(store);
  store.compact();
  const batch = store.batch();
  batch.put(positionKey, Buffer.alloc(56));
  store.write(batch, {sync: true});
  assert.deepEqual(await digestOf(store), before);
  store.close();
  await database.run("CREATE VERTEX Person SET name = 'dora'");
  const after = await copyOf(database);
  const changed = differing(await digestOf(after), before);
  assert.ok(changed.includes('Person[name].index') && changed.includes('counters-17'));
  assert.ok(!changed.includes('schema') && !changed.includes('Knows_0.bucket'));
  after.close();
});

test('one bit makes a difference, in the part where it is', async () => {
  const store = await copyOf(await fill());
  const before = await digestOf(store);
  const scanner = store.scan([{start: Uint8Array.of(0x40)}], {rowsMax: 1});
  const rows = scanner.next({buffer: Buffer.alloc(4096), byteLength: 0, rowCount: 0, done: false});
  const keyLength = rows.buffer.readUInt32LE(0);
  const key = Buffer.from(rows.buffer.subarray(8, 8 + keyLength));
  scanner.close();
  const value = store.get(key) ?? Buffer.alloc(0);
  const batch = store.batch();
  batch.put(key, Buffer.concat([value.subarray(0, -1), Buffer.of((value.at(-1) ?? 0) ^ 1)]));
  store.write(batch);
  assert.deepEqual(differing(await digestOf(store), before), ['Person[name].index']);
  store.close();
});

test('a row that is larger than a slice is taken like any other', async () => {
  const store = closing(await openStore(join(base, 'large')));
  const batch = store.batch();
  batch.put(Uint8Array.of(0x20, 0, 0, 0, 7, 1), Buffer.alloc(3 << 20, 'x'));
  batch.put(Uint8Array.of(0x20, 0, 0, 0, 7, 2), Buffer.alloc(10));
  batch.put(Uint8Array.of(0x77, 1), Buffer.alloc(10));
  store.write(batch);
  const [records, unknown] = await digestOf(store);
  assert.equal(records?.rows, 2);
  assert.equal(records?.name, '7.bucket');
  assert.equal(unknown?.kind, 'unknown');
  store.close();
});

test('a fingerprint is equal for equal content only, and knows no place in a log', async () => {
  const print = (reader: Reader) => fingerprintDatabase(reader, () => Promise.resolve());
  const database = await fill();
  const [store, other] = [await copyOf(database), await copyOf(database)];
  const before = await print(store);
  assert.match(before, /^[0-9a-f]{64}$/);
  assert.equal(await print(other), before);
  const moved = other.batch();
  moved.put(positionKey, Buffer.from('elsewhere'));
  other.write(moved, {sync: false});
  assert.equal(await print(other), before);
  await database.run("UPDATE Person SET name = 'dora' WHERE name = 'cleo'");
  const changed = await copyOf(database);
  assert.notEqual(await print(changed), before);
  for (const one of [store, other, changed]) one.close();
});
