/**
 * S14, as E14 with an operator: the pod of a follower is deleted again and again. It stays a member
 * all along, and is caught up within a minute each time.
 */
import assert from 'node:assert/strict';
import {compareBooks, Ledger} from '../svc/ledger.ts';
import {threeServers} from './hand-written-cluster.ts';
import type {Scenario} from './scenario.ts';

const rounds = 5;
const rejoinSecondsMax = 60;

export const followerDeleted: Scenario = {
  id: 'S14',
  title: 'a follower that is deleted again and again stays a member and comes back in 60 s',
  async run(world) {
    const cluster = await threeServers(world);
    const ledger = await Ledger.open(await cluster.service('db'), {writers: 2});
    let longest = 0;
    for (let round = 1; round <= rounds; round++) {
      const leader = await cluster.leader();
      const follower = (await cluster.pods()).find(
        ({metadata}) => metadata.uid !== leader.metadata.uid,
      );
      assert.ok(follower);
      const began = performance.now();
      await cluster.delete(follower, round % 2 === 0 ? 0 : undefined);
      const {peers} = await cluster.client(leader).cluster();
      const own = peers.find(({id}) => id.startsWith(`${follower.metadata.name}.`));
      assert.equal(own?.inConfiguration, true, `${follower.metadata.name} stays a member`);
      await cluster.replaced(follower, {seconds: rejoinSecondsMax});
      longest = Math.max(longest, performance.now() - began);
    }
    const {acknowledged, longestGapMs} = await ledger.close();
    await compareBooks(cluster, ledger);
    world.note(`${rounds} deletions; back within ${(longest / 1_000).toFixed(1)} s each`);
    world.note(`${acknowledged} entries on each of three members; longest gap ${longestGapMs} ms`);
  },
};
