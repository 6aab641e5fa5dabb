/** Compressed answers over a socket: of both paths, whole and streamed, and only when asked for. */
import assert from 'node:assert/strict';
import {type IncomingHttpHeaders, request, type RequestOptions} from 'node:http';
import {after, before, test} from 'node:test';
import {brotliDecompressSync, gunzipSync, zstdDecompressSync} from 'node:zlib';
import {type HttpWorld, httpWorld, rootPassword} from '#server/testing/worlds/http-world.ts';
import {acceptedCoding} from './compression.ts';

let world: HttpWorld;
before(async () => {
  world = await httpWorld();
});
after(() => world.server.close(0));

const plainly = {identity: (bytes: Buffer) => bytes};
const expanded: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  ...plainly,
  gzip: gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly sent: number;
  readonly text: string;
}

function ask(command: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const body = Buffer.from(JSON.stringify({language: 'sql', command, limit: -1}));
  const own = {'Content-Type': 'application/json', 'Content-Length': body.length};
  const options = {method: 'POST', path: '/api/v1/query/db', headers: {...own, ...headers}};
  return answerTo(options, body);
}

function answerTo(options: RequestOptions, body?: Buffer): Promise<Answer> {
  const {promise, resolve, reject} = Promise.withResolvers<Answer>();
  const sent = request({port: world.port, auth: `root:${rootPassword}`, ...options}, answer => {
    const pieces: Buffer[] = [];
    answer.on('data', (piece: Buffer) => void pieces.push(piece));
    answer.on('end', () => {
      const bytes = Buffer.concat(pieces);
      const coding = answer.headers['content-encoding'] ?? 'identity';
      const text = expanded[coding]?.(bytes).toString() ?? '';
      resolve({headers: answer.headers, sent: bytes.length, text});
    });
    answer.on('error', reject);
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

/** A header that the fast path leaves to node's server. */
const ways = {fast: {}, "node's": {'X-Other': '1'}};
const large = 'rows 20000';

for (const [way, more] of Object.entries(ways)) {
  for (const coding of ['gzip', 'br', 'zstd']) {
    test(`a large answer of ${way} path is compressed by ${coding} when asked for`, async () => {
      const before = world.server.laneAnswers;
      const plain = await ask(large, more);
      const small = await ask(large, {...more, 'Accept-Encoding': `deflate, ${coding}`});
      assert.equal(world.server.laneAnswers - before, way === 'fast' ? 2 : 0);
      assert.equal(plain.headers['content-encoding'], undefined);
      assert.equal(small.headers['content-encoding'], coding);
      assert.equal(small.headers.vary, 'Accept-Encoding');
      assert.equal(small.headers['content-length'], String(small.sent));
      assert.equal(small.text, plain.text);
      assert.ok(small.sent * 3 < plain.sent, `${small.sent} of ${plain.sent}`);
    });
  }

  test(`a small answer of ${way} path is sent as it is`, async () => {
    const {headers} = await ask('rows 2', {...more, 'Accept-Encoding': 'gzip, br, zstd'});
    assert.equal(headers['content-encoding'], undefined);
  });
}

for (const path of ['/api/v1/openapi.json', '/api/v1/docs']) {
  test(`${path} is compressed when asked for`, async () => {
    const plain = await answerTo({path});
    assert.equal(plain.headers['content-encoding'], undefined);
    for (const coding of ['gzip', 'br', 'zstd']) {
      const small = await answerTo({path, headers: {'Accept-Encoding': coding}});
      assert.equal(small.headers['content-encoding'], coding);
      assert.equal(small.headers['content-type'], plain.headers['content-type']);
      assert.ok(small.sent * 3 < plain.sent, `${small.sent} of ${plain.sent}`);
      assert.equal(small.text, plain.text);
    }
    const head = await answerTo({path, method: 'HEAD', headers: {'Accept-Encoding': 'gzip'}});
    assert.equal(head.sent, 0);
  });
}

test('streamed rows are compressed piece by piece', async () => {
  const lines = {Accept: 'application/x-ndjson'};
  const plain = await ask(large, lines);
  for (const coding of ['gzip', 'br', 'zstd']) {
    const small = await ask(large, {...lines, 'Accept-Encoding': coding});
    assert.equal(small.headers['content-encoding'], coding);
    assert.equal(small.headers['transfer-encoding'], 'chunked');
    assert.equal(small.text, plain.text);
    assert.ok(small.sent * 3 < plain.sent, `${small.sent} of ${plain.sent}`);
  }
});

test('an answer in chunks is compressed too, and the connection goes on', async () => {
  const huge = 'rows 17000 1000';
  const plain = await ask(huge, {});
  assert.equal(plain.headers['transfer-encoding'], 'chunked');
  const small = await ask(huge, {'Accept-Encoding': 'zstd'});
  assert.equal(small.headers['content-encoding'], 'zstd');
  assert.equal(small.text, plain.text);
  assert.equal(
    (await ask('rows 1', {'Accept-Encoding': 'zstd'})).headers['content-encoding'],
    undefined,
  );
});

test('the size is a setting, and -1 compresses nothing', async () => {
  const gzip = {'Accept-Encoding': 'gzip'};
  world.set('svc.server.httpCompressionMinSize', 10);
  assert.equal((await ask('rows 2', gzip)).headers['content-encoding'], 'gzip');
  world.set('svc.server.httpCompressionMinSize', -1);
  for (const more of [{}, {Accept: 'application/x-ndjson'}]) {
    assert.equal((await ask(large, {...gzip, ...more})).headers['content-encoding'], undefined);
  }
  world.set('svc.server.httpCompressionMinSize', 32 * 1024);
});

const accepted: readonly (readonly [string | undefined, string | undefined])[] = [
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['deflate', undefined],
  ['gzip', 'gzip'],
  ['GZIP;Q=0.5', 'gzip'],
  ['gzip, deflate, br, zstd', 'zstd'],
  ['gzip;q=1.0, br;q=0.9', 'gzip'],
  ['gzip;q=0', undefined],
  ['*', 'zstd'],
  ['zstd;q=0, br;q=0, *;q=0.1', 'gzip'],
  ['gzip;q=2', undefined],
  ['gzip;q=0.5;q', 'gzip'],
  ['gzip,'.repeat(1_000), undefined],
];

for (const [header, coding] of accepted) {
  test(`Accept-Encoding '${header?.slice(0, 40)}' is ${coding}`, () => {
    assert.equal(acceptedCoding(header), coding);
  });
}
