/**
 * What a transaction promises: isolation, read-your-own-writes, savepoints, limits, and outcomes
 * that say what happened. On the simulated machine.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {Machine} from '#server/simulation/machine.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {openSimulatedEngine} from '#server/simulation/simulated-engine.ts';
import {SimulatedStores} from '#server/simulation/simulated-stores.ts';
import {createPackedRows, eachRow, packKeys} from '#server/storage/packed-rows.ts';
import {type Store, StoreFailure} from '#server/storage/store.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import type {Database} from '#server/engine/database.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {EngineSettings} from '#server/engine/engine-options.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {closing} from '#server/testing/closing.ts';
import {catalogKey} from './system-keys.ts';

interface Fixture {
  readonly engine: Engine;
  readonly database: Database;
  readonly machine: Machine;
  /** Simulated monotonic milliseconds. */
  time: number;
  /** How far the system's time was set from it. */
  readonly wall: {offsetMs: number};
  /** Told to, every write of the stores fails. */
  readonly stores: {failWrites: boolean};
}

async function start(settings: Partial<EngineSettings> = {}): Promise<Fixture> {
  const machine = new Machine();
  const simulated = new SimulatedStores(machine);
  const failing = {failWrites: false};
  const time = {now: 0};
  const wall = {offsetMs: 1_000_000};
  const stores = {
    exists: simulated.exists.bind(simulated),
    list: simulated.list.bind(simulated),
    rename: simulated.rename.bind(simulated),
    remove: simulated.remove.bind(simulated),
    isPending: simulated.isPending.bind(simulated),
    setPending: simulated.setPending.bind(simulated),
    async open(path: string, options?: {readonly mustExist?: boolean}): Promise<Store> {
      const store = await simulated.open(path, options);
      const write = store.write.bind(store);
      return Object.assign(store, {
        write(...given: Parameters<Store['write']>) {
          const fails = failing.failWrites && path.endsWith('/db');
          if (fails) throw new StoreFailure('io', 'the store cannot write');
          write(...given);
        },
      });
    },
  };
  const engine = closing(
    await openSimulatedEngine({
      disk: new SimulatedDisk(machine),
      stores,
      clock: {now: () => wall.offsetMs + time.now, monotonic: () => time.now},
      timers: new ManualTimers(),
      random: createSeededRandom(1),
      schedule: task => setImmediate(task),
      settings,
    }),
  );
  const database = await engine.createDatabase('db');
  return {
    engine,
    database,
    machine,
    stores: failing,
    wall,
    get time() {
      return time.now;
    },
    set time(value) {
      time.now = value;
    },
  };
}

const bytes = (text: string) => Buffer.from(text, 'latin1');

async function put(database: Database, key: string, value: string) {
  const transaction = database.begin('READ_COMMITTED');
  transaction.put(bytes(key), bytes(value));
  return await transaction.commit();
}

const text = (value: Buffer | undefined) => value?.toString('latin1');

test('READ_COMMITTED moves with each statement, REPEATABLE_READ stays', async () => {
  const {database, engine} = await start();
  await put(database, 'a', '1');
  const moving = database.begin('READ_COMMITTED');
  const staying = database.begin('REPEATABLE_READ');
  for (const transaction of [moving, staying]) assert.equal(text(transaction.get(bytes('a'))), '1');
  await put(database, 'a', '2');
  assert.equal(text(moving.get(bytes('a'))), '1', 'one statement sees one state');
  for (const transaction of [moving, staying]) transaction.beginStatement();
  assert.equal(text(moving.get(bytes('a'))), '2');
  assert.equal(text(staying.get(bytes('a'))), '1');
  assert.ok(moving.snapshotIndex > staying.snapshotIndex);
  moving.rollback();
  staying.rollback();
  assert.equal(database.liveSnapshotCount, 0);
  await engine.close();
});

test('own writes are read by key, by keys and by scan, and nobody else sees them', async () => {
  const {database, engine} = await start();
  await put(database, 'b', 'old');
  const transaction = database.begin('READ_COMMITTED');
  transaction.put(bytes('a'), bytes('1'));
  transaction.delete(bytes('b'));
  transaction.put(bytes('c'), bytes('3'));
  const keys = [bytes('c'), bytes('b'), bytes('x'), bytes('a')];
  const rows = createPackedRows(1000);
  assert.equal(transaction.getMany(packKeys(keys), keys.length, rows), 4);
  assert.deepEqual(
    [...eachRow(rows)].map(row => text(row.value)),
    ['3', undefined, undefined, '1'],
  );
  const scanner = transaction.scan([{start: bytes('a'), end: bytes('z')}]);
  assert.deepEqual(
    [...eachRow(scanner.next(rows))].map(row => text(row.key)),
    ['a', 'c'],
  );
  scanner.close();
  const other = database.read();
  assert.equal(text(other.get(bytes('b'))), 'old');
  assert.equal(other.get(bytes('a')), undefined);
  other.close();
  transaction.rollback();
  await engine.close();
});

test('a savepoint takes back writes, counts and conditions', async () => {
  const {database, engine} = await start();
  await put(database, 'a', '1');
  const transaction = database.begin('READ_COMMITTED');
  transaction.count(1, 1);
  const savepoint = transaction.savepoint();
  transaction.put(bytes('a'), bytes('2'));
  transaction.require({kind: 'unchanged', key: bytes('a')});
  transaction.count(1, 5);
  assert.equal(transaction.recordCount(1), 6);
  transaction.rollbackTo(savepoint);
  assert.equal(text(transaction.get(bytes('a'))), '1');
  assert.equal(transaction.recordCount(1), 1);
  // The condition is gone with the statement that made it.
  await put(database, 'a', '3');
  assert.equal((await transaction.commit()).kind, 'committed');
  assert.equal(database.recordCount(1), 1);
  await engine.close();
});

test('a deleted end of an edge, and a vertex that got an edge, are conflicts', async () => {
  const {database, engine} = await start();
  await put(database, 'v', '1');
  const edge = database.begin('READ_COMMITTED');
  edge.require({kind: 'present', key: bytes('v')});
  edge.put(bytes('e1'), bytes('x'));
  const removal = database.begin('READ_COMMITTED');
  removal.require({kind: 'unpinned', key: bytes('v')});
  removal.delete(bytes('v'));
  assert.equal((await edge.commit()).kind, 'committed');
  assert.equal((await removal.commit()).kind, 'conflict');
  const late = database.begin('READ_COMMITTED');
  late.require({kind: 'present', key: bytes('v')});
  late.put(bytes('e2'), bytes('x'));
  const second = database.begin('READ_COMMITTED');
  second.require({kind: 'unpinned', key: bytes('v')});
  second.delete(bytes('v'));
  assert.equal((await second.commit()).kind, 'committed');
  assert.equal((await late.commit()).kind, 'conflict');
  await engine.close();
});

test('a duplicate found at commit names index and key', async () => {
  const {database, engine} = await start();
  const insert = () => {
    const transaction = database.begin('READ_COMMITTED');
    const unique = {index: 'Person[email]', text: 'a@b'};
    transaction.require({kind: 'unchanged', key: bytes('u'), unique});
    transaction.put(bytes('u'), bytes(String(transaction.nextPosition(1))));
    return transaction.commit();
  };
  const [first, second] = await Promise.all([insert(), insert()]);
  assert.equal(first.kind, 'committed');
  assert.ok(second.kind === 'conflict' && second.unique?.index === 'Person[email]');
  await engine.close();
});

test('deadline, size and entry limits refuse with the setting to change', async () => {
  const limits = {...defaultEngineSettings};
  const fixture = await start({
    transaction: {writeBytesMax: 5000, durationMsMax: 1000},
    commit: {...limits.commit, entryBytesMax: 3000},
  });
  const {database, engine} = fixture;
  const large = database.begin('READ_COMMITTED');
  assert.throws(
    () => large.put(bytes('a'), Buffer.alloc(6000)),
    (error: unknown) => error instanceof Refusal && error.code === 'transaction.too-large',
  );
  large.rollback();
  const entry = database.begin('READ_COMMITTED');
  assert.throws(() => entry.put(bytes('a'), Buffer.alloc(4000)), {
    code: 'limit.entry',
    message: /svc\.ha\.appendBufferSize/,
  });
  entry.rollback();
  // Only the entry's own bytes are too many.
  const edge = database.begin('READ_COMMITTED');
  edge.put(bytes('a'), Buffer.alloc(2990));
  const outcome = await edge.commit();
  assert.ok(outcome.kind === 'refused' && outcome.code === 'too-large');
  assert.match(outcome.detail, /svc\.ha\.appendBufferSize/);
  const slow = database.begin('READ_COMMITTED');
  slow.put(bytes('a'), bytes('1'));
  fixture.time += 2000;
  await assert.rejects(
    slow.commit(),
    (error: unknown) => error instanceof Refusal && error.code === 'transaction.expired',
  );
  assert.equal(slow.open, false);
  await engine.close();
});

test('listeners hear of a schema before its commit resolves; older plans conflict', async () => {
  const {database, engine} = await start();
  const heard: string[] = [];
  database.onCatalogChange((catalog, version) => heard.push(`${text(catalog)} ${version}`));
  const stale = database.begin('READ_COMMITTED');
  stale.put(bytes('a'), bytes('1'));
  const change = database.begin('READ_COMMITTED');
  change.put(catalogKey, bytes('catalog one'));
  change.newSchemaVersion = 1;
  assert.equal((await change.commit()).kind, 'committed');
  assert.deepEqual(heard, ['catalog one 1']);
  assert.equal(database.schemaVersion, 1);
  assert.equal((await stale.commit()).kind, 'conflict');
  await engine.close();
});

test('a store that cannot write fences its database alone', async () => {
  const {database, engine, stores} = await start();
  const other = await engine.createDatabase('other');
  await put(database, 'a', '1');
  stores.failWrites = true;
  assert.equal((await put(database, 'a', '2')).kind, 'unknown');
  assert.equal(engine.status('db'), 'fenced');
  assert.throws(() => database.begin('READ_COMMITTED'), /cannot write/);
  assert.equal((await put(other, 'a', '1')).kind, 'committed');
  assert.equal(engine.failure, undefined);
  await engine.close();
});

test('after a failed sync commits are unknown, then refused, and the engine says so', async () => {
  const {database, engine, machine} = await start();
  let told: string | undefined;
  engine.listen({failed: reason => (told = reason)});
  machine.failSyncAt = (machine.counts.get('sync') ?? 0) + 1;
  assert.equal((await put(database, 'a', '1')).kind, 'unknown');
  const next = await put(database, 'b', '1');
  assert.ok(next.kind === 'refused' && next.code === 'log-failed');
  assert.match(told ?? '', /EIO/);
  await engine.close();
});

test('a system time that jumps ends no transaction and forgets no request', async () => {
  const fixture = await start();
  const {database, engine, wall} = fixture;
  const write = (requestId?: string): ReturnType<ReturnType<Database['begin']>['commit']> => {
    const transaction = database.begin('READ_COMMITTED');
    transaction.put(bytes('k'), bytes(String(fixture.time)));
    return transaction.commit(requestId);
  };
  const first = await write('once');
  const open = database.begin('REPEATABLE_READ');
  open.put(bytes('other'), bytes('1'));
  const year = 366 * 24 * 3_600_000;
  for (const jump of [year, -2 * year, year]) {
    wall.offsetMs += jump;
    for (let n = 0; n < 5; n += 1) assert.equal((await write(`${jump}.${n}`)).kind, 'committed');
    const again = await write('once');
    assert.ok(again.kind === 'committed' && again.repeated === true);
    assert.ok(first.kind === 'committed' && again.index === first.index);
  }
  assert.equal((await open.commit()).kind, 'committed');
  await engine.close();
});
