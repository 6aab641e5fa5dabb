/**
 * Which heads the raw HTTP path takes, and that the slightest doubt keeps it off.
 * Holds invariant H2.
 */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {createServer, type IncomingMessage} from 'node:http';
import {type AddressInfo, connect} from 'node:net';
import {test} from 'node:test';
import fc from 'fast-check';
import {parseRequestHead} from './request-head.ts';

const usual = [
  'POST /api/v1/query/db HTTP/1.1',
  'Host: localhost:2480',
  'Authorization: Basic cm9vdDp4',
  'Content-Type: application/json',
  'Content-Length: 42',
];

test('the usual head is read', () => {
  assert.deepEqual(parseRequestHead(usual.join('\r\n')), {
    route: 'query',
    database: 'db',
    caller: 'Basic cm9vdDp4',
    bodyBytes: 42,
    sessionId: undefined,
    conversation: undefined,
    coding: undefined,
    requested: undefined,
    traceParent: undefined,
  });
});

test('the head of a request that another member relayed is read', () => {
  const lines = usual.filter(line => !line.startsWith('Authorization'));
  const words = [
    'X-Svc-Cluster-Token: secret',
    'X-Svc-Forwarded-User: ann%20a',
    'X-Svc-Forwarded-To-Leader: true',
  ];
  const head = parseRequestHead([...lines, ...words].join('\r\n'));
  assert.deepEqual(head?.caller, {token: 'secret', user: 'ann%20a'});
  for (const missing of words) {
    const some = words.filter(word => word !== missing);
    assert.equal(parseRequestHead([...lines, ...some].join('\r\n')), undefined);
  }
  assert.equal(parseRequestHead([...usual, ...words].join('\r\n')), undefined);
});

const taken: readonly (readonly string[])[] = [
  ['connection: keep-alive', 'accept: */*', 'accept-language: *', 'sec-fetch-mode: cors'],
  ['User-Agent: curl/8.1', 'Accept-Encoding: gzip, deflate'],
  ['Connection: Keep-Alive', 'svc-session-id: AS-1'],
  ['X-Svc-Read-Consistency: eventual', 'X-Svc-Read-After: 42'],
  [`traceparent: 00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, 'tracestate: a=1'],
];
for (const lines of taken) {
  test(`'${lines.join(', ')}' stays in the raw HTTP path`, () => {
    assert.notEqual(parseRequestHead([...usual, ...lines].join('\r\n')), undefined);
  });
}

/** [what replaces the line of that number, or is added at the end] */
const refused: readonly (readonly [number, string])[] = [
  [0, 'GET /api/v1/query/db HTTP/1.1'],
  [0, 'post /api/v1/query/db HTTP/1.1'],
  [0, 'POST /api/v1/query/db HTTP/1.0'],
  [0, 'POST  /api/v1/query/db HTTP/1.1'],
  [0, 'POST /api/v1/query/db HTTP/1.1 '],
  [0, 'POST /api/v1/query/d%62 HTTP/1.1'],
  [0, 'POST /api/v1/query/.. HTTP/1.1'],
  [0, 'POST /api/v1/query/db?x=1 HTTP/1.1'],
  [0, 'POST /api/v1/query/db/ HTTP/1.1'],
  [0, 'POST /api/v1/batch/db HTTP/1.1'],
  [0, 'POST http://x/api/v1/query/db HTTP/1.1'],
  [1, 'X-Host: x'],
  [1, 'Host:'],
  [2, 'X-Authorization: Basic x'],
  [4, 'Content-Length: +42'],
  [4, 'Content-Length: 042'],
  [4, 'Content-Length: 4 2'],
  [4, 'Content-Length: 0x2a'],
  [4, 'Content-Length: 65537'],
  [4, 'Content-Length: 42, 42'],
  [4, 'Content-Length : 42'],
  [4, ' Content-Length: 42'],
  [5, 'Content-Length: 42'],
  [5, 'content-length: 41'],
  [5, 'Transfer-Encoding: chunked'],
  [5, 'Expect: 100-continue'],
  [5, 'Upgrade: websocket'],
  [5, 'Connection: close'],
  [5, 'Connection: keep-alive, upgrade'],
  [5, 'Accept: application/x-ndjson'],
  [5, 'Accept: text/html, application/X-NDJSON'],
  [5, 'Content-Encoding: gzip'],
  [5, 'X-Request-Id: 1'],
  [5, 'X-Svc-Read-Consistency: Eventual'],
  [5, 'X-Svc-Read-After: -1'],
  [5, 'X-Svc-Commit-Index: 1'],
  [5, 'X-Svc-Forwarded-User: root'],
  [5, 'X-Svc-Cluster-Token: x'],
  [5, 'X-Svc-Query-Tag: a'],
  [5, 'User-Agent: a\u0000b'],
  [5, 'User-Agent: a\nAccept: b'],
  [5, 'User-Agent: a\rAccept: b'],
  [5, 'User-Agent: a\u00e9'],
  [5, 'User-Agent: a '],
  [5, 'User-Agent:  a'],
  [5, 'User-Agent:\ta'],
  [5, ' compressed'],
  [5, 'User-Agent'],
  [5, ''],
];
for (const [at, line] of refused) {
  test(`${JSON.stringify(line)} leaves the raw HTTP path`, () => {
    const lines = usual.with(Math.min(at, usual.length - 1), line);
    const head = at < usual.length ? lines : [...usual, line];
    assert.equal(parseRequestHead(head.join('\r\n')), undefined);
  });
}

/** What node's parser makes of each text, sent as the head of a request of its own. */
async function nodeReads(texts: readonly string[]): Promise<(IncomingMessage | undefined)[]> {
  const seen: (IncomingMessage | undefined)[] = [];
  let done: () => void = () => {};
  const server = createServer(request => {
    seen.push(request);
    request.socket.destroy();
    done();
  });
  server.on('clientError', (_error, socket) => {
    seen.push(undefined);
    socket.destroy();
    done();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  for (const text of texts) {
    await new Promise<void>(resolve => {
      done = resolve;
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`${text}\r\n\r\n`, 'latin1');
    });
  }
  server.close();
  return seen;
}

test("a head that is taken means the same to node's parser", async () => {
  const text = [...usual, 'Connection: keep-alive', 'Accept: */*', 'User-Agent: x y'].join('\r\n');
  const change = fc.tuple(fc.nat(text.length - 1), fc.nat(255), fc.boolean());
  const changed = fc.sample(change, 6_000).map(([at, code, inserts]) => {
    return text.slice(0, at) + String.fromCharCode(code) + text.slice(inserts ? at : at + 1);
  });
  const taken = changed.filter(head => parseRequestHead(head) !== undefined).slice(0, 300);
  assert.ok(taken.length > 100);
  for (const [at, read] of (await nodeReads(taken)).entries()) {
    const head = parseRequestHead(taken[at] ?? '');
    assert.ok(read !== undefined && head !== undefined, taken[at]);
    assert.equal(read.method, 'POST');
    assert.equal(read.url, `/api/v1/${head.route}/${head.database}`);
    assert.equal(read.httpVersion, '1.1');
    assert.equal(read.headers.authorization, head.caller);
    assert.equal(read.headers['content-length'], String(head.bodyBytes));
    assert.equal(read.headers['transfer-encoding'], undefined);
    assert.ok(!/ndjson/.test(read.headers.accept ?? ''));
  }
});
