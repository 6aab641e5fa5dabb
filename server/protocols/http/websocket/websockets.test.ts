/** `/ws` over a real socket: who gets in, what is told, and how connections end. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {closing} from '#server/testing/closing.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {type HttpWorld, httpWorld, rootPassword} from '#server/testing/worlds/http-world.ts';
import {WebSocketClient} from '#server/testing/worlds/web-socket-client.ts';

const asRoot = `root:${rootPassword}`;

async function openWorld(
  settings: Readonly<Record<string, string | number>> = {},
): Promise<HttpWorld> {
  const world = await httpWorld(settings);
  closing({close: () => world.server.close(0)});
  await run(world, 'CREATE DOCUMENT TYPE Note');
  await run(world, 'CREATE DOCUMENT TYPE City');
  return world;
}

async function run(world: HttpWorld, command: string): Promise<void> {
  const answer = await world.call('/command/db', {body: {language: 'sql', command}});
  assert.equal(answer.status, 200, answer.text);
}

async function client({port}: HttpWorld, who = asRoot): Promise<WebSocketClient> {
  return closing(await WebSocketClient.open(port, who));
}

const ok = (action: string): object => ({result: 'ok', action});

test('changes of the wanted type and kinds are told, each once, until unsubscribed', async () => {
  const world = await openWorld();
  const one = await client(world);
  const everything = {action: 'subscribe', database: 'db', type: 'Note'};
  assert.deepEqual(await one.ask(everything), ok('subscribe'));
  const deletes = {action: 'subscribe', database: 'db', type: 'City', changeTypes: ['delete']};
  assert.deepEqual(await one.ask(deletes), ok('subscribe'));
  await run(world, "INSERT INTO Note SET body = 'wsx'");
  await run(world, 'INSERT INTO City SET n = 1');
  await run(world, "UPDATE Note SET n = 9 WHERE body = 'wsx'");
  await run(world, 'DELETE FROM City');
  await run(world, 'DELETE FROM Note');
  const created = await one.next();
  const rid = (created['record'] as {readonly '@rid': string})['@rid'];
  const end = {'@cat': 'd', '@type': 'Note', '@rid': rid};
  const changed = {body: 'wsx', n: 9, ...end};
  assert.equal(
    JSON.stringify(created),
    JSON.stringify({changeType: 'create', record: {body: 'wsx', ...end}, database: 'db'}),
  );
  assert.deepEqual(await one.next(), {changeType: 'update', record: changed, database: 'db'});
  const {record, ...deleted} = await one.next();
  assert.deepEqual(deleted, {changeType: 'delete', database: 'db'});
  assert.equal((record as {readonly '@type': string})['@type'], 'City');
  assert.deepEqual(await one.next(), {changeType: 'delete', record: changed, database: 'db'});
  const noCities = {action: 'unsubscribe', database: 'db', type: 'City'};
  assert.deepEqual(await one.ask(noCities), ok('unsubscribe'));
  await run(world, 'INSERT INTO City SET n = 2');
  await run(world, 'DELETE FROM City');
  await run(world, 'INSERT INTO Note SET n = 3');
  assert.equal((await one.next())['changeType'], 'create');
  assert.deepEqual(await one.ask({action: 'unsubscribe', database: 'db'}), ok('unsubscribe'));
  await run(world, 'INSERT INTO Note SET n = 4');
  assert.deepEqual(await one.ask({action: 'unsubscribe', database: 'db'}), ok('unsubscribe'));
  assert.equal(one.unread, 0);
});

test('a transaction is told at its commit, and never when it is rolled back', async () => {
  const world = await openWorld();
  const one = await client(world);
  await one.ask({action: 'subscribe', database: 'db'});
  const session = async (end: string): Promise<void> => {
    const begun = await world.call('/begin/db', {method: 'POST'});
    const headers = {'svc-session-id': begun.headers.get('svc-session-id') ?? ''};
    const body = {language: 'sql', command: `INSERT INTO Note SET end = '${end}'`};
    await world.call('/command/db', {headers, body});
    await run(world, `INSERT INTO Note SET before = '${end}'`);
    await world.call(`/${end}/db`, {method: 'POST', headers});
  };
  await session('rollback');
  await session('commit');
  const told = [await one.next(), await one.next(), await one.next()];
  const records = told.map(({record}) => record as Readonly<Record<string, unknown>>);
  assert.deepEqual(
    records.map(({before, end}) => [before, end]),
    [
      ['rollback', undefined],
      ['commit', undefined],
      [undefined, 'commit'],
    ],
  );
});

test('who comes back goes on at the position that he was told', async () => {
  const world = await openWorld();
  const one = await client(world);
  const begun = await one.ask({action: 'subscribe', database: 'db', positions: true});
  assert.equal(typeof begun['position'], 'number');
  await run(world, 'INSERT INTO Note SET n = 1');
  const {position} = await one.next();
  one.close();
  await one.ended;
  await run(world, 'INSERT INTO Note SET n = 2');
  const again = await client(world);
  const back = {action: 'subscribe', database: 'db', from: position};
  assert.deepEqual(await again.ask(back), {...ok('subscribe'), position});
  const {record} = await again.next();
  assert.equal((record as Readonly<Record<string, unknown>>)['n'], 2);
  const tooOld = await again.ask({action: 'subscribe', database: 'db', from: 0});
  assert.equal(tooOld['error'], 'Changes lost');
});

test('who may not read is not told, and is let go when he is no user any more', async () => {
  const world = await openWorld();
  const {security} = world;
  await security.saveGroup('db', 'readers', {access: [], types: {Note: {access: ['readRecord']}}});
  await security.createUser({name: 'bert', password: 'bert-pass', databases: {db: ['readers']}});
  const bert = await client(world, 'bert:bert-pass');
  const cities = await bert.ask({action: 'subscribe', database: 'db', type: 'City'});
  assert.deepEqual([cities['result'], cities['error']], ['error', 'Security error']);
  assert.deepEqual(await bert.ask({action: 'subscribe', database: 'db'}), ok('subscribe'));
  await run(world, 'INSERT INTO City SET n = 1');
  await run(world, 'INSERT INTO Note SET n = 1');
  assert.equal(((await bert.next())['record'] as {readonly '@type': string})['@type'], 'Note');
  await security.changeUser('bert', {password: 'another-pass', databases: undefined});
  const ended = await bert.next();
  assert.deepEqual([ended['error'], ended['database']], ['Security error', 'db']);
  const again = await bert.ask({action: 'subscribe', database: 'db'});
  assert.equal(again['error'], 'Authentication failed');
});

test('a reader that falls too far behind is told that it lost changes', async () => {
  const world = await openWorld({
    'svc.changes.bytesMax': 1 << 20,
    'svc.server.eventBusMaxPendingBytes': 64 << 10,
  });
  const slow = await client(world);
  await slow.ask({action: 'subscribe', database: 'db'});
  slow.socket.pause();
  const body = 'x'.repeat(100_000);
  for (let n = 0; n < 200; n++) await run(world, `INSERT INTO Note SET n = ${n}, body = '${body}'`);
  slow.socket.resume();
  for (let n = 0; ; n++) {
    const frame = await slow.next();
    if (frame['result'] === 'error') {
      assert.deepEqual([frame['error'], frame['database']], ['Changes lost', 'db']);
      break;
    }
    assert.equal((frame['record'] as Readonly<Record<string, unknown>>)['n'], n);
    assert.ok(n < 199, 'something is lost');
  }
  assert.deepEqual(await slow.ask({action: 'subscribe', database: 'db'}), ok('subscribe'));
});

test('messages that mean nothing are answered, and the connection goes on', async () => {
  const one = await client(await openWorld());
  const unread = ['Unable to parse JSON', 'JSONException'] as const;
  const wrong = ['Message error', 'IllegalArgumentException'] as const;
  const answers: readonly (readonly [unknown, string, string])[] = [
    ['not json', ...unread],
    ['[1]', ...unread],
    [{}, ...wrong],
    [{action: 'nope', database: 'db'}, 'Unknown action', 'IllegalArgumentException'],
    [{action: 'subscribe'}, ...unread],
    [
      {action: 'subscribe', database: 'nope'},
      'Database not found',
      'DatabaseNotAvailableException',
    ],
    [{action: 'subscribe', database: 'db', changeTypes: ['zzz']}, ...wrong],
    [{action: 'subscribe', database: 'db', type: 5}, ...wrong],
    [{action: 'subscribe', database: 'db', from: -1}, ...wrong],
  ];
  for (const [frame, error, exception] of answers) {
    const answer = await one.ask(frame);
    const told = [answer['result'], answer['error'], answer['exception']];
    assert.deepEqual(told, ['error', error, exception]);
  }
  const unknownType = {action: 'subscribe', database: 'db', type: 'Nope'};
  assert.deepEqual(await one.ask(unknownType), ok('subscribe'));
  for (let count = 0; count < 200; count++) one.send({action: 'unsubscribe', database: 'db'});
  for (let count = 0; count < 200; count++) assert.deepEqual(await one.next(), ok('unsubscribe'));
  one.socket.send(Buffer.from('{}'), {binary: true});
  assert.equal((await one.next())['error'], 'Message error');
  one.send(`{"action":"${'x'.repeat(70_000)}"}`);
  assert.equal(await one.ended, 1009);
});

test('nobody gets in without credentials, from another host, or by another door', async () => {
  const world = await openWorld();
  await assert.rejects(WebSocketClient.open(world.port, ''), /401/);
  await assert.rejects(WebSocketClient.open(world.port, 'root:wrong'), /401/);
  const evil = WebSocketClient.open(world.port, asRoot, {origin: 'https://evil.example'});
  await assert.rejects(evil, /403/);
  const own = {origin: `http://127.0.0.1:${world.port}`};
  closing(await WebSocketClient.open(world.port, asRoot, own)).close();
  assert.equal((await world.call('//ws')).status, 404);
  const upgrade = 'Connection: Upgrade, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
  const answer = await world.raw(`GET /api/v1/health HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`);
  assert.match(answer, /^HTTP\/1\.1 204 /);
  const counted = async (): Promise<Readonly<Record<string, string>>> => {
    const {text} = await world.call('//prometheus');
    const lines = text.matchAll(/_seconds_count\{.*path="\/ws",status="(\d+)".*\} (\d+)/g);
    return Object.fromEntries(Array.from(lines, ([, status = '', count = '']) => [status, count]));
  };
  await eventually('those who were refused are counted', async () => {
    return Object.keys(await counted()).length === 3;
  });
  assert.deepEqual(await counted(), {'101': '1', '401': '2', '403': '1'});
});

test('a client that is silent is disconnected, and a server that stops says so', async () => {
  const settings = {'svc.network.keepAliveTimeout': '100ms', 'svc.changes.subscriptionsMax': 1};
  const world = await openWorld(settings);
  const dead = await client(world);
  await dead.ask({action: 'subscribe', database: 'db'});
  const alive = await client(world);
  // Its sockets read nothing, so it answers no ping.
  dead.socket.pause();
  const subscribe = {action: 'subscribe', database: 'db'};
  assert.equal((await alive.ask(subscribe))['result'], 'error');
  await eventually('the dead client is let go, with its subscription', async () => {
    const answer = await alive.ask(subscribe);
    return answer['result'] === 'ok';
  });
  const closed = world.server.close(5_000);
  assert.equal(await alive.ended, 1001);
  await closed;
});
