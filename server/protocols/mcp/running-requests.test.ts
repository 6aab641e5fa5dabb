/** Cancelling requests: what is heard, by whom, and that what it was about has ended. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {type HttpAnswer, type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';
import {RunningRequests} from './running-requests.ts';

let world: HttpWorld;
before(async () => {
  world = await httpWorld();
  await world.call('/mcp/config', {body: {enabled: true, allowedUsers: ['*'], allowAdmin: true}});
});
after(() => world.server.close(0));

const name = {user: 'anna', conversation: 'c', id: '1'};

test('a request is cancelled under its whole name, while it runs', async () => {
  const running = new RunningRequests();
  const others = [{user: 'bert'}, {conversation: 'd'}, {id: '"1"'}];
  const aborted = await running.run(name, undefined, async signal => {
    for (const other of others) assert.equal(running.cancel({...name, ...other}), false);
    assert.equal(signal.aborted, false);
    assert.equal(running.cancel(name), true);
    return signal.aborted;
  });
  assert.equal(aborted, true);
  assert.equal(running.cancel(name), false);
});

test('a client that is gone cancels as well, and a second request of a name stays', async () => {
  const running = new RunningRequests();
  const client = new AbortController();
  await running.run(name, client.signal, async first => {
    await running.run(name, undefined, async second => {
      running.cancel(name);
      assert.deepEqual([first.aborted, second.aborted], [true, false]);
    });
  });
  await running.run(name, client.signal, async signal => {
    client.abort();
    assert.equal(signal.aborted, true);
  });
  await running.run(name, client.signal, async signal => assert.equal(signal.aborted, true));
});

/** Ends by itself only long after the test has failed. */
const endless = {
  database: 'db',
  language: 'cypher',
  query: 'UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN count(a + b) AS n',
};
const call = (id: number) => ({
  id,
  method: 'tools/call',
  params: {name: 'query', arguments: endless},
});
const cancel = {method: 'notifications/cancelled', params: {requestId: 7, reason: 'too slow'}};

async function begin(as?: string): Promise<string> {
  const {headers} = await send({id: 1, method: 'initialize'}, {}, as);
  return headers.get('mcp-session-id') ?? '';
}

function send(body: unknown, headers = {}, as = 'root:root:pass:word'): Promise<HttpAnswer> {
  return world.call('/mcp', {body, headers, as});
}

test('a call that is cancelled ends, and is not answered', async () => {
  const conversation = await begin();
  assert.match(conversation, /^[0-9a-f]{32}$/);
  assert.notEqual(await begin(), conversation);
  const headers = {'mcp-session-id': conversation};
  for (const body of [call(7), [call(7), {method: 'notifications/initialized'}]]) {
    let answer: HttpAnswer | undefined;
    const answered = send(body, headers).then(given => (answer = given));
    // Heard as soon as the call runs; before, it is about nothing.
    while (answer === undefined) {
      assert.equal((await send(cancel, headers)).status, 202);
    }
    const {status, text} = await answered;
    assert.deepEqual([status, text], [202, '']);
  }
});

test('nobody cancels in the conversation of another', async () => {
  const mine = {'mcp-session-id': await begin()};
  let ended = false;
  const answered = send(call(7), mine).finally(() => (ended = true));
  const anna = await begin('anna:anna-pass');
  const strangers: readonly (readonly [object, string?])[] = [
    [{}],
    [{'mcp-session-id': await begin()}],
    [mine, 'anna:anna-pass'],
    [{'mcp-session-id': anna}, 'anna:anna-pass'],
  ];
  for (let round = 0; round < 5; round++) {
    for (const [headers, as] of strangers) await send(cancel, headers, as);
    await send({...cancel, params: {requestId: '7'}}, mine);
    await send({...cancel, params: {requestId: 8}}, mine);
    await send({...cancel, params: {}}, mine);
  }
  assert.equal(ended, false);
  while (!ended) await send(cancel, mine);
  assert.equal((await answered).status, 202);
});
