/**
 * Three processes that share a log, from outside: what is acknowledged is on all of them, also
 * after the leader was killed in the middle, and on the killed one when it is back.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {
  freePort,
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/server-process.ts';

const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
const servers = new Map<number, ServerProcess>();
const roots = [0, 1, 2].map(place => temporaryRoot(`member-${place}`));
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
      'svc.ha.electionTimeoutMin': 1_000,
      'svc.ha.electionTimeoutMax': 2_000,
    },
  });
  servers.set(place, server);
}

async function post(place: number, path: string, body: object): Promise<Response> {
  const url = `${servers.get(place)?.url}/api/v1${path}`;
  const signal = AbortSignal.timeout(5_000);
  const headers = {authorization};
  return await fetch(url, {method: 'POST', headers, body: JSON.stringify(body), signal});
}

async function sql(place: number, command: string): Promise<unknown> {
  const response = await post(place, '/command/music', {language: 'sql', command});
  const answer = (await response.json()) as {readonly result?: unknown};
  return answer.result;
}

/** Asks the servers in turn until one does it; which one. */
async function untilOne(work: (place: number) => Promise<boolean>): Promise<number> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    for (const place of servers.keys()) {
      if (await work(place).catch(() => false)) return place;
    }
    assert(performance.now() < deadline, 'one of them leads in time');
  }
}

const names = 'SELECT name FROM Artist ORDER BY name';

/** Everybody answers the same, soon. */
async function assertAll(expected: readonly string[]): Promise<void> {
  for (const place of servers.keys()) {
    const rows = expected.map(name => ({name}));
    await untilOne(async () => JSON.stringify(await sql(place, names)) === JSON.stringify(rows));
  }
}

test('what is acknowledged is on all three, before and after a kill of the leader', async () => {
  await Promise.all([0, 1, 2].map(start));
  const first = await untilOne(
    async place => (await post(place, '/server', {command: 'create database music'})).ok,
  );
  await sql(first, 'CREATE VERTEX TYPE Artist');
  await sql(first, "INSERT INTO Artist SET name = 'Ada'");
  await assertAll(['Ada']);

  await servers.get(first)?.kill();
  servers.delete(first);
  const second = await untilOne(
    async place => (await sql(place, "INSERT INTO Artist SET name = 'Bea'")) !== undefined,
  );
  assert.notEqual(second, first);
  await assertAll(['Ada', 'Bea']);

  await start(first);
  await assertAll(['Ada', 'Bea']);
  await sql(second, "INSERT INTO Artist SET name = 'Cid', songs = 3");
  await assertAll(['Ada', 'Bea', 'Cid']);
  const songs = 'SELECT songs FROM Artist WHERE songs > 2';
  for (const place of servers.keys()) assert.deepEqual(await sql(place, songs), [{songs: 3}]);
});
