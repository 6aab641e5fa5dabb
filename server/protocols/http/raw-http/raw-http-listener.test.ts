/**
 * Both ways of a request answer alike; odd bytes and slow senders end up with node's server.
 * Holds invariant H3.
 */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {after, before, test} from 'node:test';
import {eventually} from '#server/testing/time/eventually.ts';
import {ByteClient as Client} from '#server/testing/worlds/byte-client.ts';
import {type HttpWorld, httpWorld, rootPassword} from '#server/testing/worlds/http-world.ts';

const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
const anna = `Basic ${Buffer.from('anna:anna-pass').toString('base64')}`;

interface Sent {
  readonly path?: string;
  readonly body?: unknown;
  readonly session?: string;
  readonly as?: string;
  readonly more?: readonly string[];
}

/**
 * A request as bytes. Any header in `more` that the raw HTTP path does not know makes it node's.
 */
function bytesOf({path = '/query/db', body, session, as = authorization, more = []}: Sent): string {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const lines = [`POST /api/v1${path} HTTP/1.1`, 'Host: x', `Authorization: ${as}`];
  lines.push(`Content-Length: ${Buffer.byteLength(text)}`, ...more);
  if (session !== undefined) lines.push(`svc-session-id: ${session}`);
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

const forNode = ['X-Other: 1'];

/** An answer without what differs each time, chunks put together. */
function plain(answer: string): string {
  const head = answer.indexOf('\r\n\r\n') + 4;
  let body = answer.slice(head);
  if (answer.slice(0, head).includes('chunked'))
    body = body.replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '');
  return (answer.slice(0, head) + body)
    .replace(/Content-Length: \d+(?=[^]*"explain":)/, 'Content-Length: ?')
    .replace(/"explain":.*$/, '"explain": ?')
    .replace(/X-Request-Id: \S+/, 'X-Request-Id: ?')
    .replace(/"requestId":"[^"]+"/, '"requestId":"?"')
    .replace(/\r\nDate: [^\r]+/, '\r\nDate: ?')
    .replaceAll(/\bAS-[\w-]+/g, 'AS-?');
}

let world: HttpWorld;
before(async () => {
  world = await httpWorld();
});
after(() => world.server.close(0));

async function ask(sent: Sent, {port} = world): Promise<string> {
  const client = new Client(port);
  const answer = await (await client.send(bytesOf(sent))).answer();
  client.socket.destroy();
  return answer;
}

const sql = (command: string, more: object = {}) => ({language: 'sql', command, ...more});

const cases: readonly Sent[] = [
  {body: sql('rows 3')},
  {body: sql('rows 0')},
  {body: sql('rows 5000')},
  {path: '/command/db', body: sql('write')},
  {path: '/command/db', body: sql('rows 2', {params: {a: 1.5}, limit: 7})},
  {path: '/command/db', body: sql('rows', {serializer: 'graph'})},
  {path: '/command/db', body: sql('rows', {serializer: 'graph', profileExecution: 'plan'})},
  {path: '/command/db', body: sql('rows', {awaitResponse: false})},
  {body: sql('wide')},
  {body: sql('rows 200000')},
  {body: sql('write')},
  {body: sql('fail sql.syntax')},
  {body: sql('fail commit.duplicate-key')},
  {body: sql('fail request.in-flight')},
  {body: sql('break')},
  {body: sql('late 0')},
  {body: sql('late 1000')},
  {path: '/query/nope', body: sql('rows')},
  {path: '/command/other', body: sql('rows'), as: anna},
  {body: sql('rows'), as: anna},
  {body: sql('rows'), as: 'Basic !!'},
  {body: sql('rows'), as: 'Basic cm9vdDp3cm9uZw=='},
  {body: sql('rows'), as: 'Bearer AU-none'},
  {body: sql('rows'), as: 'Digest x'},
  {body: ''},
  {body: '{"language":'},
  {body: '{"language":"sql"}'},
  {body: '[1]'},
  {body: '{"language":"sql","command":"rows","limit":"x"}'},
  {body: sql('rows'), session: 'AS-none'},
  {path: '/begin/db', body: ''},
  {path: '/begin/db', body: {isolationLevel: 'REPEATABLE_READ'}},
  {path: '/begin/db', body: {isolationLevel: 'x'}},
  {path: '/begin/nope', body: ''},
  {path: '/commit/db', body: '', session: 'AS-none'},
  {path: '/commit/db', body: ''},
  {path: '/rollback/db', body: 'no json', session: 'AS-none'},
];

for (const sent of cases) {
  const name = `${sent.path ?? '/query/db'} ${JSON.stringify(sent.body).slice(0, 60)}`;
  test(`${name} answers the same on both ways`, async () => {
    const fast = await ask(sent);
    const slow = await ask({...sent, more: forNode});
    const written = /"write":\d+/;
    assert.equal(plain(fast).replace(written, ''), plain(slow).replace(written, ''));
  });
}

test('a transaction goes the fast way from begin to commit', async () => {
  const client = new Client(world.port);
  const from = world.server.laneAnswers;
  await client.send(bytesOf({path: '/begin/db', body: ''}));
  const [, session = ''] = /svc-session-id: (\S+)/.exec(await client.answer()) ?? [];
  assert.match(session, /^\S+$/);
  await client.send(bytesOf({path: '/command/db', body: sql('write'), session}));
  const inside = await client.answer();
  assert.match(inside, /200 OK/);
  assert.ok(inside.includes(`svc-session-id: ${session}\r\n`));
  await client.send(bytesOf({path: '/begin/db', body: '', session}));
  assert.match(await client.answer(), /409 Conflict.*Transaction already started/s);
  await client.send(bytesOf({path: '/commit/db', body: '', session}));
  assert.match(await client.answer(), /204 No Content/);
  await client.send(bytesOf({path: '/command/db', body: sql('write'), session}));
  const gone = await client.answer();
  assert.match(gone, /404 Not Found/);
  assert.doesNotMatch(gone, /svc-session-id:/);
  assert.equal(world.server.laneAnswers, from + 5);
  client.socket.destroy();
});

test('a request may be cut anywhere, or come byte by byte', async () => {
  const bytes = bytesOf({body: sql('rows 2')});
  const whole = plain(await ask({body: sql('rows 2')}));
  for (let at = 1; at < bytes.length; at += 3) {
    const client = new Client(world.port);
    await client.send(bytes.slice(0, at), bytes.slice(at));
    assert.equal(plain(await client.answer()), whole, `cut at ${at}`);
    client.socket.destroy();
  }
  const client = new Client(world.port);
  await client.send(...bytes);
  assert.equal(plain(await client.answer()), whole, 'byte by byte');
  client.socket.destroy();
});

test('a connection that leaves the raw HTTP path loses nothing and goes on', async () => {
  const client = new Client(world.port);
  const from = world.server.laneAnswers;
  await client.send(bytesOf({body: sql('rows 1')}));
  const first = plain(await client.answer());
  const node = bytesOf({body: sql('rows 1'), more: forNode});
  await client.send(node.slice(0, 40), node.slice(40));
  assert.equal(plain(await client.answer()), first);
  for (let turn = 0; turn < 3; turn++) {
    await client.send(bytesOf({body: sql('rows 1')}));
    assert.equal(plain(await client.answer()), first);
  }
  assert.equal(world.server.laneAnswers, from + 1);
  client.socket.destroy();
});

test('requests sent ahead are answered in turn', async () => {
  for (const first of ['rows 1', 'slow 20']) {
    const client = new Client(world.port);
    const ahead = [1, 2, 3].map(count => bytesOf({body: sql(`rows ${count}`)}));
    await client.send(bytesOf({body: sql(first)}), ahead.join('').slice(0, 90));
    await client.send(ahead.join('').slice(90));
    assert.match(await client.answer(), /"returned":1,/);
    for (const count of [1, 2, 3]) {
      assert.match(await client.answer(), new RegExp(`"returned":${count},`));
    }
    client.socket.destroy();
  }
});

test('what waits behind a request cannot grow without end', async () => {
  const client = new Client(world.port);
  const body = sql('rows 1', {pad: 'x'.repeat(60_000)});
  await client.send(bytesOf({body: sql('slow 30')}));
  const ahead = Array.from({length: 20}, () => bytesOf({body}));
  void client.send(ahead.join(''));
  for (let turn = 0; turn <= ahead.length; turn++) {
    assert.match(await client.answer(), /^HTTP\/1\.1 200 /);
  }
  client.socket.destroy();
});

test('a client that leaves in the middle of its statement ends it', async () => {
  const aborted = world.service.aborted;
  const client = new Client(world.port);
  await client.send(bytesOf({body: sql('hang')}));
  await eventually('it runs', () => world.service.running.size > 0);
  client.socket.destroy();
  await eventually('it ends', () => world.service.running.size === 0);
  assert.equal(world.service.aborted, aborted + 1);
  assert.equal(world.service.openCursors, 0);
});

test('credentials are looked at again when a user changes', async () => {
  const client = new Client(world.port);
  const sent = bytesOf({body: sql('rows 1'), as: anna});
  assert.match(await (await client.send(sent)).answer(), /200 OK/);
  await world.security.changeUser('anna', {password: 'other-pass', databases: undefined});
  assert.match(await (await client.send(sent)).answer(), /401 Unauthorized/);
  await world.security.changeUser('anna', {password: 'anna-pass', databases: undefined});
  assert.match(await (await client.send(sent)).answer(), /200 OK/);
  client.socket.destroy();
});

test('whoever says nothing, too little, or nothing more is let go', async () => {
  const settings = {'svc.network.socketTimeout': 200, 'svc.network.keepAliveTimeout': 300};
  const own = await httpWorld(settings);
  const silent = new Client(own.port);
  const slow = new Client(own.port);
  const done = new Client(own.port);
  await slow.send(bytesOf({body: sql('rows 1')}).slice(0, -5));
  await done.send(bytesOf({body: sql('rows 1')}));
  assert.match(await done.answer(), /200 OK/);
  assert.match(await slow.answer(), /^HTTP\/1\.1 408 .*Request body incomplete/s);
  for (const client of [silent, done]) {
    if (!client.isEnded) await once(client.socket, 'close');
  }
  await own.server.close(0);
});

test('a reader that stops reading is let go, and its answer is not lost before', async t => {
  // Long enough that a reader who is only slow on a busy machine is not taken for one that stopped.
  const own = await httpWorld({'svc.network.socketTimeout': 2_000});
  t.after(() => own.server.close(0));
  const client = new Client(own.port);
  client.socket.pause();
  client.socket.write(bytesOf({body: sql('rows 17000 1000', {limit: -1})}));
  const other = new Client(own.port);
  other.socket.pause();
  other.socket.write(bytesOf({body: sql('rows 17000 1000', {limit: -1})}));
  await new Promise(resolve => setTimeout(resolve, 20));
  client.socket.resume();
  assert.match(await client.answer(), /"returned":17000,"truncated":false\}\r\n0\r\n\r\n$/);
  await eventually('both results are closed', () => own.service.openCursors === 0);
  assert.equal(own.server.laneAnswers, 2);
  other.socket.destroy();
});

test('a stopping server lets running requests end and says so', async () => {
  const own = await httpWorld();
  const idle = new Client(own.port);
  await idle.send(bytesOf({body: sql('rows 1')}));
  await idle.answer();
  const running = new Client(own.port);
  await running.send(bytesOf({body: sql('wait')}));
  await eventually('one runs', () => own.service.requests.length === 2);
  const node = new Client(own.port);
  await node.send(bytesOf({body: sql('wait'), more: forNode}));
  await eventually('both run', () => own.service.requests.length === 3);
  const closed = own.server.close(50_000);
  own.service.waiting.resolve();
  const answer = plain(await running.answer());
  assert.match(answer, /200 OK.*\r\nConnection: close\r\n/s);
  assert.equal(answer, plain(await node.answer()));
  await closed;
});
