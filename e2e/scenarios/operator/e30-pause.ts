/**
 * E30: a paused cluster is left as it is whatever its resource says, and catches up when it is
 * resumed; one that sleeps wakes up with its size and its data. E25: a cluster that was deleted
 * finds its data again when a resource of its name is applied.
 */
import assert from 'node:assert/strict';
import {setTimeout as sleep} from 'node:timers/promises';
import {eventually} from '../../eventually.ts';
import {compareBooks, Ledger} from '../../svc/ledger.ts';
import {Operated, uidsOf} from '../../svc/operated.ts';
import type {Scenario} from '../scenario.ts';

const quietMs = 20_000;

export const pausedCluster: Scenario = {
  id: 'E30',
  title: 'a paused cluster is not changed, and a sleeping one wakes with its size and data',
  operator: 'shared',
  async run(world) {
    const {note} = world;
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    await operated.untilSettled();
    const before = uidsOf(await cluster.pods());
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});

    await operated.mark({'svc.io/paused': 'true'});
    await operated.untilCondition('Paused', {status: 'True'});
    await operated.change({replicas: 4, podTemplate: {labels: {team: 'blue'}}});
    await sleep(quietMs);
    assert.deepEqual(uidsOf(await cluster.pods()), before, 'nothing changes while it is paused');
    await operated.change({replicas: 3});
    await operated.mark({'svc.io/paused': null});
    await operated.untilSettled();
    const resumed = uidsOf(await cluster.pods());
    for (const name of Object.keys(before)) assert.notEqual(resumed[name], before[name], name);
    note('nothing changed while paused; the change was made when it was resumed');

    await ledger.close();
    await operated.mark({'svc.io/hibernate': 'true'});
    await eventually('sleep', async () => (await cluster.pods()).length === 0, {seconds: 150});
    assert.equal((await operated.get()).status?.phase, 'Hibernated');
    const began = performance.now();
    await operated.mark({'svc.io/hibernate': null});
    await operated.untilSettled();
    note(`awake after ${((performance.now() - began) / 1_000).toFixed(1)} s`);
    await compareBooks(cluster, ledger);
    note(`${ledger.acknowledged} entries on each of three members, once`);
  },
};

export const deletedCluster: Scenario = {
  id: 'E25',
  title: 'a deleted cluster leaves its volumes, and finds its data when it is applied again',
  operator: 'shared',
  async run(world) {
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});
    await sleep(2_000);
    await ledger.close();
    await operated.remove();
    await eventually('the end of its pods', async () => (await cluster.pods()).length === 0, {
      seconds: 150,
    });
    const began = performance.now();
    const again = await Operated.apply(world);
    await again.untilSettled();
    world.note(`whole again after ${((performance.now() - began) / 1_000).toFixed(1)} s`);
    await compareBooks(again.cluster, ledger);
    world.note(`${ledger.acknowledged} entries on each of three members, once`);
  },
};
