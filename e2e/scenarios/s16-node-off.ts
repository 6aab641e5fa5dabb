/**
 * S16: the node of the leader loses its power, then the network of another leader's node is cut.
 * The other two go on, and the third comes back with its volume when its node does.
 */
import assert from 'node:assert/strict';
import {eventually} from '../eventually.ts';
import type {Cluster, Pod} from '../svc/cluster.ts';
import {Ledger, settleBooks} from '../svc/ledger.ts';
import {threeServers} from './hand-written-cluster.ts';
import type {Scenario, World} from './scenario.ts';

export const nodeOff: Scenario = {
  id: 'S16',
  title: 'a node without power, and one without network, cost no entry and come back',
  isAlone: true,
  isFurther: true,
  async run(world) {
    const cluster = await threeServers(world);
    const ledger = await Ledger.open(await cluster.service('db'));

    const dead = await nodeOfLeader(world, cluster);
    ledger.takeLongestGapMs();
    dead.node.powerOff();
    const next = await anotherLeader(cluster, dead.leader);
    await someEntries(ledger);
    const gap = ledger.takeLongestGapMs();
    world.note(`${dead.node.name} off: ${next.metadata.name} leads; longest gap ${gap} ms`);
    await dead.node.powerOn();
    await world.lab.untilNodesReady();
    await cluster.untilWhole();

    const cut = await nodeOfLeader(world, cluster);
    ledger.takeLongestGapMs();
    await cut.node.cut();
    const third = await anotherLeader(cluster, cut.leader);
    await someEntries(ledger);
    const cutGap = ledger.takeLongestGapMs();
    world.note(`${cut.node.name} cut off: ${third.metadata.name} leads; longest gap ${cutGap} ms`);
    await cut.node.heal();
    await world.lab.untilNodesReady();
    await cluster.untilWhole();

    world.note(await settleBooks(cluster, ledger));
  },
};

async function nodeOfLeader({lab}: World, cluster: Cluster) {
  const leader = await cluster.leader();
  assert.ok(leader.spec.nodeName);
  return {leader, node: lab.node(leader.spec.nodeName)};
}

function anotherLeader(cluster: Cluster, before: Pod): Promise<Pod> {
  return eventually('another leader', async () => {
    const found = await cluster.leader();
    return found.metadata.name !== before.metadata.name && found;
  });
}

/** Enough that the cluster is known to take writes again, not only to have a leader. */
function someEntries(ledger: Ledger): Promise<boolean> {
  const before = ledger.acknowledged;
  return eventually('new entries', () => ledger.acknowledged > before + 20);
}
