/**
 * E08: an image that does not exist stops a rolling change at its first pod; E09: so do resources
 * that no node has. The others go on, the resource says what is wrong, and taking the change back
 * is enough. E11: an earlier release is refused, and the resource that stays is carried out.
 */
import assert from 'node:assert/strict';
import {setTimeout as sleep} from 'node:timers/promises';
import {eventually} from '../../eventually.ts';
import {type KubernetesObject, RefusedByApiServer} from '../../lab/kubernetes.ts';
import {Ledger, settleBooks} from '../../svc/ledger.ts';
import {Operated, uidsOf} from '../../svc/operated.ts';
import type {Scenario, World} from '../scenario.ts';

type Selecting = KubernetesObject & {readonly spec: {readonly selector: Record<string, string>}};

const stalledSecondsMax = 300;
const followedMs = 2_000;

export const imageMissing: Scenario = {
  id: 'E08',
  title: 'an image that does not exist stops at one pod, and the way back is the old spec',
  operator: 'shared',
  run: world =>
    stuck(world, {
      change: {image: {repository: 'svc/no-such-image'}},
      back: {image: {repository: 'svc/server'}},
      words: /ImagePullBackOff|ErrImagePull/,
    }),
};

export const resourcesMissing: Scenario = {
  id: 'E09',
  title: 'resources that no node has stop at one pod, and the way back is the old spec',
  operator: 'shared',
  run: world =>
    stuck(world, {
      change: {podTemplate: {resources: {requests: {cpu: '1000'}}}},
      back: {podTemplate: {resources: null}},
      words: /Unschedulable/,
    }),
};

interface Stuck {
  readonly change: object;
  readonly back: object;
  /** What the condition says of the pod. */
  readonly words: RegExp;
}

async function stuck(world: World, {change, back, words}: Stuck): Promise<void> {
  const operated = await Operated.begin(world);
  const {cluster} = operated;
  await operated.untilSettled();
  const ledger = await Ledger.open(await operated.writer(), {writers: 2});
  const before = uidsOf(await cluster.pods());
  const began = performance.now();
  await operated.change(change);
  const {message} = await operated.untilCondition(
    'Degraded',
    {status: 'True', reason: 'UpgradeStalled'},
    {seconds: stalledSecondsMax},
  );
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  assert.match(message, words);
  const now = uidsOf(await cluster.pods());
  const replaced = Object.keys(before).filter(name => before[name] !== now[name]);
  assert.equal(replaced.length, 1, `${replaced.join(', ')} were replaced`);
  assert.equal((await operated.condition('Available'))?.status, 'True');
  const events = await operated.events();
  assert.ok(events.some(({reason}) => reason === 'UpgradeStalled'));
  world.note(`${replaced[0]} alone stands still, said after ${seconds} s`);

  await operated.change(back);
  await operated.untilSettled();
  const after = uidsOf(await cluster.pods());
  const touched = Object.keys(before).filter(name => before[name] !== after[name]);
  assert.deepEqual(touched, replaced, 'no other pod was touched');
  world.note(await settleBooks(cluster, ledger));
}

export const earlierRelease: Scenario = {
  id: 'E11',
  title: 'an earlier minor release is refused, and what was wanted before is still held',
  operator: 'shared',
  async run(world) {
    const {lab, namespace} = world;
    const operated = await Operated.begin(world);
    await operated.untilSettled();
    const before = uidsOf(await operated.cluster.pods());
    await assert.rejects(
      operated.change({version: '26.10.1'}),
      (error: unknown) =>
        error instanceof RefusedByApiServer && /version cannot go below/.test(error.message),
    );
    const service = {apiVersion: 'v1', kind: 'Service', namespace, name: 'db-rw'};
    await lab.kubernetes.patch(service, {spec: {selector: {'svc.io/role': 'nobody'}}});
    await eventually('the former selector', async () => {
      const {spec} = await lab.kubernetes.get<Selecting>(service);
      return spec.selector['svc.io/role'] === 'leader';
    });
    // The nodes follow both changes a moment later.
    await sleep(followedMs);
    const client = await operated.writer();
    const ledger = await Ledger.open(client, {writers: 1});
    await ledger.close();
    await operated.untilSettled();
    assert.deepEqual(uidsOf(await operated.cluster.pods()), before);
    world.note('refused at admission; a changed Service was set right, and no pod touched');
  },
};
