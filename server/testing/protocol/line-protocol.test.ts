/** What a protocol gets from the service it stands on, shown by the smallest one there can be. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {eventually} from '../time/eventually.ts';
import {type Fields, login, places} from './line-world.ts';

const many = {
  text: 'UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS n RETURN n',
  language: 'cypher',
};

test('the protocol is small', () => {
  const text = readFileSync(join(import.meta.dirname, 'line-protocol.ts'), 'utf8');
  const lines = text.trimEnd().split('\n').length;
  assert.ok(lines <= 150, `${lines} lines`);
});

for (const [place, open] of Object.entries(places)) {
  test(`all that a protocol needs is there at ${place}`, async () => {
    const {client, forwarded} = await open();
    const one = client();
    assert.equal((await one.ask('run', {text: 'SELECT 1'}))['refused'], 'security.unauthenticated');
    const wrong = await one.ask('login', {...login, password: 'wrong-password'});
    assert.equal(wrong['refused'], 'security.unauthenticated');
    assert.equal((await one.ask('login', login))['done'], true);

    const text = 'SELECT n FROM Person WHERE n < :top ORDER BY n';
    const known = {columns: {n: 'INTEGER'}, parameters: {top: 'INTEGER'}};
    assert.deepEqual(await one.ask('prepare', {text}), {id: undefined, ...known});
    const people = Array.from({length: 5}, (_one, n) => {
      return {type: 'Person', properties: {n}, id: `p${n}`};
    });
    const records = [...people, {type: 'Knows', properties: {}, from: 'p0', to: 'p1'}];
    for (const time of ['first', 'second']) {
      const {vertices, edges} = await one.ask('load', {records, once: 'load'});
      assert.deepEqual([vertices, edges], [5, 1], `the ${time} time`);
    }
    const run = await one.ask('run', {text, values: {top: 4}});
    assert.deepEqual(run['columns'], ['n']);
    const page = {cursor: '7', rows: 3};
    assert.deepEqual((await one.ask('next', page))['rows'], [[0], [1], [2]]);
    assert.deepEqual((await one.ask('next', page))['rows'], [[3]]);

    await one.ask('subscribe');
    const made = await one.ask('insert', {type: 'Person', values: {n: 9}});
    const {'@rid': rid, n} = made['record'] as Fields;
    assert.equal(n, 9);
    assert.deepEqual(await one.event(), {event: 'create', type: 'Person'});
    const changed = (await one.ask('update', {rid, values: {n: 10}}))['record'] as Fields;
    assert.equal(changed['n'], 10);
    assert.deepEqual(await one.event(), {event: 'update', type: 'Person'});
    assert.deepEqual((await one.ask('get', {rid}))['record'], changed);
    for (const [end, count] of [
      ['rollback', 0],
      ['commit', 1],
    ] as const) {
      const {transaction} = await one.ask('begin');
      await one.ask('insert', {type: 'Person', values: {n: 77}, transaction});
      assert.equal((await one.ask(end, {transaction}))['done'], true);
      const found = await one.ask('run', {text: 'SELECT FROM Person WHERE n = 77'});
      assert.equal(found['refused'], undefined);
      const cursor = one.lastId;
      assert.equal(((await one.ask('next', {cursor, rows: 9}))['rows'] as []).length, count, end);
    }
    assert.deepEqual(await one.event(), {event: 'create', type: 'Person'});
    assert.equal((await one.ask('delete', {rid}))['deleted'], true);
    assert.deepEqual(await one.event(), {event: 'delete', type: 'Person'});

    assert.match(String((await one.ask('list databases'))['answer']), /db1/);
    await one.ask('begin', {as: 'the tester'});
    const begun = String((await one.ask('list transactions'))['answer']);
    assert.match(begun, /"clientName":"the tester"/);
    await one.ask('create user {"name": "lina", "password": "lina-password"}');
    const lina = client();
    await lina.ask('login', {user: 'lina', password: 'lina-password'});
    assert.equal((await lina.ask('list databases'))['answer'], '[]');
    assert.equal((await lina.ask('drop database db1'))['refused'], 'security.root-only');
    assert.equal((await lina.ask('run', {text}))['refused'], 'security.denied');
    // The member carries out what only reads, and has the leader do everything else.
    const done = ['administer', 'begin', 'commit', 'load', 'rollback', 'run'];
    assert.deepEqual([...forwarded()].sort(), place === 'a follower' ? done : []);
  });

  test(`a commit at ${place} is waited for no longer than its time`, async () => {
    const {load, client} = await open();
    const one = client();
    await one.ask('login', login);
    const {transaction} = await one.ask('begin');
    await one.ask('insert', {type: 'Person', values: {n: 1}, transaction});
    // Rows that nobody takes hold the transaction: its commit waits for them.
    await one.ask('run', {...many, transaction});
    const late = await one.ask('commit', {transaction, within: 20});
    assert.equal(late['refused'], 'commit.unknown', JSON.stringify(late));
    assert.match(String(late['message']), /within \d+ ms/);
    one.close();
    await eventually('nothing of it is left', () => {
      return Object.values(load()).every(count => count === 0);
    });
  });

  test(`a client of ${place} may begin a transaction that only reads`, async () => {
    const {client} = await open();
    const one = client();
    await one.ask('login', login);
    const {transaction} = await one.ask('begin', {only: 'read'});
    const read = await one.ask('run', {text: 'SELECT count(*) AS c FROM Person', transaction});
    assert.deepEqual(read['columns'], ['c']);
    const written = await one.ask('insert', {type: 'Person', values: {n: 1}, transaction});
    assert.equal(written['refused'], 'query.not-idempotent');
    const plain = await one.ask('insert', {type: 'Person', values: {n: 1}, only: 'read'});
    assert.equal(plain['refused'], 'query.not-idempotent');
  });

  test(`a client of ${place} that goes leaves nothing behind`, async () => {
    const {load, client} = await open();
    const one = client();
    await one.ask('login', login);
    const {transaction} = await one.ask('begin');
    await one.ask('insert', {type: 'Person', values: {n: 1}, transaction});
    await one.ask('subscribe');
    assert.deepEqual((await one.ask('run', many))['columns'], ['n']);
    one.close();
    await eventually('its transaction and statements end', () => {
      const {transactionsOpen, queriesRunning} = load();
      return transactionsOpen === 0 && queriesRunning === 0;
    });
    const next = client();
    await next.ask('login', login);
    await next.ask('run', {text: 'SELECT count(*) AS c FROM Person'});
    assert.deepEqual((await next.ask('next', {cursor: '2', rows: 1}))['rows'], [[0]]);
  });
}
