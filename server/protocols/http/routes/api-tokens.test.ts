/** API tokens as a client sees them, over the real server. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {DatabaseAccess} from '#server/access/decide.ts';
import {createClock} from '#server/platform/real/clock.ts';
import {type HttpAnswer, type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';

const path = '/server/api-tokens';
let world: HttpWorld;
const clock = createClock();
/** How far the server's clock is ahead. */
let laterMs = 0;

before(async () => {
  const now = (): number => clock.now() + laterMs;
  world = await httpWorld({}, undefined, {clock: {now, monotonic: () => clock.monotonic()}});
});
after(() => world.server.close(0));

interface Made {
  readonly token: string;
  readonly tokenHash: string;
  readonly tokenSuffix: string;
}

async function make(body: Readonly<Record<string, unknown>>): Promise<Made> {
  const {status, json} = await world.call(path, {body});
  assert.equal(status, 201);
  return (json as {result: Made}).result;
}

function accessOf(name: string, database: string): DatabaseAccess | undefined {
  const who = world.security.principalOf(name);
  return who && world.security.access(who, database);
}

function drop(hash: string): Promise<HttpAnswer> {
  return world.call(`${path}?token=${hash}`, {method: 'DELETE'});
}

test('a token is made, used, listed without its value, and deleted', async () => {
  const permissions = {types: {Song: {access: ['readRecord']}}, database: ['updateSchema']};
  const made = await make({name: 'reader', database: 'db', permissions});
  assert.match(made.token, /^at-[0-9a-f]{64}$/);
  assert.equal(made.tokenSuffix, made.token.slice(-4));
  const as = `Bearer ${made.token}`;
  const seen = await world.call('/databases', {as});
  assert.deepEqual(seen.json, {version: '1.0', user: 'apitoken:reader', result: ['db']});
  const access = accessOf('apitoken:reader', 'db');
  assert.equal(access?.allowsOnType('readRecord', 'Song'), true);
  assert.equal(access.allowsOnType('createRecord', 'Song'), false);
  assert.equal(access.allowsOnType('readRecord', 'Other'), false);
  assert.equal(access.allows('updateSchema'), true);
  assert.equal(access.allows('updateSecurity'), false);
  assert.equal(accessOf('apitoken:reader', 'other'), undefined);
  const listed = (await world.call(path)).json as {count: number; result: object[]};
  assert.equal(listed.count, 1);
  assert.ok(!JSON.stringify(listed).includes(made.token));
  const {token: _value, ...kept} = made;
  assert.deepEqual(listed.result, [{...kept, expired: false}]);
  assert.equal((await drop(made.tokenHash)).status, 200);
  assert.equal((await world.call('/databases', {as})).status, 401);
  assert.equal((await drop(made.tokenHash)).status, 404);
});

test('a token may do nothing that it was not given, and never what is for root', async () => {
  const {token, tokenHash} = await make({name: 'nobody'});
  const as = `Bearer ${token}`;
  assert.equal(accessOf('apitoken:nobody', 'db')?.allowsOnType('readRecord', 'Song'), false);
  for (const place of [path, '/server/users', '/server/groups', '/sessions']) {
    assert.equal((await world.call(place, {as})).status, 403, place);
  }
  await drop(tokenHash);
});

test('a login that a token opened ends with the token', async () => {
  const {token, tokenHash} = await make({name: 'opener', database: 'db'});
  const login = await world.call('/login', {as: `Bearer ${token}`, body: ''});
  const as = `Bearer ${(login.json as {token: string}).token}`;
  assert.equal((await world.call('/databases', {as})).status, 200);
  await drop(tokenHash);
  assert.equal((await world.call('/databases', {as})).status, 401);
});

test('a token ends at its time', async () => {
  const expiresAt = Math.ceil(clock.now()) + 3_600_000;
  const {token, tokenHash} = await make({name: 'short', expiresAt});
  const as = `Bearer ${token}`;
  assert.equal((await world.call('/databases', {as})).status, 200);
  laterMs = 3_600_001;
  assert.equal((await world.call('/databases', {as})).status, 401);
  const {result} = (await world.call(path)).json as {result: {expired: boolean}[]};
  assert.equal(result.at(-1)?.expired, true);
  await drop(tokenHash);
});

test('what is wrong about a token is refused', async () => {
  const {tokenHash, token} = await make({name: 'taken'});
  const wrong: readonly (readonly [unknown, number])[] = [
    ['', 400],
    [{}, 400],
    [{name: ''}, 400],
    [{name: 7}, 400],
    [{name: 'a\u0007b'}, 400],
    [{name: 'x'.repeat(257)}, 400],
    [{name: 'x', database: ''}, 400],
    [{name: 'x', databse: 'db'}, 400],
    [{name: 'x', expiresAt: 'soon'}, 400],
    [{name: 'x', expiresAt: -1}, 400],
    [{name: 'x', expiresAt: 1000}, 400],
    [{name: 'x', permissions: []}, 400],
    [{name: 'x', permissions: {typs: {}}}, 400],
    [{name: 'x', permissions: {types: []}}, 400],
    [{name: 'x', permissions: {types: {'*': {access: ['fly']}}}}, 400],
    [{name: 'x', permissions: {database: ['fly']}}, 400],
    [{name: 'taken'}, 409],
  ];
  for (const [body, status] of wrong) {
    assert.equal((await world.call(path, {body})).status, status, JSON.stringify(body));
  }
  assert.equal((await world.call(path, {method: 'DELETE'})).status, 400);
  assert.equal((await drop(token)).status, 400);
  assert.equal((await world.call(path, {as: 'anna:anna-pass', body: {name: 'x'}})).status, 403);
  await drop(tokenHash);
});

test('guesses with one beginning are braked', async () => {
  const guess = (last: number): Promise<HttpAnswer> =>
    world.call('/databases', {as: `Bearer at-${'a'.repeat(60)}${1000 + last}`});
  for (let last = 0; last < 5; last++) {
    const {status, json} = await guess(last);
    assert.deepEqual(
      [status, (json as {error: string}).error],
      [401, 'Invalid or expired API token'],
    );
  }
  assert.equal(((await guess(6)).json as {error: string}).error, 'Authentication failed');
});
