/**
 * A transaction on top of the commits under way sees exactly the state that they leave, commits
 * behind them or not at all, and is not had while a part of them is unknown.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Machine} from '#server/simulation/machine.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {openSimulatedEngine} from '#server/simulation/simulated-engine.ts';
import {SimulatedStores} from '#server/simulation/simulated-stores.ts';
import {createPackedRows, eachRow, packKeys} from '#server/storage/packed-rows.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {closing} from '#server/testing/closing.ts';
import type {CommitOutcome} from './commit.ts';
import type {Database} from '#server/engine/database.ts';
import type {Transaction} from './transaction-contract.ts';

const bucket = 7;
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

async function start() {
  const machine = new Machine();
  const engine = closing(
    await openSimulatedEngine({
      disk: new SimulatedDisk(machine),
      stores: new SimulatedStores(machine),
      clock: {now: () => 1_000_000, monotonic: () => 0},
      timers: new ManualTimers(),
      random: createSeededRandom(1),
      schedule: task => setImmediate(task),
    }),
  );
  return {engine, machine, database: await engine.createDatabase('db')};
}

/** Appended when this returns, decided when the promise resolves. */
function put(database: Database, entries: Readonly<Record<string, string | undefined>>) {
  const transaction = database.begin('REPEATABLE_READ');
  for (const [key, value] of Object.entries(entries)) {
    if (value === undefined) transaction.delete(bytes(key));
    else transaction.put(bytes(key), bytes(value));
    transaction.count(bucket, value === undefined ? -1 : 1);
  }
  return transaction.commit();
}

function readsInFlight(database: Database): Transaction {
  return database.begin('REPEATABLE_READ', {readsInFlight: true});
}

function rowsOf(transaction: Transaction, reverse = false): string[] {
  const rows = createPackedRows(1_000);
  const scanner = transaction.scan([{start: bytes('a'), end: bytes('z')}], {reverse});
  scanner.next(rows);
  scanner.close();
  return [...eachRow(rows)].map(row => `${row.key.toString()}=${row.value?.toString() ?? ''}`);
}

test('it sees what the commits under way leave: keys, scans and counts', async () => {
  const {engine, database} = await start();
  await put(database, {a: '1', b: '1', c: '1'});
  assert.equal(database.hasInFlightCommits(), true, 'nothing is under way');
  const first = put(database, {a: '2', b: undefined});
  const emptying = database.begin('REPEATABLE_READ');
  emptying.deleteRange(bytes('c'), bytes('d'));
  const second = emptying.commit();
  const third = put(database, {d: '3'});

  const plain = database.begin('REPEATABLE_READ');
  assert.deepEqual(rowsOf(plain), ['a=1', 'b=1', 'c=1']);
  plain.rollback();

  const upon = readsInFlight(database);
  assert.deepEqual(rowsOf(upon), ['a=2', 'd=3']);
  assert.equal(upon.seesInFlight, true);
  assert.equal(upon.recordCount(bucket), 4);
  upon.put(bytes('e'), bytes('4'));
  assert.deepEqual(rowsOf(upon, true), ['e=4', 'd=3', 'a=2']);
  const rows = createPackedRows(1_000);
  const keys = ['a', 'b', 'c', 'd', 'e'].map(bytes);
  assert.equal(upon.getMany(packKeys(keys), keys.length, rows), keys.length);
  const values = [...eachRow(rows)].map(row => row.value?.toString());
  assert.deepEqual(values, ['2', undefined, undefined, '3', '4']);
  assert.equal(upon.overlays({start: bytes('d'), end: bytes('e')}), true);
  assert.equal(upon.overlays({start: bytes('x'), end: bytes('y')}), false);

  const outcomes = await Promise.all([first, second, third, upon.commit()]);
  const indexes = outcomes.map(outcome => (outcome.kind === 'committed' ? outcome.index : 0));
  assert.deepEqual(
    indexes,
    indexes.toSorted((left, right) => left - right),
    'committed, and in the order of the log',
  );
  const last = readsInFlight(database);
  assert.deepEqual(rowsOf(last), ['a=2', 'd=3', 'e=4']);
  assert.equal(last.seesInFlight, false, 'everything is decided');
  last.rollback();
  await engine.close();
});

test('what it read and others then change is a conflict; what lies below is none', async () => {
  const {engine, database} = await start();
  database.hasInFlightCommits();
  const pending = [put(database, {a: '1'})];
  const change = (from: Transaction): Promise<CommitOutcome> => {
    const value = Number(from.get(bytes('a'))?.toString());
    from.require({kind: 'unchanged', key: bytes('a')});
    from.put(bytes('a'), bytes(String(value + 1)));
    return from.commit();
  };
  for (let round = 0; round < 20; round += 1) pending.push(change(readsInFlight(database)));
  const late = readsInFlight(database);
  late.get(bytes('a'));
  pending.push(change(readsInFlight(database)));
  assert.equal((await change(late)).kind, 'conflict');
  for (const outcome of await Promise.all(pending)) assert.equal(outcome.kind, 'committed');
  const reader = database.read();
  assert.equal(reader.get(bytes('a'))?.toString(), '22');
  reader.close();
  await engine.close();
});

test('commits from before anybody asked, and too many of them, are not built upon', async () => {
  const {engine, database} = await start();
  const before = put(database, {a: '1'});
  assert.equal(database.hasInFlightCommits(), false);
  const early = readsInFlight(database);
  assert.deepEqual(rowsOf(early), []);
  assert.equal(early.seesInFlight, false);
  early.rollback();
  await before;
  assert.equal(database.hasInFlightCommits(), true);

  const keys = Array.from({length: 2_000}, (_, at) => [`a${at}`, 'x']);
  const large = put(database, Object.fromEntries(keys));
  assert.equal(database.hasInFlightCommits(), false);
  const small = put(database, {b: '1'});
  const upon = readsInFlight(database);
  assert.equal(upon.get(bytes('b')), undefined);
  upon.rollback();
  await Promise.all([large, small]);
  assert.equal(database.hasInFlightCommits(), true);
  await engine.close();
});

test('what is built on a commit that never becomes durable is never acknowledged', async () => {
  const {engine, machine, database} = await start();
  await put(database, {a: '1'});
  database.hasInFlightCommits();
  machine.failSyncAt = (machine.counts.get('sync') ?? 0) + 1;
  const lost = put(database, {a: '2'});
  const upon = readsInFlight(database);
  assert.equal(upon.get(bytes('a'))?.toString(), '2');
  upon.put(bytes('b'), bytes('1'));
  const built = upon.commit();
  assert.equal((await lost).kind, 'unknown');
  assert.equal((await built).kind, 'unknown');
  await engine.close();
});
