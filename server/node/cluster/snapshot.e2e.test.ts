/**
 * Three processes, one of which was away for longer than the log remembers: it takes a snapshot
 * while the others go on, and again when one of its databases is to be taken anew.
 */
import assert from 'node:assert/strict';
import {readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {calmElections, startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';

const token = 'a secret of the members alone';
const cluster = await startSvcCluster({
  size: 3,
  settings: {
    'svc.ha.clusterToken': token,
    ...calmElections,
    // The log forgets soon what is in the databases.
    'svc.ha.logSegmentSize': 64 << 10,
    'svc.ha.logPurgeGap': 0,
    'svc.ha.healthCheckInterval': 1_000,
  },
});
after(() => cluster.dispose());

const told = (): string => cluster.members.map(({process}) => process.log).join('\n');

/** The member has so many rows, soon. */
async function untilCount(member: Member, rows: number): Promise<void> {
  const client = cluster.clientOf(member);
  const holds = async (): Promise<boolean> => {
    const {result} = await client.query('music', 'SELECT count(*) AS n FROM Artist');
    return result[0]?.['n'] === rows;
  };
  await eventually(`${member.name} has ${rows} rows`, holds, {told});
}

async function write(client: Client, from: number, through: number): Promise<void> {
  for (let number = from; number <= through; number++) {
    const text = 'x'.repeat(60_000);
    await client.command('music', `INSERT INTO Artist SET number = ${number}, text = '${text}'`);
  }
}

interface Verified {
  readonly overallStatus: string;
  readonly peers: readonly {readonly status: string}[];
}

/** Returns what the leader says. */
async function verify(): Promise<Verified> {
  const leader = cluster.clientOf(await untilLed(cluster));
  const {result} = await leader.cluster('POST', '/verify/music');
  return result as Verified;
}

/** What a member says to another one of what it holds. */
async function heldBy({url}: Member, given: string): Promise<Response> {
  return await fetch(`${url}/api/v1/cluster/bootstrap-state`, {
    method: 'POST',
    headers: {'X-Svc-Cluster-Token': given},
  });
}

async function fingerprints(member: Member): Promise<unknown> {
  const answer = (await (await heldBy(member, token)).json()) as {
    readonly databases: readonly {readonly name: string; readonly fingerprint: string}[];
  };
  return answer.databases.map(({name, fingerprint}) => ({name, fingerprint}));
}

/** Whatever of a database says which files it consists of is overwritten. */
function damage(root: string): void {
  const directory = join(root, 'databases/music');
  for (const name of readdirSync(directory)) {
    if (name.startsWith('MANIFEST-')) writeFileSync(join(directory, name), 'damaged');
  }
}

test('a member that was away for too long takes a snapshot, and goes on by the log', async () => {
  const leader = await untilLed(cluster);
  const first = cluster.clientOf(leader);
  await first.createDatabase('music');
  await first.createDatabase('films');
  await first.command('music', 'CREATE DOCUMENT TYPE Artist');
  await write(first, 1, 3);
  const away = cluster.members.find(member => member !== leader) as Member;
  const behind = cluster.clientOf(away);
  await untilCount(away, 3);

  await away.process.kill();
  await write(first, 4, 12);
  await first.dropDatabase('films');
  await first.createDatabase('books');
  await write(first, 13, 20);

  away.process.start();
  // While it is put in its place the leader answers for it.
  const isInstalled = async (): Promise<boolean> =>
    away.process.log.includes('"snapshot.installed"') &&
    (await behind.databases()).join() === 'books,music';
  await eventually('it takes a snapshot', isInstalled, {told});
  await untilCount(away, 20);
  await write(first, 21, 22);
  await untilCount(away, 22);

  // A snapshot may still end, or another follow it when the log went on meanwhile.
  const isTakenAnew = async (): Promise<boolean> => {
    try {
      await behind.cluster('POST', '/resync/music');
      return true;
    } catch (error) {
      if (String(error).includes('taking a snapshot already')) return false;
      throw error;
    }
  };
  await eventually('it takes one database anew', isTakenAnew, {told});
  await write(first, 23, 24);
  await untilCount(away, 24);

  const status = await cluster.clientOf(away).cluster('GET', '');
  const {count, ...installed} = status['bootstrapInstalls'] as {readonly count: number};
  assert.ok(count >= 1);
  assert.deepEqual(installed, {inProgress: false, databases: ['books', 'music']});
  const copies = status['databases'] as readonly Record<string, unknown>[];
  assert.deepEqual(
    copies.map(one => one['acquireStatus']),
    ['ACQUIRED', 'ACQUIRED'],
  );

  const [verified] = await Promise.all([verify(), write(first, 25, 27)]);
  assert.equal(verified.overallStatus, 'ALL_CONSISTENT', JSON.stringify(verified));
  assert.deepEqual(
    verified.peers.map(({status}) => status),
    ['CONSISTENT', 'CONSISTENT'],
  );

  await away.process.kill();
  damage(join(cluster.folder, away.name));
  away.process.start();
  // By itself: a snapshot of everything where its log is behind as well, else of this database.
  await untilCount(away, 27);
  const isWhole = async (): Promise<boolean> => (await verify()).overallStatus === 'ALL_CONSISTENT';
  await eventually('all hold the same again', isWhole, {told});
  for (const member of cluster.members) await untilCount(member, 27);
  const [one, ...others] = await Promise.all(cluster.members.map(fingerprints));
  assert.equal((one as unknown[]).length, 2);
  assert.deepEqual(others, [one, one]);
  assert.equal((await heldBy(away, 'another token')).status, 401);
});
