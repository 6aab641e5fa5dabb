/**
 * Bad input against one real server: malformed requests, statements and batches, requests that two
 * readers could read differently, clients that are slow, deaf, idle or leave, and transactions that
 * nobody ends.
 *
 * Whatever is sent: the status, exception and place that are due, an answer within 20 s (without
 * what the server waited for a processor), and what hostile-round.ts holds.
 */
import assert from 'node:assert/strict';
import type {Socket} from 'node:net';
import {after, before, test} from 'node:test';
import {setTimeout as pause} from 'node:timers/promises';
import {eventually} from '../time/eventually.ts';
import {badRequests, hostileNames, hostilePaths} from './bad-requests.ts';
import {badBatches, badStatements} from './bad-statements.ts';
import {authorization, hangMillis, head, type HostileWorld} from './fuzz-world.ts';
import {check, HostileRound} from './hostile-round.ts';
import type {PoliteClient} from './polite-client.ts';

const idleConnections = 2_000;
const openSessions = 1_000;

let round: HostileRound;
let world: HostileWorld;
let polite: PoliteClient;

before(async () => {
  round = await HostileRound.start({
    'svc.network.socketTimeout': 2_000,
    'svc.network.maxPreAuthConnections': 2 * idleConnections,
    'svc.server.httpSessionExpireTimeout': 20,
  });
  ({world, polite} = round);
});

after(() => round?.dispose());

test(`${openSessions} open transactions end by themselves and leave nothing`, async () => {
  const ids: string[] = [];
  for (let at = 0; at < openSessions; at += 50) {
    const begun = await Promise.all(
      Array.from({length: 50}, () => world.call('/begin/hostile', {body: '{}'})),
    );
    for (const {status, headers} of begun) {
      assert.equal(status, 204);
      ids.push(String(headers['svc-session-id']));
    }
  }
  for (const id of ids.slice(0, 100)) {
    const headers = {'svc-session-id': id};
    const body = {language: 'sql', command: 'INSERT INTO D SET i = 1'};
    const {status, text} = await world.call('/command/hostile', {body, headers});
    assert.equal(status, 200, text);
  }
  assert.equal(await world.value('SELECT count(*) FROM D'), 0);
  const [first = '', second = ''] = ids;
  const other = await world.call('/rollback/hostile', {
    body: '{}',
    headers: {'svc-session-id': first},
  });
  assert.equal(other.status, 204);
  const gone = await world.call('/commit/hostile', {
    body: '{}',
    headers: {'svc-session-id': first},
  });
  assert.equal(gone.status, 404);
  assert.match((await world.administer(`terminate transaction ${second}`)).text, /"terminated"/);
  round.checkOthers('open transactions', 2_000);
});

test('every malformed request is refused with its class and place', async () => {
  for (const {what, path, call, ...wanted} of badRequests()) {
    check(await world.call(path, call), wanted, what);
  }
  round.checkOthers('malformed requests');
});

test('hostile names of databases are refused on every route', async () => {
  for (const name of hostileNames) {
    const {status, text} = await world.administer(`create database ${name}`);
    assert.equal(status, 400, `${JSON.stringify(name)}: ${text}`);
    for (const verb of ['drop', 'open', 'close']) {
      const answer = await world.administer(`${verb} database ${name}`);
      assert.ok([400, 404].includes(answer.status), `${verb} ${JSON.stringify(name)}`);
    }
  }
  const body = JSON.stringify({language: 'sql', command: 'SELECT 1'});
  for (const path of hostilePaths) {
    for (const route of ['query', 'command', 'begin', 'batch']) {
      const line = `POST /api/v1/${route}/${path}`;
      const sent = route === 'begin' ? '{}' : body;
      const answer = await world.raw(
        head(line, 'Connection: close', `Content-Length: ${sent.length}`) + sent,
      );
      assert.match(answer, /^HTTP\/1\.1 40[04] /, `${route} ${path}`);
    }
    const exists = await world.raw(head(`GET /api/v1/exists/${path}`, 'Connection: close'));
    assert.match(exists, /^HTTP\/1\.1 4|"result":false/, path);
    const get = await world.raw(
      head(`GET /api/v1/query/${path}/sql/SELECT%201`, 'Connection: close'),
    );
    assert.match(get, /^HTTP\/1\.1 40[04] /, path);
  }
  const {text} = await world.administer('list databases');
  assert.deepEqual(JSON.parse(text), {result: ['hostile']});
  round.checkOthers('hostile names');
});

test('bad statements are refused at their place and store nothing', async () => {
  for (const {command, params, ...wanted} of badStatements) {
    const more = params === undefined ? {} : {params};
    check(await world.command(command, more), wanted, command.slice(0, 60));
  }
  assert.equal(await world.value('SELECT count(*) FROM D'), 0);
  assert.equal(await world.value('SELECT count(*) FROM V'), 1);
  assert.equal(await world.value('SELECT count(*) FROM E'), 0);
  round.checkOthers('bad statements');
});

test('bad batches store nothing and say where they are wrong', async () => {
  for (const {body, query, type, ...wanted} of badBatches) {
    const call = {body, headers: {'Content-Type': type}};
    const what = `${query} ${String(body).slice(0, 60)}`;
    check(await world.call(`/batch/hostile${query}`, {method: 'POST', ...call}), wanted, what);
  }
  assert.equal(await world.value('SELECT count(*) FROM V'), 1);
  assert.equal(await world.value('SELECT count(*) FROM E'), 0);
  round.checkOthers('batches');
});

test('a batch that is cut off counts what it stored, or stores nothing', async () => {
  const batch = head('POST /api/v1/batch/hostile', 'Content-Length: 1000');
  const lines = '{"@type":"vertex","@class":"V","k":7001}\n{"@type":"ver';
  const listens = await world.connection();
  let received = '';
  listens.on('data', data => (received += data.toString('latin1')));
  listens.end(batch + lines);
  await new Promise(resolve => listens.once('close', resolve));
  assert.match(received, /^HTTP\/1\.1 408 .*"verticesCreated":1,/s);
  assert.equal(await world.value('SELECT count(*) FROM V WHERE k = 7001'), 1);
  assert.equal((await world.command('DELETE FROM V WHERE k = 7001')).status, 200);

  const leaves = await world.connection();
  leaves.write(batch + lines);
  await pause(50);
  leaves.resetAndDestroy();
  await pause(200);
  assert.equal(await world.value('SELECT count(*) FROM V WHERE k = 7001'), 0);
  round.checkOthers('cut batches', 2_000);
});

test('a write in front of nonsense is answered as what it was', async () => {
  const insert = JSON.stringify({language: 'sql', command: 'INSERT INTO D SET i = 7'});
  const line = head('POST /api/v1/command/hostile', `Content-Length: ${insert.length}`);
  const answer = await world.raw(`${line}${insert}nonsense\r\n\r\n`);
  const stored = await world.value('SELECT count(*) FROM D WHERE i = 7');
  assert.match(answer, stored === 1 ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 400 /);
  assert.equal((await world.command('DELETE FROM D')).status, 200);
});

const ok = JSON.stringify({language: 'sql', command: 'SELECT 1'});
const post = 'POST /api/v1/command/hostile';
const length = `Content-Length: ${ok.length}`;
const chunked = 'Transfer-Encoding: chunked';

test('a request that two readers could read differently is refused', async () => {
  const smuggled = `${ok}GET /api/v1/databases HTTP/1.1\r\nHost: x\r\n\r\n`;
  const requests = [
    head(post, length, chunked) + smuggled,
    head(post, chunked, 'Content-Length: 4') + `0\r\n\r\n${smuggled}`,
    head(post, length, 'Content-Length: 3') + ok,
    head(post, `Content-Length: ${ok.length}, ${ok.length}`) + ok,
    ...['-1', '+5', '0x10', '1e3', '5 5', '9'.repeat(30)].map(
      wrong => head(post, `Content-Length: ${wrong}`) + ok,
    ),
    ...['x', '-1', 'F'.repeat(20), '0x5', '5\nabcde'].map(
      wrong => `${head(post, chunked)}${wrong}\r\nabcde\r\n`,
    ),
    ...['gzip', 'chunked, gzip', 'xchunked', 'identity', 'gzip, chunked'].map(
      wrong => `${head(post, `Transfer-Encoding: ${wrong}`)}26\r\n${ok}\r\n0\r\n\r\n`,
    ),
    head(post, 'Content-Length : 5') + ok,
    head(post, length, 'X: a', '  compressed') + ok,
    head(post, length, 'X: a\u0000b') + ok,
    (head(post, length) + ok).replaceAll('\r\n', '\n'),
    head(post, `X: ${'a'.repeat(1_000_000)}`),
    head(post, ...Array.from({length: 3_000}, (_, at) => `X${at}: y`)),
    head(`GET /api/v1/query/hostile/sql/${'a'.repeat(100_000)}`),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\u0016\u0003\u0001\u0002\u0000\u0001',
  ];
  for (const request of requests) {
    const answer = await world.raw(request);
    const first = request.slice(0, 400);
    assert.match(answer, /^HTTP\/1\.1 (?:400|413|431|501) /, first);
    assert.doesNotMatch(answer, /"result"/, first);
  }
  const last = head(post, length, 'Connection: close') + ok;
  const pipelined = await world.raw((head(post, length) + ok).repeat(199) + last, hangMillis);
  assert.equal(pipelined.match(/HTTP\/1\.1 200 /g)?.length, 200);
  round.checkOthers('smuggled requests');
});

test('slow, half-open and deaf clients are cut off; nobody else notices', async () => {
  // What one user asks for at once, 800 times here, fills his own places and queue, root's never.
  const deaf = {name: 'deaf', password: 'deaf-pass-word', databases: {hostile: ['admin']}};
  assert.equal((await world.administer(`create user ${JSON.stringify(deaf)}`)).status, 200);
  const own = `Basic ${Buffer.from(`${deaf.name}:${deaf.password}`).toString('base64')}`;
  const ask = (line: string, header: string): string =>
    head(line, header).replace(authorization, own);
  const sockets: Socket[] = [];
  const open = async (bytes: string): Promise<Socket> => {
    const socket = await world.connection();
    sockets.push(socket);
    socket.write(bytes);
    return socket;
  };
  for (let at = 0; at < 100; at++) {
    (await open('POST /api/v1/command/hostile HTTP/1.1\r\nHost: x\r\nX-')).resume();
    (await open(`${ask(post, 'Content-Length: 100000')}{`)).resume();
    (await open(`${ask(post, chunked)}5\r\nab`)).resume();
    (await open('\r\n')).resume();
    const many = JSON.stringify({language: 'sql', command: 'SELECT FROM Many', limit: -1});
    await open(
      (ask('POST /api/v1/query/hostile', `Content-Length: ${many.length}`) + many).repeat(8),
    );
  }
  const drip = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('a');
  }, 500);
  await pause(1_000);
  clearInterval(drip);
  round.checkOthers('slow clients', 1_500);
  const slow = sockets.slice(0, 4);
  await eventually('slow senders are cut off', () => slow.every(({closed}) => closed));
  for (const socket of sockets) socket.destroy();
});

test(`${idleConnections} idle connections do not slow others`, async () => {
  const quiet = await politeCost();
  const sockets: Socket[] = [];
  for (let at = 0; at < idleConnections; at += 100) {
    sockets.push(...(await Promise.all(Array.from({length: 100}, () => world.connection()))));
  }
  const beside = await politeCost();
  // A server that looks at each of its connections now and then works for them far more.
  assert.ok(beside < quiet * 3 + 1, `${beside} ms of the processor, ${quiet} before`);
  for (const socket of sockets) socket.destroy();
  round.checkOthers('idle connections', 2_000);
});

/** Processor milliseconds of the server for each answer to the polite client, over some hundred. */
async function politeCost(): Promise<number> {
  const before = polite.acknowledged;
  const from = world.processorMillis;
  await eventually('the polite client is served', () => polite.acknowledged - before >= 150);
  return (world.processorMillis - from) / (polite.acknowledged - before);
}

const endless =
  'MATCH {type: Many, as: a}, {type: Many, as: b}, {type: Many, as: c} ' + 'RETURN count(*) AS n';

test('a statement ends when its client leaves or an administrator says so', async () => {
  const body = JSON.stringify({language: 'sql', command: endless});
  const socket = await world.connection();
  socket.write(head('POST /api/v1/query/hostile', `Content-Length: ${body.length}`) + body);
  await untilRunning(1);
  socket.destroy();
  await untilRunning(0);

  const running = world.command(endless);
  const [id] = await untilRunning(1);
  const {text} = await world.administer(`terminate query ${id}`);
  assert.match(text, /"status":"terminat/);
  const {status, text: answer} = await running;
  assert.equal(status, 409, answer);
  round.checkOthers('endless statements', 2_000);
});

/** Ids of the endless statements, once there are `count`. */
async function untilRunning(count: number): Promise<readonly string[]> {
  let ids: readonly string[] = [];
  await eventually(`${count} statements run`, async () => {
    const {text} = await world.administer('list queries');
    const {result} = JSON.parse(text) as {result: {id: string; text: string}[]};
    ids = result.filter(query => query.text === endless).map(({id}) => id);
    return ids.length === count;
  });
  return ids;
}

test('memory is back, nothing was stored, nothing lies outside the root', async () => {
  await eventually('the transactions that nobody ended have ended', async () => {
    const {text} = await world.administer('list transactions');
    return (JSON.parse(text) as {result: readonly unknown[]}).result.length === 0;
  });
  await round.checkNothingLeft();
});

test('after a kill everything acknowledged is there and nothing else', () =>
  round.checkAfterKill());
