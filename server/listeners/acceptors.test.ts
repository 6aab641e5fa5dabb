/** Several sockets on one port are one server: its limit, its port and its end are theirs. */
import assert from 'node:assert/strict';
import {createServer, type IncomingMessage, type Server} from 'node:http';
import {connect, createServer as createPlainServer, type Socket} from 'node:net';
import {once} from 'node:events';
import {after, test} from 'node:test';
import {Acceptors} from './acceptors.ts';

const host = '127.0.0.1';
const ends: (() => void)[] = [];
after(() => {
  for (const end of ends) end();
});

function serve(connectionsMax: number): {server: Server; acceptors: Acceptors} {
  const server = createServer((request, response) => response.end(request.url));
  const acceptors = new Acceptors(server, {connectionsMax});
  ends.push(() => {
    void acceptors.close();
    server.closeAllConnections();
  });
  return {server, acceptors};
}

/** A request on a connection of its own; what came back when that is over, or kept open. */
async function ask(
  port: number,
  path: string,
  localAddress = host,
): Promise<{socket: Socket; answer: string}> {
  const socket = connect({port, host, localAddress});
  ends.push(() => socket.destroy());
  socket.on('error', () => {});
  socket.write(`GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  let answer = '';
  // One that is refused is reset.
  const isOver = new Promise(resolve => socket.once('close', resolve));
  await Promise.race([
    isOver,
    new Promise<void>(resolve => {
      socket.on('data', bytes => {
        answer += String(bytes);
        if (answer.endsWith(`/${path}`)) resolve();
      });
    }),
  ]);
  return {socket, answer};
}

test('connections that come all at once are all served, by several sockets', async () => {
  const {server, acceptors} = serve(1_000);
  const port = await acceptors.listen(host, {from: 0, to: 0});
  let byTheServer = 0;
  server.on('connection', (socket: Socket & {_server?: unknown}) => {
    if (socket._server === server) byTheServer += 1;
  });
  const paths = Array.from({length: 200}, (_, number) => `path${number}`);
  const found = await Promise.all(paths.map(path => ask(port, path)));
  for (const [number, {answer}] of found.entries())
    assert.match(answer, new RegExp(`path${number}$`));
  assert.ok(byTheServer < 100, `one of eight took ${byTheServer} of 200`);
  const closed = acceptors.close();
  server.closeIdleConnections();
  await closed;
  await assert.rejects(once(connect(port, host), 'connect'), {code: 'ECONNREFUSED'});
});

test('the limit counts the connections of all sockets, and frees as they end', async () => {
  const {server, acceptors} = serve(9);
  const port = await acceptors.listen(host, {from: 0, to: 0});
  const paths = Array.from({length: 40}, (_, number) => `path${number}`);
  const found = await Promise.all(paths.map(path => ask(port, path)));
  const served = found.filter(({answer}) => answer !== '');
  assert.equal(served.length, 9);
  assert.deepEqual(acceptors.counts, {open: 9, accepted: 9, refused: 31});
  const [first, second] = served;
  assert.ok(first && second);
  const gone = [first, second].map(({socket}) => once(socket, 'close'));
  for (const {socket} of [first, second]) socket.end();
  await Promise.all(gone);
  const again = await Promise.all(['x', 'y', 'z'].map(path => ask(port, path)));
  assert.equal(again.filter(({answer}) => answer !== '').length, 2);
  assert.deepEqual(acceptors.counts, {open: 9, accepted: 11, refused: 32});
  const closed = acceptors.close();
  server.closeAllConnections();
  await closed;
});

test('one address does not have all connections: the last tenth is for others', async () => {
  const {server, acceptors} = serve(20);
  const port = await acceptors.listen(host, {from: 0, to: 0});
  const paths = Array.from({length: 40}, (_, number) => `path${number}`);
  const found = await Promise.all(paths.map(path => ask(port, path)));
  const served = found.filter(({answer}) => answer !== '');
  assert.equal(served.length, 18);
  assert.deepEqual(acceptors.counts, {open: 18, accepted: 18, refused: 22});
  assert.match((await ask(port, 'other', '127.0.0.2')).answer, /other$/);
  const [first] = served;
  assert.ok(first);
  const gone = once(first.socket, 'close');
  first.socket.end();
  await gone;
  assert.match((await ask(port, 'again')).answer, /again$/);
  const closed = acceptors.close();
  server.closeAllConnections();
  await closed;
});

test('a port is never shared with somebody else', async () => {
  const {acceptors} = serve(10);
  const port = await acceptors.listen(host, {from: 0, to: 0});
  const second = serve(10);
  await assert.rejects(second.acceptors.listen(host, {from: port, to: port}), {
    code: 'EADDRINUSE',
  });
  const next = await second.acceptors.listen(host, {from: port, to: port + 20});
  assert.ok(next > port);
  const stranger = createPlainServer();
  stranger.listen(port, host);
  const [error] = await once(stranger, 'error');
  assert.equal(error.code, 'EADDRINUSE');
  await Promise.all([acceptors.close(), second.acceptors.close()]);
});

test('the oldest stranger is closed for the next, and who was admitted stays', async () => {
  const server = createServer((request, response) => response.end(request.url));
  const acceptors = new Acceptors(server, {connectionsMax: 100, strangersMax: 2});
  ends.push(() => {
    void acceptors.close();
    server.closeAllConnections();
  });
  server.on('request', ({url, socket}: IncomingMessage) => {
    if (url === '/known') acceptors.admit(socket);
    if (url === '/again') acceptors.renew(socket);
  });
  const port = await acceptors.listen(host, {from: 0, to: 0});
  const known = await ask(port, 'known');
  const first = await ask(port, 'first');
  const second = await ask(port, 'second');
  const oldest = once(second.socket, 'close');
  const heard = once(first.socket, 'data');
  first.socket.write('GET /again HTTP/1.1\r\nHost: x\r\n\r\n');
  await heard;
  assert.match((await ask(port, 'third')).answer, /third$/);
  await oldest;
  assert.deepEqual([known.socket.closed, first.socket.closed], [false, false]);
  assert.deepEqual(acceptors.counts, {open: 3, accepted: 4, refused: 1});
});
