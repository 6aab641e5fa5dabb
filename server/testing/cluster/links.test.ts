/** The network that tests break: what each fault does to bytes, and that healing undoes it. */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {type AddressInfo, connect, createServer, type Server, type Socket} from 'node:net';
import {afterEach, beforeEach, test} from 'node:test';
import {SeededRandom} from '../property/seeded-random.ts';
import {Links} from './links.ts';

let echo: Server;
let links: Links;
let sockets: Socket[];

beforeEach(async () => {
  sockets = [];
  echo = createServer({noDelay: true}, socket => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  await new Promise<void>(resolve => echo.listen(0, '127.0.0.1', resolve));
  const {port} = echo.address() as AddressInfo;
  const ends = [
    {name: 'a', host: '127.0.0.1', ports: []},
    {name: 'b', host: '127.0.0.1', ports: [port]},
  ];
  links = await Links.open(ends, new SeededRandom(1));
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await links.close();
  await new Promise(resolve => echo.close(resolve));
});

function dial(): Socket {
  const [forwarder = ''] = Object.values(links.redirects('a'));
  const [host = '', port = ''] = forwarder.split(':');
  const socket = connect({host, port: Number(port), noDelay: true});
  sockets.push(socket);
  return socket;
}

async function asked(socket: Socket, word: string): Promise<string> {
  socket.write(word);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return answer.toString();
}

test('a whole link carries bytes both ways', async () => {
  assert.equal(await asked(dial(), 'hello'), 'hello');
});

test('silence holds bytes and connections, and gives the bytes back in order', async () => {
  const socket = dial();
  assert.equal(await asked(socket, 'one'), 'one');
  for (const [from, to] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    links.set(from, to, {kind: 'cut'});
    let heard = '';
    const listen = (bytes: Buffer): void => void (heard += bytes.toString());
    socket.on('data', listen);
    socket.write('two');
    const other = dial();
    await once(other, 'connect');
    other.write('x');
    await Promise.race([once(other, 'data'), new Promise(resolve => setTimeout(resolve, 60))]);
    assert.equal(heard, '');
    assert.equal(other.bytesRead, 0);
    socket.off('data', listen);
    const back = once(socket, 'data');
    links.heal();
    assert.equal(String((await back)[0]), 'two');
  }
});

test('refusal resets what stands and what comes', async () => {
  const standing = dial();
  assert.equal(await asked(standing, 'one'), 'one');
  const reset = once(standing, 'error');
  links.part([['a'], ['b']], {kind: 'refused'});
  assert.equal(((await reset)[0] as NodeJS.ErrnoException).code, 'ECONNRESET');
  const fresh = dial();
  await assert.rejects(asked(fresh, 'x'), {code: 'ECONNRESET'});
  links.heal();
  assert.equal(await asked(dial(), 'again'), 'again');
});

test('slowness delays, and keeps the order', async () => {
  links.set('a', 'b', {kind: 'slow', millis: 30});
  const socket = dial();
  await once(socket, 'connect');
  const sentAt = performance.now();
  let heard = '';
  socket.on('data', bytes => (heard += bytes.toString()));
  socket.write('one');
  links.set('a', 'b', {kind: 'lossy', percent: 100, millis: 50});
  socket.write('two');
  while (heard.length < 6) await once(socket, 'data');
  assert.equal(heard, 'onetwo');
  // Timers count in whole milliseconds.
  assert.ok(performance.now() - sentAt >= 29);
});

test('a member that is gone is refused through its link too', async () => {
  await new Promise(resolve => echo.close(resolve));
  await assert.rejects(asked(dial(), 'x'), {code: 'ECONNRESET'});
});
