/**
 * Three processes, one of which was away for longer than the log remembers: it takes a snapshot
 * while the others go on, and again when one of its databases is to be taken anew.
 */
import assert from 'node:assert/strict';
import {readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {
  freePort,
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/server-process.ts';

const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
const token = 'a secret of the members alone';
const servers = new Map<number, ServerProcess>();
const roots = [0, 1, 2].map(place => temporaryRoot(`snapshot-${place}`));
const ports = await Promise.all(
  roots.map(async () => ({raft: await freePort(), http: await freePort()})),
);
const list = ports.map(({raft, http}) => `127.0.0.1:{raft:${raft},http:${http}}`).join(',');

after(async () => {
  for (const server of servers.values()) await server.dispose();
});

async function start(place: number): Promise<void> {
  const server = await startServer({
    root: roots[place] ?? '',
    port: ports[place]?.http ?? 0,
    settings: {
      'svc.server.name': `svc_${place}`,
      'svc.ha.enabled': true,
      'svc.ha.serverList': list,
      'svc.ha.clusterToken': token,
      'svc.ha.electionTimeoutMin': 1_000,
      'svc.ha.electionTimeoutMax': 2_000,
      // The log forgets soon what is in the databases.
      'svc.ha.logSegmentSize': 64 << 10,
      'svc.ha.logPurgeGap': 0,
      'svc.ha.healthCheckInterval': 1_000,
    },
  });
  servers.set(place, server);
}

async function post(place: number, path: string, body: object = {}): Promise<Response> {
  const url = `${servers.get(place)?.url}/api/v1${path}`;
  const signal = AbortSignal.timeout(20_000);
  const headers = {authorization};
  return await fetch(url, {method: 'POST', headers, body: JSON.stringify(body), signal});
}

async function sql(place: number, command: string, database = 'music'): Promise<unknown> {
  const response = await post(place, `/command/${database}`, {language: 'sql', command});
  const answer = (await response.json()) as {readonly result?: unknown};
  return answer.result;
}

async function until(what: string, work: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await work().catch(() => false))) {
    assert.ok(performance.now() < deadline, `${what}\n${[...servers.values()].map(s => s.log)}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

async function leader(): Promise<number> {
  let found = -1;
  await until('somebody leads', async () => {
    for (const place of servers.keys()) {
      const url = `${servers.get(place)?.url}/api/v1/cluster`;
      const answer = await fetch(url, {headers: {authorization}});
      const {isLeader} = (await answer.json()) as {readonly isLeader?: boolean};
      if (isLeader === true) found = place;
    }
    return found >= 0;
  });
  return found;
}

/** The server has so many rows, soon. */
async function untilCount(place: number, rows: number): Promise<void> {
  const count = 'SELECT count(*) AS n FROM Artist';
  const expected = JSON.stringify([{n: rows}]);
  await until(`server ${place} has ${rows} rows`, async () => {
    return JSON.stringify(await sql(place, count)) === expected;
  });
}

async function databases(place: number): Promise<unknown> {
  const answer = await fetch(`${servers.get(place)?.url}/api/v1/databases`, {
    headers: {authorization},
  });
  return ((await answer.json()) as {readonly result?: unknown}).result;
}

async function write(place: number, from: number, through: number): Promise<void> {
  for (let number = from; number <= through; number++) {
    const text = 'x'.repeat(60_000);
    await sql(place, `INSERT INTO Artist SET number = ${number}, text = '${text}'`);
  }
}

interface Verified {
  readonly overallStatus: string;
  readonly peers: readonly {readonly status: string}[];
}

async function verify(place: number): Promise<Verified> {
  const answer = await post(place, '/cluster/verify/music');
  assert.equal(answer.status, 200, await answer.clone().text());
  return ((await answer.json()) as {readonly result: Verified}).result;
}

/** What a member says to another one of what it holds. */
async function heldBy(place: number, given: string): Promise<Response> {
  return await fetch(`${servers.get(place)?.url}/api/v1/cluster/bootstrap-state`, {
    method: 'POST',
    headers: {'X-Svc-Cluster-Token': given},
    signal: AbortSignal.timeout(20_000),
  });
}

async function fingerprints(place: number): Promise<unknown> {
  const answer = (await (await heldBy(place, token)).json()) as {
    readonly databases: readonly {readonly name: string; readonly fingerprint: string}[];
  };
  return answer.databases.map(({name, fingerprint}) => ({name, fingerprint}));
}

/** What the status of a member says of copies that it took. */
async function taken(place: number): Promise<Record<string, unknown>> {
  const url = `${servers.get(place)?.url}/api/v1/cluster`;
  return (await (await fetch(url, {headers: {authorization}})).json()) as Record<string, unknown>;
}

/** Whatever of a database says which files it consists of is overwritten. */
function damage(root: string): void {
  const directory = join(root, 'databases/music');
  for (const name of readdirSync(directory)) {
    if (name.startsWith('MANIFEST-')) writeFileSync(join(directory, name), 'damaged');
  }
}

test('a member that was away for too long takes a snapshot, and goes on by the log', async () => {
  await Promise.all([0, 1, 2].map(start));
  const first = await leader();
  await post(first, '/server', {command: 'create database music'});
  await post(first, '/server', {command: 'create database films'});
  await sql(first, 'CREATE DOCUMENT TYPE Artist');
  await write(first, 1, 3);
  const away = [0, 1, 2].find(place => place !== first) ?? 0;
  await untilCount(away, 3);

  await servers.get(away)?.kill();
  servers.delete(away);
  await write(first, 4, 12);
  await post(first, '/server', {command: 'drop database films'});
  await post(first, '/server', {command: 'create database books'});
  await write(first, 13, 20);

  await start(away);
  await untilCount(away, 20);
  assert.match(servers.get(away)?.log ?? '', /snapshot.installed/);
  assert.deepEqual(await databases(away), ['books', 'music']);
  await write(first, 21, 22);
  await untilCount(away, 22);

  const answer = await post(away, '/cluster/resync/music');
  assert.equal(answer.status, 200, await answer.text());
  await write(first, 23, 24);
  await untilCount(away, 24);

  const {bootstrapInstalls, databases: copies} = await taken(away);
  const {count, ...installed} = bootstrapInstalls as {readonly count: number};
  assert.ok(count >= 1);
  assert.deepEqual(installed, {inProgress: false, databases: ['books', 'music']});
  const statuses = (copies as readonly Record<string, unknown>[]).map(one => one['acquireStatus']);
  assert.deepEqual(statuses, ['ACQUIRED', 'ACQUIRED']);

  const [verified] = await Promise.all([verify(await leader()), write(first, 25, 27)]);
  assert.equal(verified.overallStatus, 'ALL_CONSISTENT', JSON.stringify(verified));
  assert.deepEqual(
    verified.peers.map(({status}) => status),
    ['CONSISTENT', 'CONSISTENT'],
  );

  await servers.get(away)?.kill();
  servers.delete(away);
  damage(roots[away] ?? '');
  await start(away);
  // By itself: a snapshot of everything where its log is behind as well, else of this database.
  await untilCount(away, 27);
  await until('all hold the same again', async () => {
    return (await verify(await leader())).overallStatus === 'ALL_CONSISTENT';
  });
  await untilCount(0, 27);
  await untilCount(1, 27);
  await untilCount(2, 27);
  const [one, ...others] = await Promise.all([0, 1, 2].map(fingerprints));
  assert.equal((one as unknown[]).length, 2);
  assert.deepEqual(others, [one, one]);
  assert.equal((await heldBy(0, 'another token')).status, 401);
});
