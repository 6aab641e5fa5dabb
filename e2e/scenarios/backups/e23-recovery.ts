/**
 * E23: a cluster begins out of the backup of another one: the same rows on every member, and the
 * other one untouched. E24: with an archive that is damaged it does not begin, says which database,
 * and leaves nothing half open.
 */
import assert from 'node:assert/strict';
import type {KubernetesObject} from '../../lab/kubernetes.ts';
import {applyBackup, untilEnded} from '../../svc/backups.ts';
import {uidsOf, Operated} from '../../svc/operated.ts';
import {eventually} from '../../eventually.ts';
import type {Scenario, World} from '../scenario.ts';

export const rows = 500;
export const count = 'SELECT count(*) AS rows FROM Entry';

export const recoveredCluster: Scenario = {
  id: 'E23',
  title: 'a cluster begins out of a backup of another, with all of its rows',
  operator: 'shared',
  async run(world) {
    const {note} = world;
    const source = await sourceWithBackup(world);
    const before = uidsOf(await source.cluster.pods());
    const began = performance.now();
    const bootstrap = {recovery: {backupName: 'full'}};
    const copy = await Operated.apply(world, {bootstrap}, {name: 'copy'});
    await copy.untilSettled();
    note(`three members out of a backup after ${seconds(began)} s`);
    for (const pod of await copy.cluster.pods()) {
      const client = copy.cluster.client(pod);
      for (const database of ['music', 'shop']) {
        const asking = {consistency: 'linearizable'} as const;
        const [row] = (await client.query(database, count, asking)) as {readonly rows: number}[];
        assert.equal(row?.rows, rows, `${pod.metadata.name} of ${database}`);
      }
    }
    const client = copy.cluster.client(await copy.cluster.leader());
    for (const database of ['music', 'shop']) {
      await eventually(`equal copies of ${database}`, async () => {
        const said = await client.verify(database);
        if (said === 'ALL_CONSISTENT') return true;
        throw new Error(said);
      });
    }
    assert.deepEqual(uidsOf(await source.cluster.pods()), before, 'the source is untouched');
    note(`${rows} rows in each of two databases on each member`);
  },
};

export const damagedArchive: Scenario = {
  id: 'E24',
  title: 'a damaged archive keeps a cluster from beginning, and is named',
  operator: 'shared',
  async run(world) {
    const {lab, namespace, note} = world;
    await sourceWithBackup(world);
    const {status} = await untilEnded(world, 'full');
    const shop = status?.databases?.find(({name}) => name === 'shop');
    assert.ok(shop?.pod !== undefined && shop.file !== undefined);
    const path = `/data/backups/shop/${shop.file}`;
    const spoil = [
      `const bytes = fs.readFileSync('${path}');`,
      'for (let at = 1000; at < 1400; at++) bytes[at] ^= 0xff;',
      `fs.writeFileSync('${path}', bytes);`,
    ].join(' ');
    const node = ['--', '/opt/svc/bin/node', '-e', spoil];
    await lab.kubectl('exec', '-n', namespace, shop.pod, ...node);
    const reference = {apiVersion: 'svc.io/v1alpha1', kind: 'SvcCluster'};
    await lab.kubernetes.apply({
      ...reference,
      metadata: {name: 'copy', namespace},
      spec: {
        version: world.version,
        storage: {size: '512Mi'},
        bootstrap: {recovery: {backupName: 'full'}},
      },
    });
    const conditions = await eventually(
      'RecoveryFailed',
      async () => {
        const {status: copied} = await lab.kubernetes.get<
          KubernetesObject & {
            readonly status?: {
              readonly conditions?: readonly {
                readonly type: string;
                readonly reason: string;
                readonly message: string;
              }[];
              readonly recovery?: {readonly databases: readonly {name: string; phase: string}[]};
            };
          }
        >({...reference, namespace, name: 'copy'});
        const found = copied?.conditions?.find(({type}) => type === 'Available');
        if (found?.reason === 'RecoveryFailed') return {message: found.message, ...copied};
        throw new Error(JSON.stringify(copied ?? 'it has no status'));
      },
      {seconds: 180},
    );
    assert.match(conditions.message, /^shop: /);
    note(conditions.message);
    assert.deepEqual(
      conditions.recovery?.databases.map(({name, phase}) => `${name} ${phase}`),
      ['music Restored', 'shop Failed'],
    );
    const list = ['exec', '-n', namespace, 'copy-0', '--', '/opt/svc/bin/node', '-e'];
    const look = "console.log(fs.readdirSync('/data/databases').join(' '))";
    const directories = (await lab.kubectl(...list, look)).trim().split(' ');
    // The server's own directory for copies to members is beside them.
    const databases = directories.filter(name => name !== '.snapshots');
    assert.deepEqual(databases, ['music'], 'nothing is half open');
  },
};

/** A cluster with two databases and the backup `full` of them. @param spec - As of `begin`. */
export async function sourceWithBackup(world: World, spec: object = {}): Promise<Operated> {
  const source = await Operated.begin(world, spec);
  const client = await source.writer();
  for (const database of ['music', 'shop']) {
    await client.server(`create database ${database}`);
    await client.command(database, 'CREATE DOCUMENT TYPE Entry');
    const inserts = Array.from({length: rows}, (_, n) => `INSERT INTO Entry SET n = ${n};`);
    await client.script(database, inserts.join('\n'));
  }
  await applyBackup(world, 'full');
  const {status} = await untilEnded(world, 'full');
  assert.equal(status?.phase, 'Completed', JSON.stringify(status));
  return source;
}

function seconds(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(1);
}
