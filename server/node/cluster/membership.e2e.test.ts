/**
 * Who is in and who is out, seen from outside: a server beyond the list joins by itself, a removed
 * one says what it is and stays out until it is added, and no removal leaves a cluster that cannot
 * write because a member ended a moment before.
 */
import assert from 'node:assert/strict';
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {Client} from '#server/client/client.ts';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {MemberProcess} from '#server/testing/cluster/member-process.ts';
import {startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {program, rootPassword} from '#server/testing/worlds/server-process.ts';

const ends: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const end of ends.reverse()) await end();
});

interface StatusPeer {
  readonly id: string;
  readonly inConfiguration: boolean;
}

interface Status {
  readonly leaderId: string | null;
  readonly wasRemoved: boolean;
  readonly configurationIndex: number;
  readonly localReplicationLag: number;
  readonly peers: readonly StatusPeer[];
}

const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;

async function ask(
  url: string,
  path: string,
  {method = 'GET', body}: {readonly method?: string; readonly body?: unknown} = {},
): Promise<{readonly status: number; readonly text: string}> {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {authorization},
    ...(body === undefined ? {} : {body: JSON.stringify(body)}),
  });
  return {status: answer.status, text: await answer.text()};
}

async function statusOf(url: string): Promise<Status | undefined> {
  const answer = await ask(url, '/cluster').catch(() => undefined);
  return answer?.status === 200 ? (JSON.parse(answer.text) as Status) : undefined;
}

const idOf = (member: Member, status: Status): string => {
  const own = status.peers.find(({id}) => id.startsWith(`${member.host}_`));
  assert.ok(own !== undefined);
  return own.id;
};

async function startBeyondTheList(folder: string, members: readonly string[]) {
  const host = '127.0.0.9';
  const [raftPort, httpPort] = [await freePort(), await freePort()];
  const addresses = members.map(id => id.replace(/_(\d+)$/, ':{raft:$1}'));
  const root = join(folder, 'beyond');
  mkdirSync(root);
  const settings = {
    'svc.server.name': 'beyond',
    'svc.server.rootPath': root,
    'svc.server.httpIncomingHost': host,
    'svc.server.httpIncomingPort': httpPort,
    'svc.ha.enabled': true,
    'svc.ha.serverList': [...addresses, `beyond@${host}:{raft:${raftPort}}`].join(','),
    'svc.ha.raftPort': raftPort,
  };
  const words = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  const process = new MemberProcess('beyond', {
    words: [program, 'start', ...words],
    folder: root,
    logFile: join(folder, 'beyond.log'),
    environment: {SVC_SERVER_ROOTPASSWORD: rootPassword},
  });
  process.start();
  ends.push(() => process.kill());
  return {
    id: `${host}_${raftPort}`,
    url: `http://${host}:${httpPort}`,
    address: `${host}:${raftPort}:${httpPort}`,
    process,
  };
}

test('a server beyond the list joins by itself, and a removed one stays out', async () => {
  const cluster = await startSvcCluster({size: 3});
  ends.push(() => cluster.dispose());
  const leader = await untilLed(cluster);
  const client = cluster.clientOf(leader);
  await client.createDatabase('d');
  await client.command('d', 'CREATE DOCUMENT TYPE V');
  await client.command('d', 'INSERT INTO V SET n = 1');
  const before = await statusOf(leader.url);
  assert.ok(before !== undefined);
  const fourth = await startBeyondTheList(
    cluster.folder,
    before.peers.map(({id}) => id),
  );
  const countAt = async (url: string): Promise<unknown> => {
    const credentials = {kind: 'basic', user: 'root', password: rootPassword} as const;
    const reader = new Client({url, credentials});
    try {
      return (await reader.query('d', 'SELECT count(*) AS n FROM V')).result;
    } finally {
      reader.close();
    }
  };
  const isMember = async (): Promise<boolean> => {
    const status = await statusOf(leader.url);
    return (
      status?.peers.some(({id, inConfiguration}) => id === fourth.id && inConfiguration) === true
    );
  };
  await eventually('it is a member and holds the data', async () => {
    return (await isMember()) && (await ask(fourth.url, '/ready')).status === 204;
  });
  assert.deepEqual(await countAt(fourth.url), [{n: 1}]);

  // Whoever decided by an older configuration is told.
  const stale = `/cluster/peer/${fourth.id}?configurationIndex=${before.configurationIndex}`;
  const refused = await ask(leader.url, stale, {method: 'DELETE'});
  assert.equal(refused.status, 409);
  assert.match(refused.text, /the members changed meanwhile/);
  const now = await statusOf(leader.url);
  const path = `/cluster/peer/${fourth.id}?configurationIndex=${now?.configurationIndex}`;
  assert.equal((await ask(leader.url, path, {method: 'DELETE'})).status, 200);

  await eventually('the removed server says what it is', async () => {
    const status = await statusOf(fourth.url);
    const ready = await ask(fourth.url, '/ready');
    return status?.wasRemoved === true && status.leaderId === null && ready.status === 503;
  });
  assert.match((await ask(fourth.url, '/ready')).text, /was removed from its cluster/);
  assert.equal((await statusOf(fourth.url))?.localReplicationLag, -1);
  const sql = (command: string) => ({method: 'POST', body: {language: 'sql', command}});
  for (const command of ['INSERT INTO V SET n = 2', 'SELECT FROM V']) {
    const answer = await ask(fourth.url, '/command/d', sql(command));
    assert.equal(answer.status, 503, command);
    assert.match(answer.text, /removed from its cluster|leader/, command);
  }

  await fourth.process.kill();
  fourth.process.start();
  await eventually('it runs again', async () => {
    return (await ask(fourth.url, '/ready').catch(() => undefined))?.status === 503;
  });
  await client.command('d', 'INSERT INTO V SET n = 3');
  await eventually(
    'it says so still',
    async () => (await statusOf(fourth.url))?.wasRemoved === true,
  );
  assert.equal(await isMember(), false);

  const body = {peerId: fourth.id, address: fourth.address};
  const added = await ask(leader.url, '/cluster/peer', {method: 'POST', body});
  assert.equal(added.status, 200, added.text);
  await eventually('it is back and has everything', async () => {
    return (await ask(fourth.url, '/ready')).status === 204;
  });
  await eventually('and what was written without it', async () => {
    return JSON.stringify(await countAt(fourth.url)) === '[{"n":2}]';
  });
});

test('a removal counts who answers after it was asked for', async () => {
  const cluster = await startSvcCluster({size: 3});
  ends.push(() => cluster.dispose());
  const leader = await untilLed(cluster);
  const client = cluster.clientOf(leader);
  await client.createDatabase('d');
  await client.command('d', 'CREATE DOCUMENT TYPE V');
  const [dead, other] = cluster.members.filter(member => member !== leader);
  assert.ok(dead !== undefined && other !== undefined);
  const status = await statusOf(leader.url);
  assert.ok(status !== undefined);
  await dead.process.kill();
  const path = `/cluster/peer/${idOf(other, status)}`;
  const answer = await ask(leader.url, path, {method: 'DELETE'});
  assert.equal(answer.status, 409, answer.text);
  assert.match(answer.text, /1 of 2 voters answer and 2 are needed/);
  // Nothing was changed, so the two that are left can write.
  await client.command('d', 'INSERT INTO V SET n = 1');
  const after = await statusOf(leader.url);
  assert.equal(after?.peers.filter(({inConfiguration}) => inConfiguration).length, 3);
});
