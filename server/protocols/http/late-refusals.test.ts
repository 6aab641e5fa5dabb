/** M3: what is beyond a share is refused late at every door, and at once to root. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {clusterOfTwo} from '#server/testing/cluster/cluster-of-two.ts';
import {closing} from '#server/testing/closing.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {
  type Call,
  type HttpAnswer,
  type HttpWorld,
  httpWorld,
} from '#server/testing/worlds/http-world.ts';
import {WebSocketClient} from '#server/testing/worlds/web-socket-client.ts';

const delay = 600;
const late = {'svc.security.failureDelay': delay};
const anna = 'anna:anna-pass';

async function openWorld(
  settings: Readonly<Record<string, string | number>> = late,
): Promise<HttpWorld> {
  const world = await httpWorld(settings);
  closing({close: () => world.server.close(0)});
  return world;
}

async function full(): Promise<void> {
  throw new Refusal('admission.full', 'there is no place');
}

function write({call}: HttpWorld, more: Call = {}): Promise<HttpAnswer> {
  return call('/command/db', {body: {language: 'sql', command: 'write'}, ...more});
}

/** What `ask` answers to a user, which comes late, and to root, which came before. */
async function asked<T>(ask: (as: Call) => Promise<T>): Promise<readonly [T, T]> {
  const startedAt = performance.now();
  const ofUser = ask({as: anna});
  const ofRoot = await ask({});
  let isLate = true;
  void ofUser.then(() => {
    isLate = false;
  });
  await new Promise(resolve => setImmediate(resolve));
  assert.ok(isLate || performance.now() - startedAt >= delay, 'root waits for nobody');
  const answer = await ofUser;
  assert.ok(performance.now() - startedAt >= delay - 1, 'it came late');
  return [answer, ofRoot];
}

test('what a follower relays is refused late by it, on both paths', async () => {
  const two = await clusterOfTwo({...late, 'svc.ha.proxyCommandTimeout': 8_000});
  closing({close: () => two.close()});
  // The leader's connection carries the requests of others: it does not wait itself.
  two.leader.set('svc.security.failureDelay', 10_000);
  two.leader.service.beforeWrite = full;
  // A header that only node's server knows takes the other path.
  for (const headers of [{}, {'X-Request-Id': 'other-path'}]) {
    const answers = await asked(as => write(two.replica, {...as, headers}));
    for (const {status, text, headers: told} of answers) {
      assert.equal(status, 503);
      assert.match(text, /there is no place/);
      assert.equal(told.get('x-svc-late'), null);
    }
  }
  assert.equal(two.replica.service.requests.length, 0);
});

test('a tool of an agent is refused late, on both paths', async () => {
  const world = await openWorld();
  world.service.beforeWrite = full;
  const open = '{"enabled":true,"allowUpdate":true,"allowedUsers":["root","anna"]}';
  assert.equal(await world.agents.configure(open), undefined);
  const given = {database: 'db', language: 'sql', command: 'write'};
  const params = {name: 'execute_command', arguments: given};
  const body = {jsonrpc: '2.0', id: 1, method: 'tools/call', params};
  for (const headers of [{}, {'X-Request-Id': 'other-path'}]) {
    for (const {text} of await asked(as => world.call('/mcp', {...as, body, headers}))) {
      assert.match(text, /there is no place/);
    }
  }
});

test('a server that stops waits for no refusal, and tells those that wait', async () => {
  const waitsMs = 10_000;
  const world = await openWorld({'svc.security.failureDelay': waitsMs});
  world.service.beforeWrite = full;
  let asked = 0;
  const authenticate = world.security.authenticate.bind(world.security);
  world.security.authenticate = (...given) => {
    asked += 1;
    return authenticate(...given);
  };
  const startedAt = performance.now();
  // Guesses of one address come half a second apart: the last one waits longest.
  const guesses = Array.from({length: 25}, (_, at) => write(world, {as: `user${at}:a-guess`}));
  const answers = [write(world, {as: anna}), ...guesses];
  const all = answers.length;
  await eventually('all wait', () => asked === all && world.service.requests.length === 1);
  await world.server.close(60_000);
  const statuses = await Promise.all(answers.map(async answer => (await answer).status));
  assert.deepEqual(statuses, [503, ...guesses.map(() => 401)]);
  assert.ok(performance.now() - startedAt < waitsMs, 'none came at its time');
});

test('a subscription is refused late', async () => {
  const world = await openWorld({...late, 'svc.changes.subscriptionsMaxPerUser': 1});
  const subscribed = async (): Promise<object> => {
    const client = closing(await WebSocketClient.open(world.port, anna));
    return client.ask({action: 'subscribe', database: 'db'});
  };
  assert.deepEqual(await subscribed(), {result: 'ok', action: 'subscribe'});
  const startedAt = performance.now();
  assert.match(JSON.stringify(await subscribed()), /svc\.changes\.subscriptionsMaxPerUser/);
  assert.ok(performance.now() - startedAt >= delay - 1, 'it came late');
});

test('a command of the background that is refused keeps its place for so long', async () => {
  const world = await openWorld({'svc.security.failureDelay': 10_000});
  world.service.beforeWrite = full;
  const body = {language: 'sql', command: 'write', awaitResponse: false};
  const places = 128;
  const begin = (as: Call): Promise<HttpAnswer> => write(world, {...as, body});
  const statuses = async (count: number, as: Call): Promise<readonly number[]> => {
    const answers = await Promise.all(Array.from({length: count}, () => begin(as)));
    return answers.map(({status}) => status);
  };
  assert.deepEqual(new Set(await statuses(places, {as: anna})), new Set([202]));
  await eventually('all are refused', () => world.logged.length >= places);
  world.set('svc.security.failureDelay', 0);
  const beyond = await begin({as: anna});
  assert.equal(beyond.status, 503);
  assert.match(beyond.text, /Too many commands run in the background/);
  assert.deepEqual(await statuses(1, {}), [202], 'root has places of its own');
  world.service.beforeWrite = async () => {};
  assert.equal((await write(world, {as: anna})).status, 200);
});
