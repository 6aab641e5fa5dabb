/**
 * Logins across three real servers: a token holds on every member, and ends on all of them with
 * the log-out, with the password of its user, with the user, and with the server that keeps it.
 */
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {
  calmElections,
  startSvcCluster,
  type SvcCluster,
} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {rootPassword} from '#server/testing/worlds/server-process.ts';

let cluster: SvcCluster;

before(async () => {
  cluster = await startSvcCluster({
    size: 3,
    settings: calmElections,
  });
});
after(() => cluster.dispose());

const asRoot = basic('root', rootPassword);

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

async function ask(
  {url}: Member,
  method: string,
  path: string,
  authorization: string,
  body?: object,
): Promise<{status: number; json: Record<string, unknown>}> {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {authorization},
    ...(body === undefined ? {} : {body: JSON.stringify(body)}),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    json: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

async function administer(member: Member, command: string): Promise<void> {
  const {status, json} = await ask(member, 'POST', '/server', asRoot, {command});
  assert.equal(status, 200, JSON.stringify(json));
}

async function login(member: Member, authorization: string): Promise<string> {
  const {status, json} = await ask(member, 'POST', '/login', authorization);
  assert.equal(status, 200, JSON.stringify(json));
  return `Bearer ${String(json['token'])}`;
}

async function userAt(member: Member, token: string): Promise<unknown> {
  const {status, json} = await ask(member, 'GET', '/databases', token);
  return status === 200 ? json['user'] : status;
}

function untilRefused(member: Member, token: string): Promise<void> {
  return eventually('the login to end', async () => (await userAt(member, token)) === 401);
}

test('a login holds on every member, and ends everywhere with a log-out anywhere', async () => {
  const leader = await untilLed(cluster);
  const [first, third] = cluster.members.filter(member => member !== leader) as [Member, Member];
  await administer(leader, 'create user {"name":"clerk","password":"clerk-pass"}');
  // Used at once, also at servers that may not know the user yet.
  const token = await login(leader, basic('clerk', 'clerk-pass'));
  for (const member of [first, third, leader]) assert.equal(await userAt(member, token), 'clerk');
  const listed = await ask(leader, 'GET', '/sessions', asRoot);
  assert.equal(listed.json['count'], 1);
  assert.equal((await ask(third, 'GET', '/sessions', asRoot)).json['count'], 0);
  assert.equal((await ask(third, 'POST', '/logout', token)).status, 204);
  for (const member of [leader, third]) assert.equal(await userAt(member, token), 401);
  await untilRefused(first, token);
});

test('a login ends on every member when the password changes at one', async () => {
  const [first, second, third] = cluster.members as [Member, Member, Member];
  const token = await login(first, basic('clerk', 'clerk-pass'));
  assert.equal(await userAt(second, token), 'clerk');
  const changed = await ask(third, 'PUT', '/server/users?name=clerk', asRoot, {
    password: 'other-pass',
  });
  assert.equal(changed.status, 200, JSON.stringify(changed.json));
  assert.equal(await userAt(third, token), 401);
  for (const member of [first, second]) await untilRefused(member, token);
});

test('users that are written into the file of the leader are those of every member', async () => {
  const leader = await untilLed(cluster);
  const token = await login(leader, basic('clerk', 'other-pass'));
  const fileOf = ({name}: Member): string =>
    join(cluster.folder, name, 'config/server-users.jsonl');
  const users = readFileSync(fileOf(leader), 'utf8').replace('"clerk"', '"chief"');
  writeFileSync(fileOf(leader), users);
  for (const member of cluster.members) {
    await eventually('the file to come', () => readFileSync(fileOf(member), 'utf8') === users);
    await untilRefused(member, token);
    assert.equal(await userAt(member, basic('chief', 'other-pass')), 'chief');
  }
});

test('a token that was made up, or taken apart, is asked of nobody and means nothing', async () => {
  const [first, second] = cluster.members as [Member, Member];
  const token = await login(first, asRoot);
  const [made, seal] = token.slice('Bearer '.length).split('.') as [string, string];
  const other = `${made.slice(0, -1)}${made.endsWith('0') ? '1' : '0'}`;
  for (const wrong of [made, `${made}.`, `${other}.${seal}`, `${made}.${seal}0`, 'AU-', 'AU-.']) {
    assert.equal(await userAt(second, `Bearer ${wrong}`), 401, wrong);
  }
  assert.equal(await userAt(second, token), 'root');
});

test('a member can be stopped from another one, and its logins end with it', async () => {
  const leader = await untilLed(cluster);
  const [stays, goes] = cluster.members.filter(member => member !== leader) as [Member, Member];
  const token = await login(goes, asRoot);
  assert.equal(await userAt(stays, token), 'root');
  const nobody = await ask(stays, 'POST', '/server', asRoot, {command: 'shutdown svc_9'});
  assert.equal(nobody.status, 400);
  assert.match(String(nobody.json['detail']), /no member is called 'svc_9': name one of svc_/);
  const {name} = goes;
  await administer(stays, `shutdown ${name}`);
  await eventually('the member to end', () => goes.process.ended === 0);
  await untilRefused(stays, token);
  assert.equal(await userAt(leader, asRoot), 'root');
});
