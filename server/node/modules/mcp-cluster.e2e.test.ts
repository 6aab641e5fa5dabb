/**
 * Agents and the members of a cluster: a call at a member that does not lead is carried out where
 * it can be, is cancelled where it runs, and who may do what is the same on all members.
 */
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {calmElections, startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {rootPassword} from '#server/testing/worlds/server-process.ts';

const cluster = await startSvcCluster({
  size: 3,
  settings: calmElections,
});
after(() => cluster.dispose());

let leader: Member;
let follower: Member;
before(async () => {
  leader = await untilLed(cluster);
  const other = cluster.members.find(member => member !== leader);
  assert(other !== undefined);
  follower = other;
  await cluster.clientOf(leader).createDatabase('shop');
});

const documentOf = (member: Member): string =>
  join(cluster.folder, member.name, 'config/mcp-config.json');

/** Every member has the field in force, and the same document on its disk. */
async function agreeOn(field: string, wanted: unknown): Promise<void> {
  for (const member of cluster.members) {
    await eventually(`${member.name} has ${field}=${JSON.stringify(wanted)}`, async () => {
      const document = await cluster.clientOf(member).agentConfiguration();
      return JSON.stringify(document[field]) === JSON.stringify(wanted);
    });
  }
  const texts = cluster.members.map(member => readFileSync(documentOf(member), 'utf8'));
  assert.deepEqual(new Set(texts).size, 1);
}

async function send(member: Member, body: unknown, conversation?: string): Promise<Response> {
  const pair = Buffer.from(`root:${rootPassword}`).toString('base64');
  const named = conversation === undefined ? {} : {'mcp-session-id': conversation};
  const headers = {authorization: `Basic ${pair}`, ...named};
  const init = {method: 'POST', headers, body: JSON.stringify(body)};
  return await fetch(`${member.url}/api/v1/mcp`, init);
}

const call = (id: number, name: string, given: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: {name, arguments: {database: 'shop', ...given}},
});
const entity = (n: number) => ({typeName: 'Person', matchKeys: {n}});

test('the configuration converges, wherever it was changed', async () => {
  const open = {enabled: true, allowInsert: true, allowUpdate: true, allowSchemaChange: true};
  await cluster.clientOf(follower).agentConfiguration(open);
  await agreeOn('allowInsert', true);

  writeFileSync(documentOf(leader), '{"enabled": true, "allowedOrigins": ["https://a.example"]}');
  await agreeOn('allowedOrigins', ['https://a.example']);
  assert.equal((await cluster.clientOf(follower).agentConfiguration())['allowInsert'], false);

  writeFileSync(documentOf(follower), '{"enabled": true, "allowAdmin": true}');
  await eventually('the follower tells that the leader takes changes', async () =>
    /mcp\.configuration.*leader/.test(follower.process.log),
  );
  assert.equal((await cluster.clientOf(follower).agentConfiguration())['allowAdmin'], false);
  await cluster.clientOf(leader).agentConfiguration(open);
  await agreeOn('allowInsert', true);
});

test('a member that was away has the configuration of the others when it is back', async () => {
  await follower.process.kill();
  await cluster.clientOf(leader).agentConfiguration({allowDelete: true});
  follower.process.start();
  await untilLed(cluster);
  await agreeOn('allowDelete', true);
});

test('a call that writes is carried out by the leader, and seen by all', async () => {
  const one = await send(follower, call(1, 'upsert_entity', entity(1)));
  const {result} = (await one.json()) as {result: {content: [{text: string}]; isError: boolean}};
  assert.equal(result.isError, false, JSON.stringify(result));
  assert.match(result.content[0].text, /"n":1\}\],"count":1/);
  const batch = [call(1, 'upsert_entity', entity(2)), call(2, 'list_databases', {})];
  const answers = (await (await send(follower, batch)).json()) as readonly {id: number}[];
  assert.deepEqual(
    answers.map(({id}) => id),
    [1, 2],
  );
  const query = call(3, 'query', {language: 'sql', query: 'SELECT count(*) AS c FROM Person'});
  for (const member of cluster.members) {
    await eventually(`${member.name} counts two`, async () =>
      /\\"c\\":2/.test(await (await send(member, query)).text()),
    );
  }
});

test('a call that was relayed is cancelled where it runs', async () => {
  const hello = await send(follower, {jsonrpc: '2.0', id: 0, method: 'initialize'});
  const conversation = hello.headers.get('mcp-session-id') ?? '';
  assert.match(conversation, /^[0-9a-f]{32}$/);
  const command =
    'UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b ' +
    'WITH count(a + b) AS n CREATE (:Person {n: n})';
  const endless = call(7, 'execute_command', {language: 'cypher', command});
  const cancel = {jsonrpc: '2.0', method: 'notifications/cancelled', params: {requestId: 7}};
  let ended = false;
  const answered = send(follower, endless, conversation).finally(() => (ended = true));
  // Heard as soon as the leader carries it out; before, it is about nothing.
  while (!ended) assert.equal((await send(follower, cancel, conversation)).status, 202);
  const answer = await answered;
  assert.deepEqual([answer.status, await answer.text()], [202, '']);
});
