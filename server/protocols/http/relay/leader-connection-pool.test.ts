/**
 * What a client of a replica gets of requests that the raw HTTP path relays: the leader's bytes as
 * they are, over few connections, and never half an answer that looks whole.
 */
import assert from 'node:assert/strict';
import {connect, createServer, type Server, type Socket} from 'node:net';
import {afterEach, beforeEach, test} from 'node:test';
import {followerState, peerOf} from '#server/testing/cluster/member-states.ts';
import {
  type ClusterOfTwo,
  clusterOfTwo,
  clusterToken,
} from '#server/testing/cluster/cluster-of-two.ts';

const settings = {
  'svc.ha.forwardLeaderWaitTimeoutMs': 300,
  'svc.ha.proxyReadTimeout': 400,
  'svc.ha.proxyCommandTimeout': 400,
};

/** A leader made by hand: what it was asked over which connection, and what it answers. */
class LeaderByHand {
  readonly asked: {readonly connection: number; readonly text: string}[] = [];
  readonly #server: Server;
  #connections = 0;

  constructor(answer: (socket: Socket, count: number) => void) {
    this.#server = createServer(socket => {
      const connection = ++this.#connections;
      socket.on('data', bytes => {
        this.asked.push({connection, text: bytes.toString('latin1')});
        answer(socket, this.asked.length);
      });
      socket.on('error', () => undefined);
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  close(): void {
    this.#server.close();
  }
}

let two: ClusterOfTwo;
let leader: LeaderByHand | undefined;
beforeEach(async () => {
  two = await clusterOfTwo(settings);
});
afterEach(async () => {
  leader?.close();
  await two.close();
});

async function led(answer: (socket: Socket, count: number) => void): Promise<LeaderByHand> {
  const made = new LeaderByHand(answer);
  leader = made;
  two.lead(undefined);
  two.replica.cluster.leader = {host: '127.0.0.1', port: await made.listen()};
  return made;
}

const body = '{"language":"sql","command":"write"}';
const request = [
  'POST /api/v1/command/db HTTP/1.1',
  'Host: replica',
  `Authorization: Basic ${btoa('anna:anna-pass')}`,
  'Content-Type: application/json',
  `Content-Length: ${body.length}`,
  '',
  body,
].join('\r\n');

/** A client's connection: everything that came over it, and when it ends. */
class Client {
  text = '';
  isOver = false;
  readonly #socket: Socket;
  #wake: () => void = () => undefined;

  constructor(port: number) {
    this.#socket = connect({port, host: '127.0.0.1', noDelay: true});
    this.#socket.on('data', bytes => {
      this.text += bytes.toString('latin1');
      this.#wake();
    });
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => {
      this.isOver = true;
      this.#wake();
    });
  }

  ask(): void {
    this.#socket.write(request);
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>(resolve => (this.#wake = resolve));
  }

  end(): void {
    this.#socket.destroy();
  }
}

function answered(headers: readonly string[], content: string): string {
  return ['HTTP/1.1 200 OK', 'X-Request-Id: theirs', ...headers, '', content].join('\r\n');
}

const chunks = '5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n';
const long = 'x'.repeat(300_000);

for (const [name, headers, content] of [
  ['short', ['Content-Length: 5'], 'hello'],
  ['long', [`Content-Length: ${long.length}`], long],
  ['chunked', ['Transfer-Encoding: chunked'], chunks],
  ['empty', ['Content-Length: 0'], ''],
] as const) {
  test(`an answer that is ${name} passes as it is, over one connection for many`, async () => {
    const whole = answered(['Keep-Alive: timeout=47', 'X-Odd: kept', ...headers], content);
    const {asked} = await led(socket => {
      // In pieces that end anywhere.
      for (let at = 0; at < whole.length; at += 70_001) socket.write(whole.slice(at, at + 70_001));
    });
    const client = new Client(two.replica.port);
    for (let count = 1; count <= 3; count++) {
      client.text = '';
      client.ask();
      await client.until(() => client.text.endsWith(`\r\n\r\n${content}`));
      const head = client.text.slice(0, client.text.indexOf('\r\n\r\n'));
      assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(head, /\r\nX-Request-Id: theirs\r\n/);
      assert.match(head, /\r\nX-Odd: kept\r\n/);
      assert.match(head, /\r\nX-Svc-Replay-Protection: /);
      assert.doesNotMatch(head, /timeout=47/);
    }
    client.end();
    assert.deepEqual(
      asked.map(({connection}) => connection),
      [1, 1, 1],
    );
    const text = asked[0]?.text ?? '';
    assert.match(text, new RegExp(`\\r\\nX-Svc-Cluster-Token: ${clusterToken}\\r\\n`));
    assert.match(text, /\r\nX-Svc-Forwarded-User: anna\r\nX-Svc-Forwarded-To-Leader: true\r\n/);
    assert.doesNotMatch(text, /Authorization/i);
    assert.ok(text.endsWith(`\r\n\r\n${body}`));
  });
}

for (const [name, headers, content] of [
  ['of a length', [`Content-Length: ${long.length}`], long.slice(0, 100_000)],
  ['in chunks', ['Transfer-Encoding: chunked'], chunks.slice(0, 12)],
  ['in no chunks', ['Transfer-Encoding: chunked'], 'what is this?\r\n'],
] as const) {
  test(`a long answer ${name} that breaks off breaks the client’s connection`, async () => {
    await led(socket => {
      socket.write(answered(headers, content), () => socket.destroy());
    });
    const client = new Client(two.replica.port);
    client.ask();
    await client.until(() => client.isOver);
    assert.ok(!client.text.endsWith(chunks));
    assert.ok(client.text.length < long.length);
  });
}

for (const [name, text] of [
  ['a short answer that breaks off', answered(['Content-Length: 500'], 'half')],
  ['no answer of ours', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
  ['an answer without an end', answered([], 'hello')],
  ['a head without an end', `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(20_000)}`],
] as const) {
  test(`${name}: the outcome is unknown, and the client's connection stays`, async () => {
    await led(socket => {
      socket.write(text, () => socket.destroy());
    });
    const client = new Client(two.replica.port);
    for (let count = 1; count <= 2; count++) {
      client.text = '';
      client.ask();
      await client.until(() => client.isOver || client.text.includes('CommitOutcomeUnknown'));
      assert.match(client.text, /^HTTP\/1\.1 503 /);
    }
    client.end();
  });
}

test('a connection that the leader wants to end is not used again', async () => {
  const {asked} = await led(socket => {
    socket.write(answered(['Connection: close', 'Content-Length: 2'], 'ok'));
  });
  const client = new Client(two.replica.port);
  for (let count = 1; count <= 2; count++) {
    client.text = '';
    client.ask();
    await client.until(() => client.text.endsWith('ok'));
  }
  client.end();
  assert.deepEqual(
    asked.map(({connection}) => connection),
    [1, 2],
  );
});

test('a server that leads no more is left for the one that does', async () => {
  const client = new Client(two.replica.port);
  await led(socket => {
    const refusal = answered(['X-Svc-Leader: elsewhere:1', 'Content-Length: 2'], '{}');
    socket.write(refusal.replace('200 OK', '503 Service Unavailable'));
    two.lead(two.leader);
  });
  client.ask();
  await client.until(() => client.text.includes('"user":"anna"'));
  assert.match(client.text, /^HTTP\/1\.1 200 OK\r\n/);
  assert.equal(two.leader.service.writes, 1);
  client.end();
});

test('a leader that was silent is given up as soon as another leads', async () => {
  let came = (): void => undefined;
  const isThere = new Promise<void>(resolve => (came = resolve));
  await led(() => came());
  const {cluster} = two.replica;
  two.replica.set('svc.ha.proxyCommandTimeout', 30_000);
  const httpPort = cluster.leader?.port;
  cluster.current = followerState({peers: [peerOf(0), peerOf(1, {httpPort, silentMs: 60_000})]});
  const client = new Client(two.replica.port);
  client.ask();
  await isThere;
  two.lead(two.leader);
  await client.until(() => client.text.includes('CommitOutcomeUnknown'));
  assert.match(client.text, /does not lead any more/);
  client.end();
});

test('a client that goes away takes its request at the leader with it', async () => {
  let ended = (): void => undefined;
  const isOver = new Promise<void>(resolve => (ended = resolve));
  let came = (): void => undefined;
  const isThere = new Promise<void>(resolve => (came = resolve));
  await led(socket => {
    socket.on('close', ended);
    came();
  });
  const client = new Client(two.replica.port);
  client.ask();
  await isThere;
  client.end();
  await isOver;
});
