/**
 * What hostile and broken clients send, as probes: each spoils the good request of a surface in
 * the ways of its name and asserts what becomes of it.
 */
import assert from 'node:assert/strict';
import {brotliCompressSync, deflateSync, gzipSync, zstdCompressSync} from 'node:zlib';
import {rootPassword} from '../worlds/http-world.ts';
import {asked, basic, bytesOf, type Surface, type SurfaceWorld} from './surfaces.ts';

export type Probe = (world: SurfaceWorld, surface: Surface) => Promise<void>;

const refusal = /^HTTP\/1\.1 (?:400|408|413|415|431|501) /;
const dripMs = 20;

/** Others are served as if nothing were the matter. */
async function othersAreServed(world: SurfaceWorld): Promise<void> {
  const body = {language: 'sql', command: 'rows 1'};
  assert.equal((await world.http.call('/query/db', {body})).status, 200);
}

function wasRefused(surface: Surface, answer: string, sent: string): void {
  // Agents are told within an answer of 200 that their message is none.
  const isNoMessage = surface === 'mcp' && answer.includes('"code":-32700');
  if (!isNoMessage) assert.match(answer, refusal, sent.slice(0, 300));
  assert.doesNotMatch(answer, asked[surface].done, sent.slice(0, 300));
}

/** A head that goes on and on ends at the deadline of heads. */
export async function dripsOfHead(world: SurfaceWorld, surface: Surface): Promise<void> {
  const client = world.client(surface);
  await client.send(bytesOf(surface, {headers: ['X-Slow: ']}).split('X-Slow: ')[0] ?? '');
  let drips = 0;
  const drip = setInterval(() => {
    drips += 1;
    if (client.socket.writable) client.socket.write(`X${drips}: y\r\n`);
  }, dripMs);
  await othersAreServed(world);
  await client.ended;
  clearInterval(drip);
  assert.match(client.rest(), /^(?:HTTP\/1\.1 408 |$)/);
}

/** A connection that says nothing, and one that says half of its head, end at their deadline. */
export async function silence(world: SurfaceWorld, surface: Surface): Promise<void> {
  const bare = world.bareClient(surface);
  const half = await world.client(surface).send(bytesOf(surface).slice(0, 30));
  await othersAreServed(world);
  await Promise.all([bare.ended, half.ended]);
  assert.equal(bare.rest(), '');
  assert.match(half.rest(), /^(?:HTTP\/1\.1 408 |$)/);
}

/** A body that does not come, or comes in drips, ends at its deadline. */
export async function slowBody(world: SurfaceWorld, surface: Surface): Promise<void> {
  for (const framing of ['Content-Length: 100000', 'Transfer-Encoding: chunked']) {
    const begins = bytesOf(surface, {framing: [framing], body: ''});
    const client = await world.client(surface).send(begins, framing.includes('T') ? '5\r\n{' : '{');
    await othersAreServed(world);
    await client.ended;
    const answer = client.rest();
    const isRead = asked[surface].body !== '';
    if (isRead) assert.match(answer, /^HTTP\/1\.1 408 /);
  }
}

/** A header that may stand once stands twice: two readers could take either one. */
export async function repeatedHeaders(world: SurfaceWorld, surface: Surface): Promise<void> {
  const {length} = asked[surface].body;
  const other = `Authorization: ${basic('anna:anna-pass')}`;
  const repeated: readonly (readonly string[])[] = [
    ['Host: y'],
    ['host: x'],
    [other],
    [`Authorization: ${basic(`root:${rootPassword}`)}`],
    ['svc-session-id: AS-1', 'svc-session-id: AS-2'],
    ['Content-Type: application/json', 'Content-Type: text/csv'],
    ['Origin: http://x', 'Origin: http://evil.example'],
    ['X-Request-Id: a', 'X-Request-Id: b'],
    [`Content-Length: ${length}`, `Content-Length: ${length + 1}`],
    [`Content-Length: ${length}`, `Content-Length: ${length}`],
    [`Content-Length: ${length}`, 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
  ];
  for (const headers of repeated) {
    const isFramed = headers.some(line => /^(?:Content-Length|Transfer)/.test(line));
    const bytes = bytesOf(surface, {headers, ...(isFramed ? {framing: []} : {})});
    wasRefused(surface, await world.answer(surface, bytes), bytes);
  }
}

/** What one reader takes for a body and another one for the next request is neither. */
export async function smuggled(world: SurfaceWorld, surface: Surface): Promise<void> {
  const hidden = 'GET /api/v1/databases HTTP/1.1\r\nHost: x\r\n\r\n';
  const both = ['Content-Length: 4', 'Transfer-Encoding: chunked'];
  const framings: readonly (readonly [framing: readonly string[], body: string])[] = [
    [both, `0\r\n\r\n${hidden}`],
    [both.toReversed(), `0\r\n\r\n${hidden}`],
    [['Transfer-Encoding: xchunked'], `0\r\n\r\n${hidden}`],
    [['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${hidden}`],
    [['Transfer-Encoding : chunked'], `0\r\n\r\n${hidden}`],
    [['Transfer-Encoding: gzip, chunked'], `0\r\n\r\n${hidden}`],
    [['Transfer-Encoding:\u000bchunked'], `0\r\n\r\n${hidden}`],
    [['X: y', ' Transfer-Encoding: chunked'], hidden],
    [['X: a\rTransfer-Encoding: chunked'], hidden],
    [['X: a\nTransfer-Encoding: chunked'], hidden],
    [['X: a\u0000b'], hidden],
    [['Content-Length : 4'], hidden],
    [['Content-Length: +4'], hidden],
    [['Content-Length: 4, 4'], hidden],
    [['Content-Length: -1'], hidden],
    [['Content-Length: 0x4'], hidden],
    [['Content-Length: 99999999999999999999'], hidden],
  ];
  for (const [framing, body] of framings) {
    const bytes = bytesOf(surface, {framing, body});
    const answers = await world.everything(surface, bytes);
    wasRefused(surface, answers, bytes);
    assert.equal(answers.split('HTTP/1.1 ').length, 2, `one answer to ${bytes.slice(0, 300)}`);
  }
  const bare = bytesOf(surface).replaceAll('\r\n', '\n');
  wasRefused(surface, await world.everything(surface, bare), bare);
}

/** Requests that are sent ahead are answered each, in their order. */
export async function pipelined(world: SurfaceWorld, surface: Surface): Promise<void> {
  const count = 50;
  const client = world.client(surface);
  const ids = Array.from({length: count}, (_, at) => `ahead-${at}`);
  const bytes = ids.map(id => bytesOf(surface, {headers: [`X-Request-Id: ${id}`]})).join('');
  await client.send(bytes);
  for (const id of ids) {
    const answer = await client.answer();
    assert.match(answer, asked[surface].done);
    assert.ok(answer.includes(`X-Request-Id: ${id}\r\n`), `${id} is answered in its turn`);
  }
  client.close();
}

/** Chunks whose sizes, extensions or trailers have no end. */
export async function chunkBombs(world: SurfaceWorld, surface: Surface): Promise<void> {
  const bombs = [
    `${'F'.repeat(17)}\r\nx`,
    'x\r\n',
    '-1\r\n',
    '0x5\r\nabcde\r\n',
    '5\nabcde\r\n',
    '5\r\nabcdefg\r\n0\r\n\r\n',
    `1;${'e'.repeat(100_000)}\r\nx\r\n0\r\n\r\n`,
    `${'1;a=b\r\nx\r\n'.repeat(10_000)}0\r\n\r\n`,
    `0\r\n${'X: y\r\n'.repeat(20_000)}\r\n`,
  ];
  for (const body of bombs) {
    const bytes = bytesOf(surface, {framing: ['Transfer-Encoding: chunked'], body});
    const answer = await world.answer(surface, bytes);
    if (asked[surface].body !== '') wasRefused(surface, answer, body);
    await othersAreServed(world);
  }
}

/** A length that says more or less than what comes. */
export async function wrongLengths(world: SurfaceWorld, surface: Surface): Promise<void> {
  const {body, done} = asked[surface];
  const huge = bytesOf(surface, {framing: ['Content-Length: 1073741824'], body: '{'});
  assert.match(await world.everything(surface, huge), /^HTTP\/1\.1 413 /);
  const short = bytesOf(surface, {framing: [`Content-Length: ${body.length + 9}`]});
  const client = await world.client(surface).send(short);
  client.socket.end();
  await client.ended;
  const answer = client.rest();
  if (body !== '') assert.doesNotMatch(answer, done);
  const long = bytesOf(surface, {
    framing: ['Content-Length: 2'],
    body: `{}${'}'.repeat(20)}\r\n\r\n`,
  });
  const answers = await world.everything(surface, long);
  if (body !== '') assert.doesNotMatch(answers, done);
  // What is left over is no request, and ends the connection.
  assert.ok(answers.split('HTTP/1.1 200').length <= 2);
}

/** A body in a coding is refused before it is read: nothing is decompressed. */
export async function compressedBombs(world: SurfaceWorld, surface: Surface): Promise<void> {
  const bomb = Buffer.alloc(16 << 20, ' ');
  const twice = gzipSync(gzipSync(bomb));
  const codings: readonly (readonly [string, Buffer])[] = [
    ['gzip', gzipSync(bomb)],
    ['x-gzip', gzipSync(bomb)],
    ['deflate', deflateSync(bomb)],
    ['br', brotliCompressSync(bomb)],
    ['zstd', zstdCompressSync(bomb)],
    ['gzip, gzip', twice],
  ];
  for (const [coding, bytes] of codings) {
    const headers = [`Content-Encoding: ${coding}`];
    const request = bytesOf(surface, {headers, body: bytes.toString('latin1')});
    const answer = await world.answer(surface, request);
    assert.match(answer, /^HTTP\/1\.1 415 /, coding);
    assert.match(answer, /\r\nAccept-Encoding: identity\r\n/);
  }
  const plain = await world.answer(
    surface,
    bytesOf(surface, {headers: ['Content-Encoding: identity']}),
  );
  assert.match(plain, asked[surface].done);
}

/** A path that means to be read in two ways leads nowhere. */
export async function oddPaths(world: SurfaceWorld, surface: Surface): Promise<void> {
  const {path, done} = asked[surface];
  const paths = [
    `/x/..${path}`,
    `/.${path}`,
    `/${path}`,
    `${path}/`,
    `${path}/..`,
    `${path}/.`,
    `${path}/%2e%2e`,
    `${path}%2f`,
    `${path}%00`,
    `${path}%c0%ae`,
    `${path}%ff`,
    `${path}%`,
    `${path}%252e`,
    `${path};x=1`,
    `${path}\\`,
    `${path}#x`,
    path.replaceAll('/', '\\'),
    path.replaceAll('/', '%2f'),
    path.replaceAll('/', '/%2e/'),
    path.toUpperCase(),
    `/static/..%2f..%2f..%2fetc/passwd`,
    `http://evil.example${path}`,
  ];
  for (const odd of paths) {
    const answer = await world.answer(surface, bytesOf(surface, {path: odd}));
    assert.match(answer, /^HTTP\/1\.1 (?:400|404|405) /, odd);
    assert.doesNotMatch(answer, done, odd);
  }
}

export const hostileOrigins = [
  'http://evil.example',
  'https://x.evil.example',
  'http://x@evil.example',
  'http://x:1',
  'file://x',
  'null',
  'x',
];

/** A page of another site gets nothing done; what only reads is not told to its page. */
export async function foreignOrigins(world: SurfaceWorld, surface: Surface): Promise<void> {
  for (const origin of hostileOrigins) {
    const answer = await world.answer(surface, bytesOf(surface, {headers: [`Origin: ${origin}`]}));
    assert.doesNotMatch(answer, /access-control-allow/i, origin);
    if (surface !== 'prometheus') assert.match(answer, /^HTTP\/1\.1 403 /, origin);
  }
}

/** A login that has ended, one that never was, and credentials that are none. */
export async function endedLogins(world: SurfaceWorld, surface: Surface): Promise<void> {
  const login = await world.http.call('/login', {method: 'POST', body: {}});
  const {token} = login.json as {readonly token: string};
  const bearer = `Bearer ${token}`;
  const before = await world.answer(surface, bytesOf(surface, {authorization: bearer}));
  assert.match(before, asked[surface].done);
  const logout = await world.http.call('/logout', {method: 'POST', as: bearer});
  assert.equal(logout.status, 204);
  const ended = [
    bearer,
    'Bearer AU-00000000-0000-4000-8000-000000000000',
    `Bearer at-${'0'.repeat(64)}`,
    'Bearer',
    'Basic',
    'Basic !!!!',
    basic('nobody'),
  ];
  for (const authorization of ended) {
    const answer = await world.answer(surface, bytesOf(surface, {authorization}));
    assert.match(answer, /^HTTP\/1\.1 401 /, authorization);
  }
}

/** A transaction of somebody else, one that has ended, and names of none. */
export async function foreignSessions(world: SurfaceWorld, surface: Surface): Promise<void> {
  const begin = async (): Promise<string> =>
    (await world.http.call('/begin/db', {method: 'POST'})).headers.get('svc-session-id') ?? '';
  const [own, ended] = [await begin(), await begin()];
  const end = {method: 'POST', headers: {'svc-session-id': ended}};
  assert.equal((await world.http.call('/rollback/db', end)).status, 204);
  const headers = [`svc-session-id: ${own}`];
  const anna = {authorization: basic('anna:anna-pass')};
  const foreign = bytesOf(surface, {headers, ...anna});
  assert.match(await world.answer(surface, foreign), /^HTTP\/1\.1 40[34] /);
  for (const id of [ended, 'AS-x', '*', `${own}x`, 'a'.repeat(5_000)]) {
    const path = asked[surface].path.replace('/query/', '/command/');
    const bytes = bytesOf(surface, {path, headers: [`svc-session-id: ${id}`]});
    assert.match(await world.answer(surface, bytes), /^HTTP\/1\.1 404 /, id.slice(0, 50));
  }
  assert.match(await world.answer(surface, bytesOf(surface, {headers})), asked[surface].done);
}

/** A head beyond what a head may be. */
export async function headBombs(world: SurfaceWorld, surface: Surface): Promise<void> {
  const bombs = [
    [`X: ${'a'.repeat(1_000_000)}`],
    Array.from({length: 20_000}, (_, at) => `X${at}: y`),
    [`Cookie: ${'a=b; '.repeat(50_000)}`],
  ];
  for (const headers of bombs) {
    const bytes = bytesOf(surface, {headers});
    assert.match(await world.everything(surface, bytes), /^(?:HTTP\/1\.1 (?:400|431) |$)/);
  }
  const path = `${asked[surface].path}?${'a'.repeat(200_000)}`;
  const answer = await world.everything(surface, bytesOf(surface, {path}));
  assert.match(answer, /^(?:HTTP\/1\.1 (?:400|414|431) |$)/);
}
