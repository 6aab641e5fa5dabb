/**
 * Servers that hold the same before they form a cluster: who holds what it begins with keeps that
 * and is sent nothing, whatever its files look like; who lacks something is sent the files that it
 * has not.
 */
import assert from 'node:assert/strict';
import {cpSync, mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {untilLed} from '#server/testing/cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {startServer, temporaryRoot} from '#server/testing/worlds/server-process.ts';

const base = temporaryRoot('matching');
after(() => rmSync(base, {recursive: true, force: true}));
const rows = 300;
const rowBytes = 10_000;
const names = ['svc_0', 'svc_1', 'svc_2'];

/** A server alone on `root`, with which `work` is done; stopped in order. */
async function alone(root: string, work: (client: Client) => Promise<void>): Promise<void> {
  mkdirSync(root, {recursive: true});
  const server = await startServer({root, port: await freePort()});
  const client = server.client();
  await work(client);
  client.close();
  assert.equal(await server.stop(), 0);
}

async function fill(client: Client): Promise<void> {
  await client.createDatabase('music');
  await client.command('music', 'CREATE DOCUMENT TYPE Artist');
  for (let at = 0; at < rows; at += 50) {
    const texts = Array.from({length: 50}, (_, n) => `{"n": ${at + n}, "text": "${text(at + n)}"}`);
    await client.command('music', `INSERT INTO Artist CONTENT [${texts.join()}]`);
  }
}

/** Nothing that a store makes small. */
function text(seed: number): string {
  let state = seed + 1;
  let letters = '';
  while (letters.length < rowBytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    letters += state.toString(36);
  }
  return letters;
}

async function untilAllHave(cluster: SvcCluster, count: number): Promise<void> {
  for (const member of cluster.members) {
    await eventually(`${member.name} has everything`, async () => {
      const query = 'SELECT count(*) AS n FROM Artist';
      const {result} = await cluster.clientOf(member).query('music', query);
      return result[0]?.['n'] === count;
    });
  }
}

interface Line extends Readonly<Record<string, unknown>> {
  readonly event: string;
}

function linesOf(cluster: SvcCluster, event: string): readonly Line[] {
  return cluster.members.flatMap(({process}) =>
    process.log
      .split('\n')
      .filter(line => line.includes(`"${event}"`))
      .map(line => JSON.parse(line) as Line),
  );
}

async function statusOf(
  cluster: SvcCluster,
  at: number,
): Promise<Readonly<Record<string, unknown>>> {
  const member = cluster.members[at];
  assert.ok(member !== undefined);
  return await cluster.clientOf(member).cluster('GET', '');
}

test('who holds the same is sent nothing', {timeout: 240_000}, async () => {
  const folder = join(base, 'same');
  // Two did the same work; the third got the files, and has written to none of its own.
  for (const name of names.slice(0, 2)) await alone(join(folder, name), fill);
  cpSync(join(folder, 'svc_0', 'databases'), join(folder, 'svc_2', 'databases'), {recursive: true});
  const cluster = await startSvcCluster({size: 3, folder});
  try {
    const leader = await untilLed(cluster);
    await untilAllHave(cluster, rows);
    assert.deepEqual(linesOf(cluster, 'snapshot.fetched'), []);
    assert.deepEqual(linesOf(cluster, 'database.set-aside'), []);
    await eventually('all vote', async () => {
      const peers = (await statusOf(cluster, 0))['peers'] as readonly {isVoter: boolean}[];
      return peers.every(({isVoter}) => isVoter);
    });
    const told = await Promise.all(names.map((_, at) => statusOf(cluster, at)));
    const [first, ...others] = told.map(({databases}) => databases as readonly Line[]);
    assert.match(String(first?.[0]?.['bootstrapFingerprint']), /^[0-9a-f]{64}$/);
    assert.ok(Number(first?.[0]?.['bootstrapLastTxId']) > rows / 50);
    for (const other of others) assert.deepEqual(other, first);
    await cluster.clientOf(leader).command('music', 'INSERT INTO Artist SET n = -1');
    await untilAllHave(cluster, rows + 1);
    const verified = await cluster.clientOf(leader).cluster('POST', '/verify/music');
    const {result} = verified as {result: {overallStatus: string}};
    assert.equal(result.overallStatus, 'ALL_CONSISTENT');
  } finally {
    await cluster.dispose(true);
  }
});

test('who lacks a database is sent what it has not', {timeout: 240_000}, async () => {
  const folder = join(base, 'newer');
  const first = join(folder, 'svc_0');
  await alone(first, fill);
  for (const name of names.slice(1)) {
    cpSync(join(first, 'databases'), join(folder, name, 'databases'), {recursive: true});
  }
  await alone(first, client => client.createDatabase('films'));
  const cluster = await startSvcCluster({size: 3, folder});
  try {
    await untilLed(cluster);
    await untilAllHave(cluster, rows);
    const fetched = linesOf(cluster, 'snapshot.fetched');
    assert.ok(fetched.length >= 2, 'two took the copy of the third');
    for (const {bytes, bytesReceived} of fetched) {
      assert.ok(Number(bytes) > (rows * rowBytes) / 2, `${String(bytes)} bytes are in it`);
      assert.ok(Number(bytesReceived) < Number(bytes) / 10, `${String(bytesReceived)} were sent`);
    }
  } finally {
    await cluster.dispose(true);
  }
});
