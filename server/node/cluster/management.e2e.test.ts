/**
 * `svc cluster` against real members: the leadership moves as it is asked to, a member leaves and
 * is added again, and what a follower lost it takes from the leader by itself.
 */
import assert from 'node:assert/strict';
import {existsSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {
  freePort,
  rootPassword,
  type Ran,
  runSvc,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/server-process.ts';

const places = [0, 1, 2];
const servers = new Map<number, ServerProcess>();
const roots = places.map(place => temporaryRoot(`managed-${place}`));
const ports = await Promise.all(
  places.map(async () => ({raft: await freePort(), http: await freePort()})),
);
const list = ports.map(({raft, http}) => `127.0.0.1:{raft:${raft},http:${http}}`).join(',');
const ids = ports.map(({raft}) => `127.0.0.1_${raft}`);

after(async () => {
  for (const server of servers.values()) await server.dispose();
});

async function start(place: number): Promise<void> {
  const settings = {
    'svc.server.name': `svc_${place}`,
    'svc.ha.enabled': true,
    'svc.ha.serverList': list,
    'svc.ha.electionTimeoutMin': 1_000,
    'svc.ha.electionTimeoutMax': 2_000,
    'svc.ha.healthCheckInterval': 300,
  };
  const port = ports[place]?.http ?? 0;
  servers.set(place, await startServer({root: roots[place] ?? '', port, settings}));
}

/** Runs a command of `svc` at one member. */
async function at(place: number, ...words: readonly string[]): Promise<Ran> {
  const url = servers.get(place)?.url ?? '';
  return await runSvc(words, {SVC_URL: url, SVC_PASSWORD: rootPassword}, '');
}

interface Status {
  readonly leaderId: string | null;
  readonly alerts: readonly {readonly id: string}[];
  readonly peers: readonly {readonly id: string; readonly role: string}[];
}

async function statusAt(place: number): Promise<Status> {
  const {code, out, error} = await at(place, 'cluster', 'status', '--json');
  assert.equal(code, 0, error);
  return JSON.parse(out) as Status;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await holds().catch(() => false))) {
    assert(performance.now() < deadline, `${what} in time`);
  }
}

async function leader(): Promise<number> {
  let found = -1;
  await until('a leader is known', async () => {
    const {leaderId} = await statusAt(0);
    found = ids.indexOf(leaderId ?? '');
    return found >= 0;
  });
  return found;
}

async function done(place: number, ...words: readonly string[]): Promise<string> {
  const {code, out, error} = await at(place, ...words);
  assert.equal(code, 0, `${words.join(' ')}: ${error}`);
  return out;
}

test('a cluster is looked at and changed from a shell, and mends a copy by itself', async () => {
  await Promise.all(places.map(start));
  const first = await leader();
  const other = (first + 1) % 3;
  const third = (first + 2) % 3;
  await done(other, 'database', 'create', 'music');
  await done(other, 'query', 'music', 'CREATE DOCUMENT TYPE Artist');
  await done(other, 'query', 'music', "INSERT INTO Artist SET name = 'Ada'");

  const moved = await done(third, 'cluster', 'transfer', ids[other] ?? '');
  assert.match(moved, new RegExp(`^Leadership transferred to ${ids[other]}`));
  await until('all know the new leader', async () => {
    const known = await Promise.all(places.map(async place => (await statusAt(place)).leaderId));
    return known.every(id => id === ids[other]);
  });

  await done(third, 'cluster', 'leave');
  const without = await statusAt(other);
  assert.equal(without.peers.find(({id}) => id === ids[third])?.role, 'NOT_IN_CONFIGURATION');
  assert.ok(without.alerts.some(({id}) => id === 'peers-not-in-configuration'));
  const {raft, http} = ports[third] ?? {raft: 0, http: 0};
  await done(first, 'cluster', 'add', `127.0.0.1:${raft}:${http}`);
  await done(first, 'query', 'music', "INSERT INTO Artist SET name = 'Bea'");
  assert.match(await done(first, 'cluster', 'verify', 'music'), /^music: ALL_CONSISTENT/);

  await servers.get(third)?.kill();
  const lost = join(roots[third] ?? '', 'databases/music');
  rmSync(lost, {recursive: true});
  await start(third);
  await until('the copy is there again', async () => {
    const {out} = await at(
      third,
      'query',
      'music',
      'SELECT count(*) AS n FROM Artist',
      '--format',
      'json',
    );
    return existsSync(lost) && /"n": ?2/.test(out);
  });
  assert.match(await done(third, 'cluster', 'verify', 'music'), /^music: ALL_CONSISTENT/);
});
