/** Which ways a secret may take. */
import assert from 'node:assert/strict';
import {subscribe, unsubscribe} from 'node:diagnostics_channel';
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {connect as connectHttp2} from 'node:http2';
import {request} from 'node:https';
import type {IncomingHttpHeaders} from 'node:http';
import type {Socket} from 'node:net';
import {join} from 'node:path';
import {test, type TestContext} from 'node:test';
import {connect as connectSecurely} from 'node:tls';
import {httpWorld, rootPassword} from '#server/testing/worlds/http-world.ts';
import {Transport} from './transport.ts';

const proxied = '10.1.2.3';

function isProtected(
  from: {
    readonly address: string;
    readonly encrypted?: true;
    readonly headers?: IncomingHttpHeaders;
  },
  proxies = '10.0.0.0/8, 2001:db8::/32, 192.168.7.7',
): boolean {
  const {address, encrypted, headers = {}} = from;
  const socket = {remoteAddress: address, ...(encrypted ? {encrypted} : {})} as unknown as Socket;
  return new Transport(proxies).isProtected({headers, socket});
}

const https = {'x-forwarded-proto': 'https'};
const cases: readonly (readonly [Parameters<typeof isProtected>[0], boolean])[] = [
  [{address: '127.0.0.1'}, true],
  [{address: '::1'}, true],
  [{address: '::ffff:127.0.0.1'}, true],
  [{address: '203.0.113.9'}, false],
  [{address: '203.0.113.9', encrypted: true}, true],
  [{address: '203.0.113.9', headers: https}, false],
  [{address: proxied}, false],
  [{address: proxied, headers: https}, true],
  [{address: '192.168.7.7', headers: https}, true],
  [{address: '192.168.7.8', headers: https}, false],
  [{address: '2001:db8::5', headers: https}, true],
  [{address: `::ffff:${proxied}`, headers: https}, true],
  [{address: proxied, headers: {'x-forwarded-proto': 'https, http'}}, false],
  [{address: proxied, headers: {forwarded: 'for=1.2.3.4;proto=https'}}, true],
  [{address: proxied, headers: {forwarded: 'proto="https";for=x, for=y;proto=HTTPS'}}, true],
  [{address: proxied, headers: {forwarded: 'for=1.2.3.4'}}, false],
  [{address: proxied, headers: {...https, forwarded: 'for=1.2.3.4'}}, false],
];

for (const [from, wanted] of cases) {
  test(`svc.server.apiTokenTrustedProxies: ${JSON.stringify(from)}: ${wanted}`, () => {
    assert.equal(isProtected(from), wanted);
  });
}

test('a list of proxies holds addresses and ranges, nothing else', () => {
  for (const list of ['proxy.example', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', '::1/129']) {
    assert.throws(() => new Transport(list), /svc\.server\.apiTokenTrustedProxies/, list);
  }
});

const stranger = '203.0.113.9';

/** A server whose clients all seem to come from an address that is not of this machine. */
async function worldOfStrangers(context: TestContext, settings: Parameters<typeof httpWorld>[0]) {
  const channel = 'net.server.socket';
  const onSocket = (message: unknown): void => {
    const {socket} = message as {readonly socket: Socket};
    Object.defineProperty(socket, 'remoteAddress', {value: stranger});
  };
  subscribe(channel, onSocket);
  const world = await httpWorld(settings);
  context.after(async () => {
    unsubscribe(channel, onSocket);
    await world.server.close(0);
  });
  return world;
}

/** [trusted proxies, headers, status where a secure transport is required, and where it is not] */
const tokenCases: readonly (readonly [string, Readonly<Record<string, string>>, number, number])[] =
  [
    ['', {}, 412, 201],
    ['', https, 412, 201],
    [stranger, {}, 412, 201],
    [stranger, https, 201, 201],
  ];
const words = {body: {command: 'create api token words'}};

for (const [proxies, headers, required, free] of tokenCases) {
  const name = `through '${proxies}' with ${JSON.stringify(headers)}`;
  test(`an API token ${name}: ${required}, or ${free}`, async context => {
    for (const [isRequired, status] of [
      [true, required],
      [false, free],
    ] as const) {
      const world = await worldOfStrangers(context, {
        'svc.server.apiTokenRequireSecureTransport': isRequired,
        'svc.server.apiTokenTrustedProxies': proxies,
      });
      const answer = await world.call('/server/api-tokens', {body: {name: 'bot'}, headers});
      assert.equal(answer.status, status, answer.text);
      if (status === 201) continue;
      const {error, detail} = answer.json as {readonly error: string; readonly detail: string};
      assert.equal(error, 'API token creation requires a secure transport');
      assert.match(detail, /svc\.server\.apiTokenTrustedProxies/);
      assert.doesNotMatch(answer.text, /at-/);
      const {count} = (await world.call('/server/api-tokens')).json as {readonly count: number};
      assert.equal(count, 0, 'none was made');
      assert.equal((await world.call('/server', {...words, headers})).status, 412);
    }
  });
}

test('HTTPS answers what HTTP answers, on the raw HTTP path too, and after a renewal', async () => {
  const world = await httpWorld();
  const pem = readFileSync(join(import.meta.dirname, '../../testing/fixtures/tls/localhost.pem'));
  const keys = {key: pem, cert: pem};
  try {
    const port = await world.server.listenSecurely('127.0.0.1', {from: 0, to: 0}, keys);
    const ask = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const sent = request(
          {
            host: 'localhost',
            port,
            path: '/api/v1/command/db',
            method: 'POST',
            ca: pem,
            auth: `root:${rootPassword}`,
            headers: {'content-type': 'application/json'},
          },
          response => {
            let text = '';
            response.setEncoding('utf8');
            response.on('data', (piece: string) => (text += piece));
            response.on('end', () => resolve(text));
          },
        );
        sent.on('error', reject);
        sent.end(JSON.stringify({language: 'sql', command: 'rows 2'}));
      });
    const body = {language: 'sql', command: 'rows 2'};
    const plain = await world.call('/command/db', {body});
    const lanesBefore = world.server.laneAnswers;
    assert.equal(await ask(), plain.text);
    assert.equal(world.server.laneAnswers, lanesBefore + 1);
    world.server.renew(keys);
    assert.equal(await ask(), plain.text);
  } finally {
    await world.server.close(0);
  }
});

test('who speaks HTTP/2 as well is served by HTTP/1.1, who speaks it alone is told', async () => {
  const world = await httpWorld();
  const pem = readFileSync(join(import.meta.dirname, '../../testing/fixtures/tls/localhost.pem'));
  try {
    const ports = {from: 0, to: 0};
    const port = await world.server.listenSecurely('127.0.0.1', ports, {key: pem, cert: pem});
    const both = connectSecurely({
      port,
      host: '127.0.0.1',
      ca: pem,
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    await once(both, 'secureConnect');
    assert.equal(both.alpnProtocol, 'http/1.1');
    both.destroy();
    const only = connectHttp2(`https://localhost:${port}`, {ca: pem});
    const [error] = (await once(only, 'error')) as [Error];
    assert.match(error.message, /no application protocol/i);
    const clear = connectHttp2(`http://127.0.0.1:${world.port}`);
    await once(clear, 'error');
    assert.match(await world.raw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), /^HTTP\/1\.1 400 /);
  } finally {
    await world.server.close(0);
  }
});
