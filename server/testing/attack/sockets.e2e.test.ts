/**
 * `/ws` and `/prometheus`, attacked by a user with next to no rights: connections and subscriptions
 * without number, filters without number, handshakes that are none, names that no database has.
 * Root has his place all the while, memory stays bounded, and figures tell no name of a client.
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {after, before, test} from 'node:test';
import {AskedServer} from '../settings/asked-server.ts';
import {ByteClient} from '../worlds/byte-client.ts';
import {rootPassword} from '../worlds/server-process.ts';
import {WebSocketClient} from '../worlds/web-socket-client.ts';

const connections = 1_000;
const filtersMax = 256;
const growthBytesMax = 150 << 20;
const eve = 'evelyn:evelyn-pass';

let server: AskedServer;
let at: string;
before(async () => {
  server = await AskedServer.start({'svc.changes.subscriptionsMaxPerUser': 100});
  at = new URL(server.process.url).host;
  const access = ['readRecord'];
  const types = {'*': {access}};
  const group = {database: 'db', name: 'readers', access: [], types};
  assert.equal((await server.ask('/server/groups', {body: group})).status, 200);
  const user = {name: 'evelyn', password: 'evelyn-pass', databases: {db: ['readers']}};
  assert.ok((await server.ask('/server/users', {body: user})).status < 300);
  await server.rows('CREATE DOCUMENT TYPE Note');
});
after(() => server.dispose());

function residentBytes(): number {
  const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8');
  return 1_024 * Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}

test('subscriptions without number are refused by the share of their user', async t => {
  const bytes = residentBytes();
  const clients: WebSocketClient[] = [];
  try {
    while (clients.length < connections) clients.push(await WebSocketClient.open(at, eve));
    const subscribe = {action: 'subscribe', database: 'db'};
    const answers = await Promise.all(clients.slice(0, 110).map(client => client.ask(subscribe)));
    assert.equal(answers.filter(({result}) => result === 'ok').length, 100);
    const root = await WebSocketClient.open(at, `root:${rootPassword}`);
    clients.push(root);
    assert.equal((await root.ask(subscribe))['result'], 'ok');
    await server.rows('INSERT INTO Note SET n = 1');
    assert.equal((await root.next())['changeType'], 'create');
    const grown = residentBytes() - bytes;
    t.diagnostic(`${connections} connections take ${grown >> 20} MB`);
    assert.ok(grown < growthBytesMax, `${grown} bytes`);
  } finally {
    for (const client of clients) client.close();
  }
});

test('a subscription has no types without number, and no names without end', async () => {
  const client = await WebSocketClient.open(at, eve);
  try {
    const typed = (type: string): object => ({action: 'subscribe', database: 'db', type});
    const long = await client.ask(typed('x'.repeat(10_000)));
    assert.match(String(long['detail']), /more than 256 characters/);
    for (let n = 0; n < filtersMax; n += 1) {
      assert.equal((await client.ask(typed(`Made${n}`)))['result'], 'ok');
    }
    const beyond = await client.ask(typed('Beyond'));
    assert.equal(beyond['result'], 'error');
    assert.match(String(beyond['detail']), /at most 256 types/);
    assert.equal((await client.ask(typed('Made7')))['result'], 'ok');
    const other = {action: 'unsubscribe', database: 'db', type: 'Made8'};
    assert.equal((await client.ask(other))['result'], 'ok');
    assert.equal((await client.ask(typed('Note')))['result'], 'ok');
    await server.rows('INSERT INTO Note SET n = 2');
    assert.equal((await client.next())['changeType'], 'create');
  } finally {
    client.close();
  }
});

test('a handshake that is none opens nothing', async () => {
  const authorization = `Authorization: Basic ${Buffer.from(eve).toString('base64')}`;
  const good = [
    'Host: x',
    authorization,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ];
  const without = (name: string): string[] => good.filter(line => !line.startsWith(name));
  const spoilt: readonly (readonly [string, readonly string[]])[] = [
    ['GET', [...without('Sec-WebSocket-Version'), 'Sec-WebSocket-Version: 7']],
    ['GET', [...without('Sec-WebSocket-Version'), 'Sec-WebSocket-Version: 14']],
    ['GET', without('Sec-WebSocket-Version')],
    ['GET', without('Sec-WebSocket-Key')],
    ['GET', [...without('Sec-WebSocket-Key'), 'Sec-WebSocket-Key: short']],
    ['POST', [...good, 'Content-Length: 0']],
    ['GET', without('Authorization')],
  ];
  for (const [method, lines] of spoilt) {
    const client = new ByteClient(Number(at.split(':')[1]));
    await client.send(`${method} /ws HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    const answer = await client.answer();
    assert.match(answer, /^HTTP\/1\.1 (?:400|401|405|426) /, `${method} ${lines.join(', ')}`);
    client.close();
  }
  const extended = new ByteClient(Number(at.split(':')[1]));
  const offered = 'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=8';
  await extended.send(`GET /ws HTTP/1.1\r\n${[...good, offered].join('\r\n')}\r\n\r\n`);
  const answer = await extended.answer();
  assert.match(answer, /^HTTP\/1\.1 101 /);
  assert.doesNotMatch(answer, /Sec-WebSocket-Extensions/i);
  extended.close();
});

test('names that no database has are in no figure, however many are asked for', async () => {
  const ask = async (n: number): Promise<void> => {
    await server.ask(`/exists/made-up-${n}`, {as: eve});
    await server.ask(`/rollback/made-up-${n}`, {as: eve, method: 'POST'});
    await server.ask(`/commit/made-up-${n}`, {as: eve, method: 'POST'});
    await server.ask(`/query/made-up-${n}`, {as: eve, body: {language: `l${n}`, command: 'x'}});
    await server.ask(`/made-up-${n}`, {as: eve, method: n % 2 === 0 ? 'PATCH' : 'GET'});
  };
  for (let n = 0; n < 500; n += 10) {
    await Promise.all(Array.from({length: 10}, (_, more) => ask(n + more)));
  }
  const scrape = async (): Promise<string> => (await server.ask('//prometheus', {as: eve})).text;
  const text = await scrape();
  assert.doesNotMatch(text, /made-up/);
  assert.ok(text.length < 500_000, `${text.length} characters`);
  await server.query('SELECT 1');
  assert.match(await scrape(), /svc_http_requests_seconds_count\{.*db="db"/);
  const bytes = residentBytes();
  await Promise.all(Array.from({length: 200}, scrape));
  assert.ok(residentBytes() - bytes < growthBytesMax);
});
