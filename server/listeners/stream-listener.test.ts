/** A protocol of a line behind a listener: ports, strangers, certificates, the end. */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {test} from 'node:test';
import {connect as connectSecurely, type TLSSocket} from 'node:tls';
import {closing} from '#server/testing/closing.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {StreamListener, type StreamListenerOptions} from './stream-listener.ts';

const host = '127.0.0.1';
const any = {from: 0, to: 0};
const fixtures = join(import.meta.dirname, '../testing/fixtures/tls');
const keysOf = (path: string): {key: Buffer; cert: Buffer} => {
  const pem = readFileSync(join(fixtures, path));
  return {key: pem, cert: pem};
};

/** Answers each line with itself; who says `hello` is no stranger. `wait` is answered never. */
function echoes(more: Partial<StreamListenerOptions> = {}): {
  listener: StreamListener;
  timers: ManualTimers;
} {
  const timers = new ManualTimers();
  const listener = new StreamListener({
    timers,
    connectionsMax: 100,
    strangersMax: 2,
    strangerMs: 1_000,
    serve({socket, admit, onEnding}) {
      let isBusy = false;
      onEnding(() => {
        if (!isBusy) socket.end();
      });
      createInterface({input: socket}).on('line', line => {
        if (line === 'hello') admit();
        if (line === 'wait') isBusy = true;
        else socket.write(`${line}\n`);
      });
    },
    ...more,
  });
  closing({close: () => listener.close(0)});
  return {listener, timers};
}

class Client {
  readonly socket: Socket;
  readonly #lines: AsyncIterator<string>;

  constructor(socket: Socket) {
    this.socket = socket.on('error', () => {});
    this.#lines = createInterface({input: socket})[Symbol.asyncIterator]();
    closing({close: () => socket.destroy()});
  }

  async ask(line: string): Promise<string | undefined> {
    this.socket.write(`${line}\n`);
    const {value, done} = await this.#lines.next();
    return done === true ? undefined : value;
  }
}

const client = (port: number): Client => new Client(connect(port, host));

test('the first free port of a range is taken, and none where all are busy', async () => {
  const busy = closing(createServer());
  busy.listen(0, host);
  await once(busy, 'listening');
  const {port} = busy.address() as AddressInfo;
  const {listener} = echoes();
  await assert.rejects(listener.listen(host, {from: port, to: port}), {code: 'EADDRINUSE'});
  const found = await listener.listen(host, {from: port, to: port + 50});
  assert.ok(found > port && found <= port + 50);
  const chosen = await listener.listen(host, any);
  assert.deepEqual(
    listener.addresses.map(address => address.port),
    [found, chosen],
  );
  for (const one of [found, chosen]) assert.equal(await client(one).ask('hello'), 'hello');
});

test('strangers are few and have little time, whoever has shown who he is stays', async () => {
  const {listener, timers} = echoes();
  const port = await listener.listen(host, any);
  const known = client(port);
  assert.equal(await known.ask('hello'), 'hello');
  const [silent, next] = [client(port), client(port)];
  assert.equal(await silent.ask('who'), 'who');
  assert.equal(await next.ask('who'), 'who');
  const oldest = once(silent.socket, 'close');
  const third = client(port);
  assert.equal(await third.ask('who'), 'who');
  await oldest;
  const gone = Promise.all([next, third].map(({socket}) => once(socket, 'close')));
  timers.advance(1_000);
  await gone;
  assert.equal(await known.ask('still here'), 'still here');
  assert.equal(await client(port).ask('hello'), 'hello');
});

test('over TLS a stranger is one from his handshake until he has shown who he is', async () => {
  const {listener} = echoes({strangersMax: 1});
  const keys = keysOf('localhost.pem');
  const port = await listener.listenSecurely(host, any, keys);
  const secure = (): Client =>
    new Client(connectSecurely({port, host, ca: keys.cert, servername: 'localhost'}));
  const known = secure();
  assert.equal(await known.ask('hello'), 'hello');
  const silent = connect(port, host);
  closing({close: () => silent.destroy()});
  await once(silent, 'connect');
  const gone = once(silent, 'close');
  const next = secure();
  assert.equal(await next.ask('hello'), 'hello');
  await gone;
  assert.equal(await known.ask('still here'), 'still here');
});

test('connections from now on get the certificates that were renewed', async () => {
  const {listener} = echoes();
  const old = keysOf('localhost.pem');
  const renewed = keysOf('peers/node.pem');
  const port = await listener.listenSecurely(host, any, old);
  assert.deepEqual(listener.addresses, [{host, port, isSecure: true}]);
  const secure = async (): Promise<{line: string | undefined; name: unknown}> => {
    const socket: TLSSocket = connectSecurely({port, host, rejectUnauthorized: false});
    const one = new Client(socket);
    const line = await one.ask('hello');
    return {line, name: socket.getPeerCertificate().fingerprint256};
  };
  const before = await secure();
  listener.renew(renewed);
  const after = await secure();
  assert.deepEqual([before.line, after.line], ['hello', 'hello']);
  assert.notEqual(before.name, after.name);
});

test('the end waits for what is under way, and breaks it off when its time is over', async () => {
  const {listener, timers} = echoes();
  const port = await listener.listen(host, any);
  const [idle, busy] = [client(port), client(port)];
  assert.equal(await idle.ask('hello'), 'hello');
  assert.equal(await busy.ask('hello'), 'hello');
  busy.socket.write('wait\n');
  assert.equal(await idle.ask('a turn later'), 'a turn later');
  const idleGone = once(idle.socket, 'close');
  const busyGone = once(busy.socket, 'close');
  const closed = listener.close(500);
  await idleGone;
  await assert.rejects(once(connect(port, host), 'connect'), {code: 'ECONNREFUSED'});
  timers.advance(500);
  await busyGone;
  await closed;
});
