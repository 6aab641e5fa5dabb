/**
 * S13, as E13 with an operator: the pod of the leader is killed on the spot, without a word to it.
 * Another leads within ten seconds, and nothing that was acknowledged is lost.
 */
import assert from 'node:assert/strict';
import {eventually} from '../eventually.ts';
import {compareBooks, Ledger} from '../svc/ledger.ts';
import {threeServers} from './hand-written-cluster.ts';
import type {Scenario} from './scenario.ts';

const rounds = 3;
const newLeaderMsMax = 10_000;

export const leaderKilled: Scenario = {
  id: 'S13',
  title: 'a killed leader is followed by another within 10 s, and nothing is lost',
  async run(world) {
    const cluster = await threeServers(world);
    const ledger = await Ledger.open(await cluster.service('db'));
    for (let round = 1; round <= rounds; round++) {
      const leader = await cluster.leader();
      ledger.takeLongestGapMs();
      const began = performance.now();
      await cluster.delete(leader, 0);
      const next = await eventually(
        'another leader',
        async () => {
          const found = await cluster.leader();
          return found.metadata.uid !== leader.metadata.uid && found;
        },
        {everyMs: 50},
      );
      const milliseconds = Math.round(performance.now() - began);
      assert.ok(milliseconds <= newLeaderMsMax, `another leader after ${milliseconds} ms`);
      await cluster.replaced(leader);
      await cluster.untilWhole();
      const gap = ledger.takeLongestGapMs();
      world.note(`${next.metadata.name} led after ${milliseconds} ms; longest gap ${gap} ms`);
    }
    const {acknowledged} = await ledger.close();
    await compareBooks(cluster, ledger);
    world.note(`${acknowledged} entries on each of three members, once`);
  },
};
