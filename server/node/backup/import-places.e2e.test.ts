/**
 * Imports are loads: they take the places of batches, those of their user, and one is for root
 * alone. M3 of the attack, by the door of imports.
 */
import assert from 'node:assert/strict';
import {createServer, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {after, before, test} from 'node:test';
import {AskedServer, type Told} from '#server/testing/settings/asked-server.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {rootPassword} from '#server/testing/worlds/server-process.ts';

const line = '{"t":"d","c":"Doc","r":"#1:0","p":{"n":1}}\n';
let server: AskedServer;
let files: Server;
/** Answers of the file server that have begun and not ended. */
const open = new Set<ServerResponse>();

before(async () => {
  server = await AskedServer.start({
    'svc.opencypher.loadCsv.blockedIpRanges': '',
    'svc.batch.concurrentMax': 3,
    'svc.batch.concurrentMaxPerUser': 1,
  });
  files = createServer((request, answer) => {
    if (request.url === '/whole.jsonl') return void answer.end(line);
    open.add(answer);
    answer.write(line);
  }).listen(0, '127.0.0.1');
  await server.rows('CREATE DOCUMENT TYPE Doc');
  for (const name of ['first', 'second', 'third']) await person(name);
});
after(async () => {
  for (const answer of open) answer.destroy();
  files.close();
  await server.dispose();
});

async function person(name: string): Promise<void> {
  const user = {name, password: `${name}-pass`, databases: {db: ['admin']}};
  const made = await server.ask('/server/users', {body: user});
  assert.ok(made.status < 300, made.text);
}

function imports(who: string, file: string): Promise<Told> {
  const {port} = files.address() as AddressInfo;
  const command = `IMPORT DATABASE http://127.0.0.1:${port}/${file}`;
  const as = who === 'root' ? {} : {as: `${who}:${who}-pass`};
  return server.ask('/command/db', {body: {language: 'sql', command}, ...as});
}

function endAll(): void {
  for (const answer of open) answer.end();
  open.clear();
}

test('imports of a user take his places of loads, and never those of all', async () => {
  const first = imports('first', 'slow.jsonl');
  await eventually('the first one has begun', () => open.size === 1);
  const second = await imports('first', 'whole.jsonl');
  assert.equal(second.status, 503, second.text);
  assert.match(second.text, /1 loads of user 'first' .*svc\.batch\.concurrentMaxPerUser/);
  const batch = await server.ask('/batch/db', {body: line, as: 'first:first-pass'});
  assert.equal(batch.status, 503, batch.text);
  const other = imports('second', 'slow.jsonl');
  await eventually('another user has begun', () => open.size === 2);
  const third = await imports('third', 'whole.jsonl');
  assert.equal(third.status, 503, third.text);
  assert.match(third.text, /2 loads are running \(svc\.batch\.concurrentMax\)/);
  assert.equal((await imports('root', 'whole.jsonl')).status, 200);
  endAll();
  assert.deepEqual([(await first).status, (await other).status], [200, 200]);
  assert.equal((await imports('first', 'whole.jsonl')).status, 200);
});

test('a file that is sent has its place from its first byte on, and gives it back', async () => {
  const held = ['first', 'second'].map(who => imports(who, 'slow.jsonl'));
  await eventually('they have begun', () => open.size === 2);
  let sends: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: controller => {
      sends = controller;
      controller.enqueue(Buffer.from(line.slice(0, 10)));
    },
  });
  const {url} = server.process;
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  const init: RequestInit & {readonly duplex: 'half'} = {
    method: 'POST',
    headers: {authorization},
    body,
    duplex: 'half',
  };
  const sent = fetch(`${url}/api/v1/import/db?name=a.jsonl`, init);
  await eventually('it has the last place', async () => {
    return (await imports('third', 'whole.jsonl')).text.includes('3 loads are running');
  });
  assert.equal((await imports('root', 'whole.jsonl')).status, 503);
  sends?.enqueue(Buffer.from(line.slice(10)));
  sends?.close();
  assert.equal((await sent).status, 200);
  endAll();
  await Promise.all(held);
  assert.equal((await imports('root', 'whole.jsonl')).status, 200);
});
