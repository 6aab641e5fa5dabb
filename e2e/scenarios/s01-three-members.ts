/**
 * S01: a StatefulSet of three forms a cluster, each of its pods is deleted in turn, the leader's
 * last, and whoever writes meanwhile loses nothing and finds nothing twice.
 */
import assert from 'node:assert/strict';
import {restartsOf} from '../svc/cluster.ts';
import {compareBooks, Ledger} from '../svc/ledger.ts';
import {threeServers} from './hand-written-cluster.ts';
import type {Scenario} from './scenario.ts';

export const threeMembers: Scenario = {
  id: 'S01',
  title: 'three pods form a cluster and survive the deletion of each, the leader included',
  async run(world) {
    const cluster = await threeServers(world);
    const ledger = await Ledger.open(await cluster.service('db'));

    const leader = await cluster.leader();
    const followers = (await cluster.pods()).filter(
      pod => pod.metadata.uid !== leader.metadata.uid,
    );
    for (const pod of [...followers, leader]) {
      const began = performance.now();
      ledger.takeLongestGapMs();
      await cluster.delete(pod);
      await cluster.replaced(pod);
      await cluster.untilWhole();
      const seconds = ((performance.now() - began) / 1_000).toFixed(1);
      const role = pod === leader ? 'leader' : 'follower';
      const gap = ledger.takeLongestGapMs();
      world.note(`${role} ${pod.metadata.name} deleted: whole in ${seconds} s, gap ${gap} ms`);
    }

    const {acknowledged, repeated} = await ledger.close();
    await compareBooks(cluster, ledger);
    assert.equal(restartsOf(await cluster.pods()), 0, 'no container ended by itself');
    assert.ok(acknowledged > 100, `${acknowledged} entries are too few to mean anything`);
    world.note(`${acknowledged} entries on each of three members, once; ${repeated} repeated`);
  },
};
