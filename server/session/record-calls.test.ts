/** Records by id without a text, and what belongs to the connection of a client. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import {Rid, type Value} from '#server/model/value.ts';
import {closing} from '#server/testing/closing.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {RecordCalls} from './record-calls.ts';
import type {LoadedRecord} from './session.ts';

const map = (entries: Readonly<Record<string, Value>>): Map<string, Value> =>
  new Map(Object.entries(entries));

const refused =
  (code: RefusalCode) =>
  (error: unknown): boolean =>
    error instanceof Refusal && error.code === code;

const person = (name: string): LoadedRecord => ({type: 'Person', properties: map({name})});

const oddName = 'Ünd select-from';
const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.name STRING (mandatory true)',
  'CREATE INDEX ON Person (name) UNIQUE',
  'CREATE EDGE TYPE Knows',
  `CREATE DOCUMENT TYPE \`${oddName}\``,
];

async function open(): Promise<{readonly database: TestDatabase; readonly calls: RecordCalls}> {
  const world = closing(await ServiceWorld.open());
  const database = await world.database(schema);
  const calls = new RecordCalls(database.service, root, {database: database.name});
  return {database, calls};
}

test('a record is made, read, merged, replaced and deleted by its id', async () => {
  const {calls} = await open();
  const made = await calls.insert('Person', map({name: 'Ada', age: 36}));
  assert.ok(made);
  const {rid} = made;
  assert.deepEqual([made.typeName, made.kind, made.get('age')], ['Person', 'vertex', 36]);
  const merged = await calls.update(rid, map({age: 37, city: 'London'}), 'merge');
  assert.deepEqual(merged?.properties(), map({name: 'Ada', age: 37, city: 'London'}));
  const replaced = await calls.update(rid, map({name: 'Ada L.'}), 'replace');
  assert.deepEqual(replaced?.properties(), map({name: 'Ada L.'}));
  assert.deepEqual((await calls.get(rid))?.properties(), map({name: 'Ada L.'}));
  await assert.rejects(calls.update(rid, map({age: 1}), 'replace'), refused('value.validation'));
  assert.equal(await calls.delete(rid), true);
  assert.equal(await calls.delete(rid), false);
  assert.equal(await calls.get(rid), undefined);
  assert.equal(await calls.update(rid, map({age: 1}), 'merge'), undefined);
  assert.equal(await calls.get(new Rid(9_999, 0)), undefined);
});

test('edges, odd names, several at once, and as a stream', async () => {
  const {calls, database} = await open();
  const [ada, bob] = await calls.insertMany('Person', [map({name: 'Ada'}), map({name: 'Bob'})]);
  assert.ok(ada && bob);
  const edge = await calls.insert('Knows', map({since: 9}), {from: ada.rid, to: bob.rid});
  assert.deepEqual([edge?.from, edge?.to, edge?.get('since')], [ada.rid, bob.rid, 9]);
  const odd = await calls.insert(oddName, map({n: 1}));
  assert.equal(odd?.typeName, oddName);
  await assert.rejects(calls.insert('Nobody', map({})), refused('schema.unknown-type'));
  await assert.rejects(
    calls.insertMany('Person', [map({name: 'Cleo'}), map({name: 'Ada'})]),
    refused('commit.duplicate-key'),
  );
  assert.equal((await database.run('SELECT FROM Person')).length, 2);
  async function* stream(): AsyncGenerator<LoadedRecord> {
    for (let n = 0; n < 2_500; n++) yield person(`p${n}`);
  }
  assert.equal((await calls.load(stream())).vertices, 2_500);
  const twice = ['q1', 'q2', 'q3', 'q1'].map(person);
  await assert.rejects(calls.load(twice, 2), refused('commit.duplicate-key'));
  const left = await database.run("SELECT name FROM Person WHERE name LIKE 'q%' ORDER BY name");
  assert.deepEqual(left, [{name: 'q1'}, {name: 'q2'}]);
});

test('rights are those of statements', async () => {
  const {calls, database} = await open();
  const rights = {access: new Set([]), types: new Map(), resultSetLimit: -1, readTimeout: -1};
  const grants = new Map([[database.name, []]]);
  const who = {name: 'apitoken:x', root: false, grants, rights};
  const theirs = new RecordCalls(database.service, who, {database: database.name});
  const ada = await calls.insert('Person', map({name: 'Ada'}));
  assert.ok(ada);
  await assert.rejects(theirs.get(ada.rid), refused('security.denied'));
  await assert.rejects(theirs.insert('Person', map({name: 'B'})), refused('security.denied'));
  await assert.rejects(theirs.delete(ada.rid), refused('security.denied'));
});

test('a transaction of a connection is not idle, and ends with the connection', async () => {
  const timers = new ManualTimers();
  const world = closing(await ServiceWorld.open({}, {clock: timers, timers}));
  const database = await world.database(schema);
  const {service, name} = database;
  const connection = service.connect();
  const transactionId = await service.begin(root, name, {tag: 'tag', connection});
  const idle = await service.begin(root, name);
  const scope = {database: name, transactionId, signal: connection.signal};
  const calls = new RecordCalls(service, root, scope);
  await calls.insert('Person', map({name: 'Ada'}));
  timers.advance(3_600_000);
  assert.equal(service.transactionIsLive(root, name, idle), false);
  assert.equal((await calls.insertMany('Person', [map({name: 'Bob'})])).length, 1);
  connection.close();
  connection.close();
  assert.equal(service.transactionIsLive(root, name, transactionId), false);
  await assert.rejects(calls.insert('Person', map({name: 'Cleo'})), Refusal);
  assert.deepEqual(await database.run('SELECT FROM Person'), []);
  assert.deepEqual([service.load.transactionsOpen, service.queries(root)], [0, []]);
});

test('a request ends at its own deadline, where that is the nearest', async () => {
  const world = closing(await ServiceWorld.open({'svc.command.timeout': '10m'}));
  const database = await world.database([]);
  const text = 'UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b)';
  const request = {...database.request(text), language: 'cypher', timeoutMs: 20};
  const running = (async () => {
    const cursor = await database.service.rows(root, request);
    await cursor.next(1);
  })();
  await assert.rejects(running, refused('query.timeout'));
});
