/**
 * E14: a follower's pod is deleted again and again and stays a member. E15: a follower loses its
 * pod and its volume, comes back empty, and gets everything from the others. E16: the node of a
 * follower is gone for good, with the volume on it: the member begins anew on another one.
 * E17: two of three are gone: nothing is changed by itself, and when they are back all goes on.
 */
import assert from 'node:assert/strict';
import {setTimeout as sleep} from 'node:timers/promises';
import {eventually} from '../../eventually.ts';
import type {KubernetesObject} from '../../lab/kubernetes.ts';
import type {Cluster, Pod} from '../../svc/cluster.ts';
import {compareBooks, Ledger, settleBooks} from '../../svc/ledger.ts';
import {Operated} from '../../svc/operated.ts';
import type {Scenario, World} from '../scenario.ts';

const deletions = 50;
const rejoinSecondsMax = 60;

export const operatedFollowerDeleted: Scenario = {
  id: 'E14',
  title: `a follower deleted ${deletions} times stays a member and is back in 60 s each time`,
  operator: 'shared',
  async run(world) {
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});
    let longest = 0;
    for (let round = 1; round <= deletions; round++) {
      const leader = await eventually('a leader', () => cluster.leader());
      const follower = await followerOf(cluster, leader);
      const began = performance.now();
      await cluster.delete(follower, round % 2 === 0 ? 0 : undefined);
      assert.ok(await isMember(cluster, leader, follower), `round ${round}`);
      await cluster.replaced(follower, {seconds: rejoinSecondsMax});
      assert.ok(await isMember(cluster, leader, follower), `round ${round}`);
      longest = Math.max(longest, performance.now() - began);
    }
    const {longestGapMs} = await ledger.close();
    await compareBooks(cluster, ledger);
    world.note(`${deletions} deletions; back within ${(longest / 1_000).toFixed(1)} s each`);
    world.note(`${ledger.acknowledged} entries, once; longest gap ${longestGapMs} ms`);
  },
};

export const volumeLost: Scenario = {
  id: 'E15',
  title: 'a follower that lost its pod and its volume comes back empty and is filled',
  operator: 'shared',
  async run(world) {
    const {lab, namespace, note} = world;
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});
    const leader = await cluster.leader();
    const follower = await followerOf(cluster, leader);
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      namespace,
      name: `data-${follower.metadata.name}`,
    };
    const before = await lab.kubernetes.get<KubernetesObject>(claim);
    const watch = new VotesWatch(cluster, follower);
    const began = performance.now();
    await lab.kubernetes.remove(claim);
    await cluster.delete(follower, 0);
    await eventually('another claim', async () => {
      const now = await lab.kubernetes.find<KubernetesObject>(claim);
      return now !== undefined && now.metadata.uid !== before.metadata.uid;
    });
    await cluster.replaced(follower, {seconds: 180});
    await operated.untilSettled();
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    const wasOut = await watch.end();
    await ledger.close();
    await compareBooks(cluster, ledger);
    note(`${follower.metadata.name} is whole again after ${seconds} s, filled by the others`);
    note(`${ledger.acknowledged} entries on each of three members, once`);
    assert.ok(wasOut, 'it had no vote before it had what the others have');
  },
};

/** Whether a member was, at some moment, none that votes. */
class VotesWatch {
  #wasOut = false;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(cluster: Cluster, pod: Pod) {
    this.#running = this.#watch(cluster, pod);
  }

  async end(): Promise<boolean> {
    this.#isOver = true;
    await this.#running;
    return this.#wasOut;
  }

  async #watch(cluster: Cluster, {metadata}: Pod): Promise<void> {
    while (!this.#isOver) {
      try {
        const {peers} = await cluster.client(await cluster.leader()).cluster();
        const own = peers.find(({id}) => id.startsWith(`${metadata.name}.`));
        if (own?.inConfiguration !== true || !own.isVoter) this.#wasOut = true;
      } catch {
        // Nobody leads at this moment.
      }
      await sleep(50);
    }
  }
}

export const nodeLost: Scenario = {
  id: 'E16',
  title: 'a node that is gone for good is given up after healing.replaceAfter',
  operator: 'shared',
  isAlone: true,
  isFurther: true,
  async run(world) {
    const {lab, note} = world;
    const operated = await Operated.begin(world, {healing: {replaceAfter: '20s'}});
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer());
    // The operator's own pod would have to come back elsewhere first, which takes its lease's time.
    const follower = await followerOf(cluster, await cluster.leader());
    const nodeName = follower.spec.nodeName ?? '';
    const node = lab.node(nodeName);
    const began = performance.now();
    node.powerOff();
    await lab.kubernetes.remove({apiVersion: 'v1', kind: 'Node', name: nodeName});
    const next = await cluster.replaced(follower, {seconds: 240});
    await operated.untilSettled({seconds: 240});
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    note(
      `${follower.metadata.name} of ${nodeName} lives on ${next.spec.nodeName} after ${seconds} s`,
    );
    assert.notEqual(next.spec.nodeName, nodeName);
    note(await settleBooks(cluster, ledger));
    await node.powerOn();
    await lab.untilNodesReady();
  },
};

export const quorumLost: Scenario = {
  id: 'E17',
  title: 'with two of three gone nothing is changed, QuorumLost says so, and they may come back',
  operator: 'shared',
  isAlone: true,
  isFurther: true,
  async run(world) {
    const {lab, note} = world;
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer(), {writers: 1});
    const operatorNode = await nodeOfOperator(world);
    const gone = lab.nodes.filter(({name}) => name !== operatorNode);
    const claims = await claimsOf(world);
    for (const node of gone) node.powerOff();
    const {message} = await operated.untilCondition(
      'Available',
      {status: 'False', reason: 'QuorumLost'},
      {seconds: 120},
    );
    note(message);
    // Long enough for pods of lost nodes to be given up by Kubernetes itself.
    await sleep(30_000);
    assert.deepEqual(await claimsOf(world), claims, 'no volume was touched');
    assert.equal((await operated.get()).status?.phase, 'QuorumLost');
    for (const node of gone) await node.powerOn();
    await lab.untilNodesReady();
    await cluster.untilWhole();
    await operated.untilSettled();
    note(await settleBooks(cluster, ledger));
  },
};

async function followerOf(cluster: Cluster, leader: Pod): Promise<Pod> {
  const found = (await cluster.pods()).find(({metadata}) => metadata.uid !== leader.metadata.uid);
  assert.ok(found);
  return found;
}

async function isMember(cluster: Cluster, leader: Pod, {metadata}: Pod): Promise<boolean> {
  const {peers} = await cluster.client(leader).cluster();
  return peers.some(
    ({id, inConfiguration}) => id.startsWith(`${metadata.name}.`) && inConfiguration,
  );
}

async function nodeOfOperator({lab}: World): Promise<string> {
  const reference = {apiVersion: 'v1', kind: 'Pod', namespace: 'svc-system'};
  const [pod] = await lab.kubernetes.list<Pod>(reference);
  return pod?.spec.nodeName ?? '';
}

async function claimsOf({lab, namespace}: World): Promise<readonly string[]> {
  const reference = {apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace};
  const all = await lab.kubernetes.list<KubernetesObject>(reference);
  return all.map(({metadata}) => `${metadata.name} ${metadata.uid}`).toSorted();
}
