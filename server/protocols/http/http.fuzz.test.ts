/** Mutated requests as raw bytes: whatever comes, the server answers or hangs up, and lives. */
import assert from 'node:assert/strict';
import {connect} from 'node:net';
import {test} from 'node:test';
import fc from 'fast-check';
import {httpWorld, rootPassword} from '#server/testing/worlds/http-world.ts';

const credentials = Buffer.from(`root:${rootPassword}`).toString('base64');

const paths = [
  '/api/v1/query/db',
  '/api/v1/command/db',
  '/api/v1/begin/db',
  '/api/v1/server',
  '/api/v1/server/users?name=x',
  '/api/v1/exists/..%2f..%00',
  '/api/v1/query/db/sql/%ff',
  '/',
  '//',
  '*',
  'http://x/api/v1/health',
];
const bodies = [
  '{"language":"sql","command":"rows","params":{"a":[1,{"$bytes":"AQ=="}]}}',
  '{"language":"sql","command":"rows","limit":1e999,"params":null}',
  '{"command":"create user {\\"name\\":\\"\\u0000abc\\",\\"password\\":\\"12345678\\"}"}',
  '{"command":"list queries"}',
  '{"isolationLevel":"REPEATABLE_READ"}',
  '',
];
const headers = [
  'Accept: application/x-ndjson',
  'X-Request-Id: same',
  'svc-session-id: AS-x',
  'X-Svc-Query-Tag: t',
  'X-Svc-Read-After: -1',
  'Expect: 100-continue',
  'Connection: close',
  'X-Svc-Commit-Index: 1',
];

const request = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'),
    path: fc.constantFrom(...paths),
    sent: fc.subarray(headers),
    body: fc.constantFrom(...bodies),
    flips: fc.oneof(fc.constant([]), fc.array(fc.tuple(fc.nat(600), fc.nat(255)), {maxLength: 2})),
  })
  .map(({method, path, sent, body, flips}) => {
    const length = `Content-Length: ${body.length}`;
    const lines = [`${method} ${path} HTTP/1.1`, 'Host: x', length, ...sent];
    lines.push(`Authorization: Basic ${credentials}`, '', body);
    const bytes = Buffer.from(lines.join('\r\n'));
    for (const [at, value] of flips) bytes[at % bytes.length] = value;
    return bytes;
  });

function send(port: number, bytes: Buffer): Promise<string> {
  return new Promise(resolve => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', data => {
      received += data.toString('latin1');
      socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
  });
}

test('mutated requests are answered or cut off, and never counted as defects', async () => {
  const world = await httpWorld({'svc.network.socketTimeout': 100});
  try {
    await fc.assert(
      fc.asyncProperty(request, async bytes => {
        const answer = await send(world.port, bytes);
        assert.ok(answer === '' || /^HTTP\/1\.1 [1-5]\d\d /.test(answer), answer.slice(0, 200));
        assert.doesNotMatch(answer, /^HTTP\/1\.1 500 /);
      }),
      {numRuns: 200},
    );
    assert.deepEqual(world.logged, []);
    assert.equal((await world.call('/health', {as: 'none'})).status, 204);
  } finally {
    await world.server.close(0);
  }
});
