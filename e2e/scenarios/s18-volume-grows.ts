/** S18: the volume of every member grows while it is in use, without a restart of any pod. */
import assert from 'node:assert/strict';
import {eventually} from '../eventually.ts';
import type {KubernetesObject} from '../lab/kubernetes.ts';
import {bytesOf} from '../lab/quantity.ts';
import {compareBooks, Ledger} from '../svc/ledger.ts';
import {threeServers} from './hand-written-cluster.ts';
import type {Scenario} from './scenario.ts';

type Claim = KubernetesObject & {readonly status: {readonly capacity: {readonly storage: string}}};

const larger = '768Mi';

export const volumeGrows: Scenario = {
  id: 'S18',
  title: 'volumes grow online under a client, and no pod is touched',
  async run(world) {
    const {lab, namespace} = world;
    const cluster = await threeServers(world);
    const before = await cluster.pods();
    const ledger = await Ledger.open(await cluster.service('db'), {writers: 2});
    for (const pod of before) {
      const reference = {apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace};
      const claim = {...reference, name: `data-${pod.metadata.name}`};
      const spec = {resources: {requests: {storage: larger}}};
      await lab.kubernetes.patch(claim, {spec});
      await eventually(`a larger ${claim.name}`, async () => {
        const {status} = await lab.kubernetes.get<Claim>(claim);
        return bytesOf(status.capacity.storage) === bytesOf(larger);
      });
      assert.ok((await sizeSeenIn(world.lab, namespace, pod.metadata.name)) > bytesOf('600Mi'));
    }
    await ledger.close();
    await compareBooks(cluster, ledger);
    const uids = (pods: typeof before): unknown => pods.map(({metadata}) => metadata.uid);
    assert.deepEqual(uids(await cluster.pods()), uids(before));
    world.note(`three volumes from 512Mi to ${larger} beside ${ledger.acknowledged} entries`);
  },
};

/** Bytes of the file system, as a process in the pod sees it. */
async function sizeSeenIn(
  lab: Parameters<Scenario['run']>[0]['lab'],
  namespace: string,
  pod: string,
): Promise<number> {
  const script = "const {blocks, bsize} = fs.statfsSync('/data'); console.log(blocks * bsize)";
  const node = ['--', '/opt/svc/bin/node', '-e', script];
  return Number(await lab.kubectl('exec', '-n', namespace, pod, ...node));
}
