/**
 * E01: the shortest SvcCluster becomes a cluster of three that takes writes. E13: when its leader
 * is killed, another leads within ten seconds and the service for writes leads to it within three.
 */
import assert from 'node:assert/strict';
import {eventually} from '../../eventually.ts';
import {Ledger, settleBooks} from '../../svc/ledger.ts';
import {Operated} from '../../svc/operated.ts';
import {installOperator} from '../../svc/operator.ts';
import type {Scenario} from '../scenario.ts';

const availableSecondsMax = 60;
const newLeaderMsMax = 10_000;
const writesAgainMsMax = 3_000;
const kills = 3;

export const appliedCluster: Scenario = {
  id: 'E01',
  title: `an applied SvcCluster is available within ${availableSecondsMax} s, and says so`,
  operator: 'shared',
  isAlone: true,
  async run(world) {
    const {lab, namespace, version, note} = world;
    await installOperator(lab);
    const began = performance.now();
    await lab.kubernetes.apply({
      apiVersion: 'svc.io/v1alpha1',
      kind: 'SvcCluster',
      metadata: {name: 'db', namespace},
      spec: {version, storage: {size: '512Mi'}},
    });
    const operated = await Operated.find(world, 'db');
    const seconds = (performance.now() - began) / 1_000;
    note(`from apply to three ready voters: ${seconds.toFixed(1)} s`);
    assert.ok(seconds <= availableSecondsMax, `${seconds} s`);
    await operated.untilSettled();
    const got = ['get', 'svcc', 'db', '-n', namespace, '--no-headers'];
    const columns = (await lab.kubectl(...got)).trim();
    assert.match(columns, new RegExp(`^db +Running +3 +3 +db-\\d +${version} `), columns);
  },
};

export const operatedLeaderKilled: Scenario = {
  id: 'E13',
  title: 'a killed leader is followed by another, and -rw leads to it within 3 s',
  operator: 'shared',
  isAlone: true,
  async run(world) {
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    // Of a pod that was killed no answer comes, not even a refusal.
    const ledger = await Ledger.open(await operated.writer(), {seconds: 1});
    for (let round = 1; round <= kills; round++) {
      const leader = await cluster.leader();
      ledger.takeLongestGapMs();
      const began = performance.now();
      await cluster.delete(leader, 0);
      await eventually(
        'another leader',
        async () => (await cluster.leader()).metadata.uid !== leader.metadata.uid,
        {everyMs: 50},
      );
      const ledMs = Math.round(performance.now() - began);
      await cluster.replaced(leader);
      await cluster.untilWhole();
      const gap = ledger.takeLongestGapMs();
      world.note(`another led after ${ledMs} ms; longest gap through db-rw ${gap} ms`);
      assert.ok(ledMs <= newLeaderMsMax, `another leader after ${ledMs} ms`);
      assert.ok(gap <= writesAgainMsMax, `no write for ${gap} ms`);
    }
    world.note(await settleBooks(cluster, ledger));
  },
};
