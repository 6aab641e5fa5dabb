/**
 * S02: a StatefulSet grows by one pod, which has to be let in, and shrinks again when its member
 * has left. The books agree at every member all along.
 */
import assert from 'node:assert/strict';
import {eventually} from '../eventually.ts';
import {Cluster} from '../svc/cluster.ts';
import {compareBooks, Ledger} from '../svc/ledger.ts';
import {ports} from '../svc/stateful-set.ts';
import {threeServers} from './hand-written-cluster.ts';
import type {Scenario} from './scenario.ts';

export const fourthMember: Scenario = {
  id: 'S02',
  title: 'a fourth pod joins, votes, leaves and is gone',
  async run(world) {
    const {lab, namespace, note} = world;
    const three = await threeServers(world);
    const ledger = await Ledger.open(await three.service('db'), {writers: 2});
    const scale = (replicas: number): Promise<void> => {
      const set = {apiVersion: 'apps/v1', kind: 'StatefulSet', namespace, name: 'db'};
      return lab.kubernetes.patch(set, {spec: {replicas}}, {subresource: 'scale'});
    };

    const began = performance.now();
    await scale(4);
    const newcomer = await eventually('an address of db-3', async () => {
      const pod = await three.pod('db-3');
      return pod.status.podIP !== undefined && pod;
    });
    const address = `db-3.db-headless.${namespace}.svc.cluster.local`;
    const peer = `${address}_${ports.raft}`;
    await eventually('the invitation of db-3', async () => {
      const leader = three.client(await three.leader());
      const place = `${address}:${ports.raft}:${ports.http}`;
      await leader.ask('POST', 'cluster/peer', {peerId: peer, address: place});
      return true;
    });
    const four = new Cluster(lab.kubernetes, {...three.names, replicas: 4});
    await four.untilWhole();
    note(`a fourth member votes after ${((performance.now() - began) / 1_000).toFixed(1)} s`);

    const leader = await four.leader();
    const leaving = leader.metadata.uid === newcomer.metadata.uid ? newcomer : leader;
    if (leaving === newcomer) await four.client(leaving).ask('POST', 'cluster/stepdown', {});
    const path = `cluster/peer/${encodeURIComponent(peer)}`;
    await eventually('the farewell of db-3', async () => {
      const client = four.client(await four.leader());
      const {peers} = await client.cluster();
      // An answer may be lost on the way: what counts is who is a member.
      if (!peers.some(({id, inConfiguration}) => id === peer && inConfiguration)) return true;
      await client.ask('DELETE', path);
      return false;
    });
    await scale(3);
    await eventually('the end of db-3', async () => (await three.pods()).length === 3);
    await three.untilWhole();
    assert.ok((await ledger.close()).acknowledged > 0);
    await compareBooks(three, ledger);
    note(`${ledger.acknowledged} entries on each of three members, once`);
  },
};
