/** Files over a connection of our own: under TLS, in pieces of any size, and what cannot be. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {type AddressInfo, createServer, type Server, type Socket} from 'node:net';
import {join} from 'node:path';
import {test} from 'node:test';
import {createServer as createSecureServer} from 'node:tls';
import {FileConnection} from './file-connection.ts';
import {PeerFailure, type PeerEndpoint} from './peer-requests.ts';

const fixtures = join(import.meta.dirname, '../../testing/fixtures/tls/peers');
const head = (length: number, status = 200): string =>
  `HTTP/1.1 ${status} Any\r\nServer: one\r\nContent-Length: ${length}\r\n\r\n`;

function pem(name: string): string {
  return readFileSync(join(fixtures, `${name}.pem`), 'utf8');
}

/** Answers the requests of every connection in turn, and then closes it. */
async function withPeer(
  answers: readonly (readonly (string | Buffer)[])[],
  work: (endpoint: PeerEndpoint, asked: readonly string[]) => Promise<void>,
  keys?: {readonly key: string; readonly cert: string},
): Promise<void> {
  const asked: string[] = [];
  const serve = (socket: Socket): void => {
    const left = [...answers];
    socket.on('error', () => {});
    socket.on('data', request => {
      asked.push(String(request));
      const answer = left.shift();
      if (answer === undefined) socket.destroy();
      for (const piece of answer ?? []) socket.write(piece);
    });
  };
  const server: Server = keys === undefined ? createServer(serve) : createSecureServer(keys, serve);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as AddressInfo;
  try {
    const tls = keys === undefined ? {} : {tls: {ca: [pem('authority')]}};
    await work({host: '127.0.0.1', port, token: 'secret', ...tls}, asked);
  } finally {
    server.close();
  }
}

interface Gathered {
  readonly status: number;
  readonly body: Buffer;
}

async function ask(connection: FileConnection, path = '/file'): Promise<Gathered> {
  const pieces: Buffer[] = [];
  let status = 0;
  await connection.get(
    {path, headers: {Range: 'bytes=7-'}},
    {
      begin: given => void (status = given),
      take: piece => void pieces.push(Buffer.from(piece)),
    },
  );
  return {status, body: Buffer.concat(pieces)};
}

const body = Buffer.alloc(3_000_000, 'some bytes ');

for (const isSecure of [false, true]) {
  test(`two files in turn ${isSecure ? 'under TLS' : 'in the open'}`, async () => {
    const answers = [[head(body.length), body], [head(0, 304)], [head(5, 206), 'after']];
    const keys = isSecure ? {key: pem('node'), cert: pem('node')} : undefined;
    await withPeer(
      answers,
      async (endpoint, asked) => {
        const connection = new FileConnection(endpoint, 10_000);
        const first = await ask(connection);
        assert.equal(first.status, 200);
        assert.ok(first.body.equals(body), `${first.body.length} bytes`);
        assert.deepEqual(await ask(connection), {status: 304, body: Buffer.alloc(0)});
        assert.deepEqual(await ask(connection), {status: 206, body: Buffer.from('after')});
        connection.close();
        assert.match(asked[0] ?? '', /^GET \/file HTTP\/1\.1\r\nHost: 127\.0\.0\.1:/);
        assert.match(asked[0] ?? '', /X-Svc-Cluster-Token: secret\r\nRange: bytes=7-\r\n\r\n$/);
      },
      keys,
    );
  });
}

test('whose certificate is not of the authority is not asked', async () => {
  const stranger = {key: pem('stranger'), cert: pem('stranger')};
  await withPeer(
    [[head(1), 'x']],
    async (endpoint, asked) => {
      const connection = new FileConnection(endpoint, 10_000);
      await assert.rejects(ask(connection), PeerFailure);
      assert.equal(asked.length, 0);
    },
    stranger,
  );
});

const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['no HTTP', ['SSH-2.0-OpenSSH\r\n\r\n'], /cannot be one/],
  ['no length', ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'], /cannot be one/],
  ['a head without an end', ['HTTP/1.1 200 OK\r\n', 'X: '.padEnd(40_000, 'x')], /cannot be one/],
  ['more than announced', [head(3) + 'four'], /more bytes/],
];

for (const [name, answer, reason] of refused) {
  test(`an answer with ${name} is refused`, async () => {
    await withPeer([answer], async endpoint => {
      const connection = new FileConnection(endpoint, 10_000);
      await assert.rejects(ask(connection), reason);
      await assert.rejects(ask(connection), reason, 'and the connection is of no use any more');
    });
  });
}

test('a connection that closes, is refused or is silent ends the request', async () => {
  await withPeer([], async endpoint => {
    await assert.rejects(ask(new FileConnection(endpoint, 10_000)), /was closed|ECONNRESET/);
    await assert.rejects(ask(new FileConnection({...endpoint, port: 1}, 10_000)), /ECONNREFUSED/);
  });
  await withPeer([[head(10), 'half ']], async endpoint => {
    await assert.rejects(ask(new FileConnection(endpoint, 50)), /silent for 50 ms/);
  });
});

test('what the taker throws ends the request', async () => {
  await withPeer([[head(10), 'ten bytes!']], async endpoint => {
    const connection = new FileConnection(endpoint, 10_000);
    const full = {
      begin: () => {},
      take: () => {
        throw new Error('no room');
      },
    };
    await assert.rejects(connection.get({path: '/file', headers: {}}, full), /no room/);
  });
});
