/**
 * One server with data becomes three, a member that lost its disk comes back, and one of the three
 * goes on alone: nothing that was stored is ever missing.
 */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {untilLed} from '#server/testing/cluster/cluster-system.ts';
import {calmElections, startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const folder = temporaryRoot('forming');
const ends: (() => Promise<unknown>)[] = [];

after(async () => {
  for (const end of ends) await end();
  rmSync(folder, {recursive: true, force: true});
});

/** A member's folder, served by a server that is none. */
async function startAlone(name: string): Promise<ServerProcess> {
  const settings = {'svc.server.name': name};
  const server = await startServer({
    root: join(folder, name),
    port: await freePort(),
    settings,
  });
  ends.push(() => server.kill());
  return server;
}

async function insert(client: Client, name: string): Promise<void> {
  await client.command('music', `INSERT INTO Artist SET name = '${name}'`);
}

async function hasArtists(client: Client, count: number): Promise<void> {
  await eventually(`${count} artists at ${client.url}`, async () => {
    const {result} = await client.query('music', 'SELECT count(*) AS n FROM Artist');
    return result[0]?.['n'] === count;
  });
}

test('one server becomes three, one is lost and comes back, one goes on alone', async () => {
  const alone = await startAlone('svc_0');
  const before = alone.client();
  await before.createDatabase('music');
  await before.command('music', 'CREATE VERTEX TYPE Artist');
  await insert(before, 'Ada');
  before.close();
  await alone.stop();

  const cluster = await startSvcCluster({
    size: 3,
    folder,
    settings: calmElections,
  });
  ends.push(() => cluster.dispose(true));
  const [first, second, third] = cluster.members.map(cluster.clientOf) as [Client, Client, Client];
  for (const client of [first, second, third]) await hasArtists(client, 1);
  await insert(second, 'Bea');

  const [, , lost] = cluster.members;
  await lost?.process.kill();
  rmSync(join(folder, 'svc_2'), {recursive: true});
  mkdirSync(join(folder, 'svc_2'));
  lost?.process.start();
  await untilLed(cluster);
  await hasArtists(third, 2);
  await insert(third, 'Cid');
  for (const client of [first, second, third]) await hasArtists(client, 3);

  for (const {process} of cluster.members) await process.stop();
  const last = (await startAlone('svc_1')).client();
  await hasArtists(last, 3);
  await insert(last, 'Dan');
  await hasArtists(last, 4);
  last.close();
});
