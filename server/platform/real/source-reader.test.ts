/**
 * The guard of addresses: what leads to a blocked range is not connected to, whichever way it gets
 * there. Names are resolved by the test, which may answer otherwise the second time.
 */
import assert from 'node:assert/strict';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {createSourceReader} from './source-reader.ts';

const outside = '127.0.0.2';
const inside = '127.0.0.1';
const bounds = {blocked: [`${inside}/32`, '::1/128'], bytesMax: 1_000, timeoutMs: 10_000};
let port: number;
let server: Server;
/** Addresses of this machine that were connected to. */
let connected: string[] = [];

before(async () => {
  server = createServer((request, answer) => {
    const [, target] = /^\/to\/(.*)$/.exec(request.url ?? '') ?? [];
    if (target === undefined) answer.end('read');
    else answer.writeHead(302, {location: decodeURIComponent(target)}).end();
  });
  server.on('connection', socket => connected.push(String(socket.localAddress)));
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve));
  ({port} = server.address() as AddressInfo);
});
after(() => server.close());

/** What one fetch came to, and where it connected to; the names' addresses are `answers`. */
async function fetched(
  address: string,
  ...answers: readonly (readonly string[])[]
): Promise<{readonly text: string; readonly connected: readonly string[]; readonly asked: number}> {
  connected = [];
  let asked = 0;
  const reader = createSourceReader((_name, _options, callback) => {
    const found = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    callback(
      null,
      found.map(ip => ({address: ip, family: ip.includes(':') ? 6 : 4})),
    );
  });
  const text = await reader.fetch(new URL(address), bounds).then(
    bytes => Buffer.from(bytes).toString(),
    (error: unknown) => (error instanceof Refusal ? error.code : Promise.reject(error)),
  );
  return {text, connected, asked};
}

const to = (target: string): string => `to/${encodeURIComponent(target)}`;

test('a name is resolved once a connection, and that address is connected to', async () => {
  const found = await fetched(`http://files.test:${port}/a`, [outside], [inside]);
  assert.deepEqual(found, {text: 'read', connected: [outside], asked: 1});
});

test('a name that answers with an inner address the second time is not asked there', async () => {
  const again = to(`http://files.test:${port}/a`);
  const found = await fetched(`http://files.test:${port}/${again}`, [outside], [inside]);
  assert.deepEqual(found, {text: 'source.refused', connected: [outside], asked: 2});
});

test('a name with an inner address among others is not asked at all', async () => {
  const found = await fetched(`http://files.test:${port}/a`, [outside, inside]);
  assert.deepEqual(found, {text: 'source.refused', connected: [], asked: 1});
});

for (const host of [inside, '2130706433', '0x7f.1', '0177.0.0.1', '[::ffff:7f00:1]', '[::1]']) {
  test(`neither ${host} nor a redirect to it is connected to`, async () => {
    const target = `http://${host}:${port}/a`;
    assert.deepEqual(await fetched(target), {text: 'source.refused', connected: [], asked: 0});
    const found = await fetched(`http://${outside}:${port}/${to(target)}`);
    assert.deepEqual(found, {text: 'source.refused', connected: [outside], asked: 0});
  });
}

test('an inner address of a name, in IPv6 or mapped into it, is not connected to', async () => {
  for (const ip of [inside, '::1', '::ffff:127.0.0.1']) {
    const found = await fetched(`http://files.test:${port}/a`, [ip]);
    assert.deepEqual(found, {text: 'source.refused', connected: [], asked: 1}, ip);
  }
});

test('redirects without end, to no address and to other schemes are refused', async () => {
  const circle = createServer((_, answer) => answer.writeHead(302, {location: '/'}).end());
  await new Promise<void>(resolve => circle.listen(0, outside, resolve));
  try {
    const {port: own} = circle.address() as AddressInfo;
    assert.equal((await fetched(`http://${outside}:${own}/`)).text, 'source.unreadable');
  } finally {
    circle.close();
  }
  const start = `http://${outside}:${port}`;
  assert.equal((await fetched(`${start}/${to('http://')}`)).text, 'source.unreadable');
  assert.equal((await fetched(`${start}/${to('file:///etc/passwd')}`)).text, 'source.refused');
});
