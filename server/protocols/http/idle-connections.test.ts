/**
 * A kept connection ends when nothing has come over it for long enough, and never with a request
 * that lies there unread because the thread was busy.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ByteClient} from '#server/testing/worlds/byte-client.ts';
import {type HttpWorld, httpWorld, rootPassword} from '#server/testing/worlds/http-world.ts';

const keepAliveMillis = 300;
/** The raw HTTP path counts its time in so many ticks. */
const ticks = 5;
/** Longer than a tick, so that each turn behind it begins with one. */
const busyMillis = 100;
/** What node's server adds to the time that it tells. */
const marginMillis = 1_000;
const tickMillis = 75;

let world: HttpWorld;
before(async () => {
  world = await httpWorld({'svc.network.keepAliveTimeout': keepAliveMillis});
});
after(() => world.server.close(0));

const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
const body = '{"language":"sql","command":"rows 1"}';

function request(...headers: readonly string[]): string {
  const lines = ['POST /api/v1/query/db HTTP/1.1', 'Host: x', `Authorization: ${authorization}`];
  return [...lines, ...headers, `Content-Length: ${body.length}`, '', body].join('\r\n');
}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

function beBusy(millis: number): void {
  const until = performance.now() + millis;
  while (performance.now() < until);
}

/** A connection over which one request was answered. */
async function used(bytes: string): Promise<ByteClient> {
  const client = new ByteClient(world.port);
  assert.match(await (await client.send(bytes)).answer(), /^HTTP\/1\.1 200 /);
  return client;
}

/**
 * One client asks in each busy time, so one of them in that behind which all would be ended;
 * undefined when this process stood still between two of them, which says nothing.
 */
async function askedWhileBusy(bytes: string): Promise<readonly string[] | undefined> {
  const clients = await Promise.all(Array.from({length: ticks + 2}, () => used(bytes)));
  const asking: ByteClient[] = [];
  try {
    let freeAt = performance.now();
    for (const client of clients) {
      if (performance.now() - freeAt > tickMillis / 2) return undefined;
      if (client.isEnded) break;
      client.socket.write(bytes, 'latin1');
      asking.push(client);
      beBusy(busyMillis);
      freeAt = performance.now();
      for (let turns = 0; turns < 4; turns += 1) await turn();
    }
    assert.ok(asking.length >= ticks - 1, `${asking.length} asked`);
    return await Promise.all(asking.map(client => client.answer()));
  } finally {
    for (const client of clients) client.close();
  }
}

test('raw: what came while the thread was busy is answered, not ended unread', async () => {
  let answers: readonly string[] | undefined;
  while (answers === undefined) answers = await askedWhileBusy(request());
  for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 200 /);
});

test('node: what came while the thread was busy is answered, not ended unread', async () => {
  const bytes = request('X-Other: 1');
  const client = await used(bytes);
  await new Promise(resolve => setTimeout(resolve, keepAliveMillis));
  // Behind this the turn looks at timers first.
  await turn();
  client.socket.write(bytes, 'latin1');
  beBusy(marginMillis + busyMillis);
  assert.match(await client.answer(), /^HTTP\/1\.1 200 /);
  await client.ended;
});

test('a connection over which nothing comes ends', async () => {
  for (const bytes of [request(), request('X-Other: 1')]) await (await used(bytes)).ended;
});
