/**
 * One server with data becomes three, a member that lost its disk comes back, and one of the three
 * goes on alone: nothing that was stored is ever missing.
 */
import assert from 'node:assert/strict';
import {rmSync} from 'node:fs';
import {after, test} from 'node:test';
import {
  freePort,
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/server-process.ts';

const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
const roots = [0, 1, 2].map(place => temporaryRoot(`forming-${place}`));
const ports = await Promise.all(
  roots.map(async () => ({raft: await freePort(), http: await freePort()})),
);
const list = ports.map(({raft, http}) => `127.0.0.1:{raft:${raft},http:${http}}`).join(',');
const servers = new Map<number, ServerProcess>();

after(async () => {
  for (const server of servers.values()) await server.kill();
  for (const root of roots) rmSync(root, {recursive: true, force: true});
});

async function start(place: number, isMember: boolean): Promise<void> {
  const cluster = {
    'svc.ha.enabled': true,
    'svc.ha.serverList': list,
    'svc.ha.electionTimeoutMin': 1_000,
    'svc.ha.electionTimeoutMax': 2_000,
  };
  const server = await startServer({
    root: roots[place] ?? '',
    port: ports[place]?.http ?? 0,
    settings: {'svc.server.name': `svc_${place}`, ...(isMember && cluster)},
    readyMillisMax: 120_000,
  });
  servers.set(place, server);
}

async function stop(place: number): Promise<void> {
  await servers.get(place)?.stop();
  servers.delete(place);
}

async function post(place: number, path: string, body: object): Promise<string> {
  const url = `${servers.get(place)?.url}/api/v1${path}`;
  const signal = AbortSignal.timeout(20_000);
  const headers = {authorization};
  const answer = await fetch(url, {method: 'POST', headers, body: JSON.stringify(body), signal});
  return await answer.text();
}

const sql = (place: number, command: string): Promise<string> =>
  post(place, '/command/music', {language: 'sql', command});

/** The server answers with so many artists, in time. */
async function hasArtists(place: number, count: number): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (let answer = ''; ; answer = await sql(place, 'SELECT count(*) AS n FROM Artist')) {
    if (answer.includes(`{"n":${count}}`)) return;
    assert(performance.now() < deadline, `${place} has ${count} artists, not ${answer}`);
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}

test('one server becomes three, one is lost and comes back, one goes on alone', async () => {
  await start(0, false);
  await post(0, '/server', {command: 'create database music'});
  await sql(0, 'CREATE VERTEX TYPE Artist');
  await sql(0, "INSERT INTO Artist SET name = 'Ada'");
  await stop(0);

  await Promise.all([0, 1, 2].map(place => start(place, true)));
  for (const place of [0, 1, 2]) await hasArtists(place, 1);
  await sql(1, "INSERT INTO Artist SET name = 'Bea'");

  await servers.get(2)?.kill();
  rmSync(roots[2] ?? '', {recursive: true});
  await start(2, true);
  await hasArtists(2, 2);
  await sql(2, "INSERT INTO Artist SET name = 'Cid'");
  for (const place of [0, 1, 2]) await hasArtists(place, 3);

  for (const place of [0, 1, 2]) await stop(place);
  await start(1, false);
  await hasArtists(1, 3);
  await sql(1, "INSERT INTO Artist SET name = 'Dan'");
  await hasArtists(1, 4);
});
