/**
 * E06: a new release reaches the members one after the other, the leader last, beside a client that
 * loses nothing. E07: when leadership moves by itself meanwhile, it is the new leader that is last.
 *
 * The new release is the same image under another tag: what is tried is the order.
 */
import assert from 'node:assert/strict';
import {eventually} from '../../eventually.ts';
import type {Pod} from '../../svc/cluster.ts';
import {compareBooks, Ledger} from '../../svc/ledger.ts';
import {Operated, uidsOf} from '../../svc/operated.ts';
import {installOperator} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';

const nextVersion = '26.11.90';
const gapMsMax = 1_000;

export const rollingChange: Scenario = {
  id: 'E06',
  title: 'a new release arrives leader last, with one change of leader and a gap of 1 s at most',
  operator: 'shared',
  isAlone: true,
  async run(world) {
    const operated = await prepared(world);
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer(), {pauseMs: 0});
    const leader = await cluster.leader();
    const {currentTerm} = await cluster.client(leader).cluster();
    const order = new Replacements(await cluster.pods());
    ledger.takeLongestGapMs();
    const began = performance.now();
    await operated.change({version: nextVersion});
    await order.watch(operated, 3);
    await operated.untilSettled();
    const gap = ledger.takeLongestGapMs();
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    const after = await cluster.client(await cluster.leader()).cluster();
    const changes = after.currentTerm - currentTerm;
    await ledger.close();
    await compareBooks(cluster, ledger);
    world.note(`${order.names.join(', ')} replaced in ${seconds} s; ${changes} terms more`);
    world.note(`longest gap ${gap} ms beside ${ledger.acknowledged} entries, each there once`);
    assert.equal(order.names.at(-1), leader.metadata.name, 'the leader is the last');
    assert.equal(changes, 1, 'one change of leader');
    assert.ok(gap <= gapMsMax, `no write for ${gap} ms`);
  },
};

export const leadershipMoves: Scenario = {
  id: 'E07',
  title: 'leadership that moves during a rolling change does not change that the leader is last',
  operator: 'shared',
  async run(world) {
    const operated = await prepared(world);
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});
    const before = await cluster.pods();
    const first = await cluster.leader();
    const order = new Replacements(before);
    await operated.change({version: nextVersion});
    await order.watch(operated, 1);
    const [replaced] = order.names;
    await cluster.untilWhole();
    // The member that is neither replaced nor led before.
    const next = before.find(
      ({metadata}) => metadata.name !== replaced && metadata.uid !== first.metadata.uid,
    );
    assert.ok(next);
    const {peers} = await cluster.client(first).cluster();
    const peer = peers.find(({id}) => id.startsWith(`${next.metadata.name}.`));
    await cluster.client(first).ask('POST', 'cluster/leader', {peerId: peer?.id});
    await order.watch(operated, 3);
    await operated.untilSettled();
    await ledger.close();
    await compareBooks(cluster, ledger);
    world.note(`${first.metadata.name} led, then ${next.metadata.name}; ${order.names.join(', ')}`);
    assert.equal(order.names.at(-1), next.metadata.name);
  },
};

async function prepared(world: World): Promise<Operated> {
  const {lab, version} = world;
  await installOperator(lab);
  for (const node of lab.nodes) {
    await node.tag(`svc/server:${version}`, `svc/server:${nextVersion}`);
  }
  const operated = await Operated.apply(world);
  await operated.untilSettled();
  return operated;
}

/** Who was replaced, in order: two at once would show as a look at which two are new. */
class Replacements {
  readonly names: string[] = [];
  readonly #uids: Record<string, string>;

  constructor(pods: readonly Pod[]) {
    this.#uids = {...uidsOf(pods)};
  }

  async watch({cluster}: Operated, count: number): Promise<void> {
    await eventually(
      `${count} replaced members`,
      async () => {
        const now = uidsOf(await cluster.pods());
        const changed = Object.keys(now).filter(name => this.#uids[name] !== now[name]);
        assert.ok(changed.length <= 1, `${changed.join(' and ')} were replaced at once`);
        for (const name of changed) {
          this.names.push(name);
          this.#uids[name] = now[name] ?? '';
        }
        return this.names.length >= count;
      },
      {seconds: 240, everyMs: 200},
    );
  }
}
