/**
 * What settings of connections, requests, logins and batches do, seen by whoever sends them
 * (effect-rows.ts).
 */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {existsSync, readdirSync, readlinkSync} from 'node:fs';
import {type ClientRequest, type IncomingMessage, request} from 'node:http';
import {connect} from 'node:net';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {eventually} from '../time/eventually.ts';
import {rootPassword, temporaryRoot} from '../worlds/server-process.ts';
import {WebSocketClient} from '../worlds/web-socket-client.ts';
import {AskedServer, type Told} from './asked-server.ts';

const connectionsMax = 40;
const root = temporaryRoot('settings-requests');
const server = await AskedServer.start(
  {
    'svc.network.requestTimeout': 300,
    'svc.network.connectionsMax': connectionsMax,
    'svc.server.wsMaxControlFrameSize': 1_024,
    'svc.server.logsDirectory': join(root, 'events'),
  },
  root,
);
after(() => server.dispose());
const port = Number(new URL(server.process.url).port);
const anna = 'anna:anna-pass';
const bert = 'bert:bert-pass';
for (const name of ['anna', 'bert']) {
  const user = {name, password: `${name}-pass`, databases: {db: ['admin']}};
  await server.ask('/server', {body: {command: `create user ${JSON.stringify(user)}`}});
}
await server.rows('CREATE VERTEX TYPE V');

test('svc.server.logsDirectory has the files of events', () => {
  assert.match(readdirSync(join(root, 'events')).join(), /server-event-log/);
  assert.ok(!existsSync(join(root, 'log')));
});

test('svc.network.requestTimeout ends a body that never pauses and never ends', async () => {
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  const head = `POST /api/v1/query/db HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`;
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', data => (received += String(data)));
  socket.on('error', () => {});
  socket.write(`${head}Content-Length: 100000\r\n\r\n{`);
  const drips = setInterval(() => socket.write(' '), 20);
  try {
    await once(socket, 'close');
  } finally {
    clearInterval(drips);
  }
  assert.match(received, /^HTTP\/1\.1 408 /);
});

test('svc.network.connectionsMax closes those beyond it, and none of the others', async () => {
  const sockets = Array.from({length: connectionsMax * 2}, () => connect(port, '127.0.0.1'));
  const closed = new Set<unknown>();
  for (const socket of sockets) {
    socket.on('error', () => {});
    socket.on('close', () => closed.add(socket));
  }
  try {
    await eventually('those beyond are closed', () => closed.size >= connectionsMax);
    const kept = sockets.filter(socket => !closed.has(socket));
    assert.ok(kept.length > 0);
    const [first] = kept;
    first?.write('GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(String(await once(first as never, 'data')), /^HTTP\/1\.1 204 /);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  await eventually(
    'others are let in',
    async () => (await server.ask('/databases')).status === 200,
  );
});

test('svc.server.wsMaxControlFrameSize ends a connection with a larger message', async () => {
  const client = await WebSocketClient.open(port, `root:${rootPassword}`);
  client.send({action: 'subscribe', database: 'db', type: 'x'.repeat(2_000)});
  assert.equal(await client.ended, 1_009);
});

async function login(): Promise<string> {
  const {text} = await server.ask('/login', {method: 'POST', as: anna});
  return `Bearer ${(JSON.parse(text) as {readonly token: string}).token}`;
}

test('svc.server.httpAuthSessionExpireTimeout ends a login that is not used', async () => {
  const as = await login();
  await server.set('svc.server.httpAuthSessionExpireTimeout', 1);
  const isOver = async (): Promise<boolean> =>
    (await server.ask('/databases', {as})).status === 401;
  assert.equal(await isOver(), false);
  await eventually('the login is over', isOver, {pollMillis: 1_100});
  await server.set('svc.server.httpAuthSessionExpireTimeout', 1_800);
});

test('svc.server.httpAuthSessionAbsoluteTimeout ends a login in use', async () => {
  await server.set('svc.server.httpAuthSessionAbsoluteTimeout', 1);
  const as = await login();
  await eventually('the login is over', async () => {
    return (await server.ask('/databases', {as})).status === 401;
  });
  await server.set('svc.server.httpAuthSessionAbsoluteTimeout', 0);
});

/** The same request as often as it is asked: answered from memory, else refused as done. */
function insert(id: string): Promise<Told> {
  const body = {language: 'sql', command: `INSERT INTO V SET id = '${id}'`};
  return server.ask('/command/db', {headers: {'x-request-id': id}, body});
}

test('svc.ha.idempotencyCacheTtlMs and MaxEntries say what is answered from memory', async () => {
  assert.equal((await insert('first')).status, 200);
  assert.equal((await insert('first')).status, 200);
  await server.set('svc.ha.idempotencyCacheMaxEntries', 1);
  assert.equal((await insert('second')).status, 200);
  assert.equal((await insert('second')).status, 200);
  assert.equal((await insert('first')).status, 409);
  await server.set('svc.ha.idempotencyCacheMaxEntries', 10_000);
  await server.set('svc.ha.idempotencyCacheTtlMs', 1_000);
  assert.equal((await insert('third')).status, 200);
  await eventually('it is forgotten', async () => (await insert('third')).status === 409);
  await server.set('svc.ha.idempotencyCacheTtlMs', 60_000);
  assert.deepEqual(await server.rows('SELECT count(*) AS n FROM V'), [{n: 3}]);
});

test('svc.ha.idempotencyCacheMaxBytes and MaxBodyBytes say how much is kept', async () => {
  const before = await server.rows('SELECT count(*) AS n FROM V');
  await server.set('svc.ha.idempotencyCacheMaxBodyBytes', 10);
  assert.equal((await insert('large')).status, 200);
  assert.equal((await insert('large')).status, 409, 'its answer is too large to be kept');
  await server.set('svc.ha.idempotencyCacheMaxBodyBytes', '1MB');
  await server.set('svc.ha.idempotencyCacheMaxBytes', 300);
  const ids = ['one', 'two', 'three', 'four'];
  for (const id of ids) assert.equal((await insert(id)).status, 200);
  assert.equal((await insert('four')).status, 200);
  assert.equal((await insert('one')).status, 409, 'the oldest went first');
  await server.set('svc.ha.idempotencyCacheMaxBytes', '64MB');
  const [{n = 0} = {}] = before as readonly {readonly n?: number}[];
  assert.deepEqual(await server.rows('SELECT count(*) AS n FROM V'), [{n: n + 5}]);
});

interface OpenBatch {
  readonly outgoing: ClientRequest;
  readonly ended: Promise<unknown>;
}

/** A bulk load that runs and whose body has not ended. */
async function openBatch(as: string, lines = '', commits = 1): Promise<OpenBatch> {
  const outgoing = request(`${server.process.url}/api/v1/batch/db?vertexBatchSize=${commits}`, {
    method: 'POST',
    agent: false,
    headers: {
      accept: 'application/x-ndjson',
      authorization: `Basic ${Buffer.from(as).toString('base64')}`,
      'content-type': 'application/x-ndjson',
    },
  });
  outgoing.write(`{"@type":"vertex","@class":"V"}\n${lines}`);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  return {outgoing, ended: once(response.resume(), 'end')};
}

const oneBatch = (as: string): Promise<Told> =>
  server.ask('/batch/db', {as, body: '{"@type":"vertex","@class":"V"}\n'});

test('svc.server.httpStreamingReadTimeout ends a bulk load of which nothing comes', async () => {
  await server.set('svc.server.httpStreamingReadTimeout', 100);
  const {outgoing, ended} = await openBatch(`root:${rootPassword}`);
  await server.set('svc.server.httpStreamingReadTimeout', 600_000);
  // It is told what was stored, and nobody sent an end.
  await ended;
  outgoing.destroy();
});

async function assertRefused(as: string, says: RegExp): Promise<void> {
  const told = await oneBatch(as);
  assert.equal(told.status, 503);
  assert.match(told.text, says);
  assert.equal(told.headers.get('retry-after'), '1');
}

test('svc.batch.concurrentMax and concurrentMaxPerUser bound what runs at once', async () => {
  await server.set('svc.batch.concurrentMaxPerUser', 1);
  const open = await openBatch(anna);
  await assertRefused(anna, /svc\.batch\.concurrentMaxPerUser/);
  assert.equal((await oneBatch(bert)).status, 200);
  await server.set('svc.batch.concurrentMax', 2);
  await assertRefused(bert, /\(svc\.batch\.concurrentMax\)/);
  assert.equal((await oneBatch(`root:${rootPassword}`)).status, 200);
  open.outgoing.end();
  await open.ended;
  await server.set('svc.batch.concurrentMax', 16);
  await server.set('svc.batch.concurrentMaxPerUser', 8);
});

/** Files of temporary ids that the server has open; they have no name any more. */
function idFiles(): readonly string[] {
  const folder = `/proc/${server.process.pid}/fd`;
  return readdirSync(folder).flatMap(name => {
    try {
      const path = readlinkSync(join(folder, name));
      return path.includes('/temporary/ids-') ? [path] : [];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}

test('svc.batch.idMapMemoryMax has the ids of a large batch on disk', async () => {
  const lines = Array.from(
    {length: 45_000},
    (_, at) => `{"@type":"v","@class":"V","@id":"i${at}"}\n`,
  );
  await server.set('svc.batch.idMapMemoryMax', 1 << 20);
  const open = await openBatch(anna, lines.join(''), 2_000);
  await eventually('ids are on disk', () => idFiles().length > 0);
  open.outgoing.end();
  await open.ended;
  await eventually('the file of the ids is closed', () => idFiles().length === 0);
  await server.set('svc.batch.idMapMemoryMax', 64 << 20);
});

test('svc.mcp.batchSizeMax refuses an agent that sends more at once', async () => {
  const body = [1, 2, 3].map(id => ({jsonrpc: '2.0', id, method: 'ping'}));
  await server.ask('/mcp/config', {body: {enabled: true}});
  await server.set('svc.mcp.batchSizeMax', 2);
  assert.match((await server.ask('/mcp', {body})).text, /svc\.mcp\.batchSizeMax/);
  await server.set('svc.mcp.batchSizeMax', 3);
  assert.equal((await server.ask('/mcp', {body})).status, 200);
});

test('svc.log.level leaves out of the log what is less severe', async () => {
  const tells = async (tag: string): Promise<boolean> => {
    const before = server.log.length;
    await server.ask('/server', {body: {command: `create database ${tag}`}});
    await server.ask('/server', {body: {command: `drop database ${tag}`}});
    return server.log.slice(before).includes(`"${tag}"`);
  };
  await server.set('svc.log.level', 'error');
  assert.equal(await tells('quiet'), false);
  await server.set('svc.log.level', 'info');
  await eventually('it is told again', () => tells('told'));
});
