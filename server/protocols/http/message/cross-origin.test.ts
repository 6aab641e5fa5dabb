/** Pages of other sites: the listed ones may do all, with credentials; the others nothing. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';
import {AllowedOrigins} from './cross-origin.ts';

const listed = 'https://app.example';
const foreign = [
  'https://app.example:8443',
  'http://app.example',
  'https://app.example.evil',
  'https://evilapp.example',
  'https://APP.example',
  'https://app.example/',
  'null',
  '*',
  '',
];

let world: HttpWorld;
before(async () => {
  world = await httpWorld({'svc.server.httpCorsOrigins': `${listed}, http://localhost:8080`});
});
after(() => world.server.close(0));

const statement = {language: 'sql', command: 'write'};

function preflight(origin: string): Promise<{status: number; headers: Headers}> {
  return world.call('/command/db', {
    method: 'OPTIONS',
    as: 'none',
    headers: {Origin: origin, 'Access-Control-Request-Method': 'POST'},
  });
}

test('a listed page is told what it may send, and reads what it gets', async () => {
  for (const origin of [listed, 'http://localhost:8080']) {
    const {status, headers} = await preflight(origin);
    assert.equal(status, 204);
    assert.equal(headers.get('access-control-allow-origin'), origin);
    assert.equal(headers.get('access-control-allow-credentials'), 'true');
    assert.match(headers.get('access-control-allow-headers') ?? '', /Authorization/);
    assert.match(headers.get('access-control-allow-methods') ?? '', /DELETE/);
    const own = {Origin: origin, 'Sec-Fetch-Site': 'cross-site'};
    for (const [as, expected] of [
      ['root:root:pass:word', 200],
      ['none', 401],
    ] as const) {
      const answer = await world.call('/command/db', {as, headers: own, body: statement});
      assert.equal(answer.status, expected);
      assert.equal(answer.headers.get('access-control-allow-origin'), origin);
      assert.match(answer.headers.get('access-control-expose-headers') ?? '', /svc-session-id/);
      assert.equal(answer.headers.get('vary'), 'Origin');
    }
  }
});

for (const origin of foreign) {
  test(`a page of '${origin}' is told nothing, and changes nothing`, async () => {
    const {status, headers} = await preflight(origin);
    assert.equal(status, 405);
    assert.equal(headers.get('access-control-allow-origin'), null);
    const writes = world.service.writes;
    for (const more of [{}, {'Sec-Fetch-Site': 'cross-site'}]) {
      const own = {Origin: origin, ...more};
      const answer = await world.call('/command/db', {headers: own, body: statement});
      assert.equal(answer.status, 403);
      assert.equal(answer.headers.get('access-control-allow-origin'), null);
    }
    assert.equal(world.service.writes, writes);
    const read = await world.call('/databases', {headers: {Origin: origin}});
    assert.equal(read.headers.get('access-control-allow-origin'), null);
  });
}

test('a page of this server itself may write, and nobody is listed by default', async () => {
  const own = {Origin: `http://127.0.0.1:${world.port}`};
  assert.equal((await world.call('/command/db', {headers: own, body: statement})).status, 200);
  assert.equal(new AllowedOrigins('').of({headers: {origin: listed}, method: 'GET'}), undefined);
});

for (const origin of ['*', 'app.example', 'https://app.example/', 'https://a.example/x', 'null']) {
  test(`'${origin}' is no origin to list`, () => {
    assert.throws(() => new AllowedOrigins(`${listed},${origin}`), {code: 'start.refused'});
  });
}
