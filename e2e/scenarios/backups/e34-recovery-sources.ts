/**
 * E34: a cluster begins out of a volume with archives, when the cluster that wrote them and its
 * SvcBackup are gone, and another one out of addresses from which its server fetches them.
 */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {createServer, type Server} from 'node:http';
import {eventually} from '../../eventually.ts';
import {addresses} from '../../lab/layout.ts';
import {untilEnded} from '../../svc/backups.ts';
import {Operated} from '../../svc/operated.ts';
import type {Scenario, World} from '../scenario.ts';
import {count, rows, sourceWithBackup} from './e23-recovery.ts';

const own = {replicas: 1};
const databases = ['music', 'shop'];
/** Servers fetch nothing from private addresses, and the lab has no others. */
const settings = {'svc.opencypher.loadCsv.blockedIpRanges': '127.0.0.0/8'};

export const recoverySources: Scenario = {
  id: 'E34',
  title: 'a cluster begins out of a volume with archives, and out of addresses',
  operator: 'shared',
  async run(world) {
    const {lab, namespace, note} = world;
    const backups = {volume: {size: '300Mi'}};
    const source = await sourceWithBackup(world, {...own, backups});
    const archives = await archivesOf(world);
    await source.remove();
    await eventually('the end of the source', async () => {
      return (await source.cluster.pods()).length === 0;
    });
    const backup = {apiVersion: 'svc.io/v1alpha1', kind: 'SvcBackup', namespace, name: 'full'};
    await lab.kubernetes.remove(backup);
    const claim = {name: 'backups-db-0'};
    await begun(world, 'of-volume', {...own, bootstrap: {recovery: {claim}}});
    note('out of a volume whose cluster is gone: all rows of both databases');

    const server = await serve(archives);
    try {
      const {port} = server.address() as {readonly port: number};
      const url = `http://${addresses.control}:${port}/archives`;
      const bootstrap = {recovery: {url, databases}};
      await begun(world, 'of-address', {...own, settings, bootstrap});
      note('out of addresses: the same');
    } finally {
      server.close();
      server.closeAllConnections();
    }
  },
};

async function begun(world: World, name: string, spec: object): Promise<void> {
  const copy = await Operated.apply(world, spec, {name});
  await copy.untilSettled();
  const client = copy.cluster.client(await copy.cluster.leader());
  for (const database of databases) {
    const [row] = (await client.query(database, count)) as {readonly rows: number}[];
    assert.equal(row?.rows, rows, `${name}: ${database}`);
  }
}

/** The bytes of what the backup wrote, by the name of their database. */
async function archivesOf(world: World): Promise<ReadonlyMap<string, Buffer>> {
  const {status} = await untilEnded(world, 'full');
  const found = (status?.databases ?? []).map(async ({name, pod = '', file = ''}) => {
    const path = `/data/backups/${name}/${file}`;
    const script = `process.stdout.write(fs.readFileSync('${path}').toString('base64'))`;
    const node = ['--', '/opt/svc/bin/node', '-e', script];
    const text = await world.lab.kubectl('exec', '-n', world.namespace, pod, ...node);
    return [name, Buffer.from(text, 'base64')] as const;
  });
  return new Map(await Promise.all(found));
}

async function serve(archives: ReadonlyMap<string, Buffer>): Promise<Server> {
  const server = createServer(({url = ''}, response) => {
    const name = /^\/archives\/(\w+)\.zip$/.exec(url)?.[1] ?? '';
    const bytes = archives.get(name);
    response.writeHead(bytes === undefined ? 404 : 200).end(bytes);
  });
  server.listen(0, addresses.control);
  await once(server, 'listening');
  return server;
}
