/**
 * E18: volumes grow with the resource, under a client, and no pod is touched. E19: a volume that is
 * full refuses writes and says so; when it has grown they go on by themselves.
 */
import assert from 'node:assert/strict';
import {eventually} from '../../eventually.ts';
import type {KubernetesObject} from '../../lab/kubernetes.ts';
import {bytesOf} from '../../lab/quantity.ts';
import type {Pod} from '../../svc/cluster.ts';
import {compareBooks, Ledger} from '../../svc/ledger.ts';
import {Operated, uidsOf} from '../../svc/operated.ts';
import type {Scenario, World} from '../scenario.ts';

type Claim = KubernetesObject & {readonly status: {readonly capacity: {readonly storage: string}}};

const larger = '768Mi';

export const operatedVolumesGrow: Scenario = {
  id: 'E18',
  title: 'volumes grow with spec.storage.size, the set is made anew, and no pod is touched',
  operator: 'shared',
  async run(world) {
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    await operated.untilSettled();
    const before = uidsOf(await cluster.pods());
    const set = await setUid(world);
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});
    const began = performance.now();
    await operated.change({storage: {size: larger}});
    await untilGrown(world);
    await eventually('another stateful set', async () => {
      const now = await setUid(world);
      return now !== undefined && now !== set;
    });
    await operated.untilSettled();
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    assert.deepEqual(uidsOf(await cluster.pods()), before);
    await ledger.close();
    await compareBooks(cluster, ledger);
    world.note(`three volumes of ${larger} after ${seconds} s, no pod touched`);
    world.note(`${ledger.acknowledged} entries on each of three members, once`);
  },
};

export const volumeFull: Scenario = {
  id: 'E19',
  title: 'full volumes refuse writes and say so, and a larger size is all they need',
  operator: 'shared',
  async run(world) {
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    await operated.untilSettled();
    const before = uidsOf(await cluster.pods());
    const ledger = await Ledger.open(await operated.writer(), {writers: 2, pauseMs: 0});
    const client = await operated.writer();
    await client.command('ledger', 'CREATE DOCUMENT TYPE Other');
    for (const pod of await cluster.pods()) await fill(world, pod);
    const words = await eventually('refused writes', async () => {
      try {
        await client.command('ledger', 'INSERT INTO Other SET n = 1');
      } catch (error) {
        if (/disk|space|room/i.test(String(error))) return String(error);
        throw error;
      }
      throw new Error('a write was taken');
    });
    world.note(words);
    // A cluster at rest is looked at once a minute.
    const full = {status: 'True', reason: 'DiskFull'};
    const {message} = await operated.untilCondition('Degraded', full, {seconds: 90});
    world.note(message);
    const quiet = ledger.acknowledged;
    const began = performance.now();
    await operated.change({storage: {size: larger}});
    await untilGrown(world);
    await eventually('writes again', () => ledger.acknowledged > quiet + 10);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    await operated.untilSettled();
    assert.deepEqual(uidsOf(await cluster.pods()), before);
    await ledger.close();
    await compareBooks(cluster, ledger);
    world.note(`writes again ${seconds} s after the larger size, no pod touched`);
  },
};

async function untilGrown({lab, namespace}: World): Promise<void> {
  const reference = {apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace};
  await eventually(`volumes of ${larger}`, async () => {
    const claims = await lab.kubernetes.list<Claim>(reference);
    return claims.every(({status}) => bytesOf(status.capacity.storage) >= bytesOf(larger));
  });
}

async function setUid({lab, namespace}: World): Promise<string | undefined> {
  const reference = {apiVersion: 'apps/v1', kind: 'StatefulSet', namespace, name: 'db'};
  return (await lab.kubernetes.find<KubernetesObject>(reference))?.metadata.uid;
}

/** Leaves some megabytes of the volume, by a file beside those of the server. */
async function fill({lab, namespace}: World, {metadata}: Pod): Promise<void> {
  const path = '/data';
  const script = [
    `const {bavail, bsize} = fs.statfsSync('${path}');`,
    `const file = fs.openSync('${path}/filler', 'w');`,
    'const block = Buffer.alloc(1 << 20);',
    'for (let left = bavail * bsize - (24 << 20); left > 0; left -= block.length)',
    '  fs.writeSync(file, block);',
    'fs.fsyncSync(file);',
  ].join(' ');
  const node = ['--', '/opt/svc/bin/node', '-e', script];
  await lab.kubectl('exec', '-n', namespace, metadata.name, ...node);
}
