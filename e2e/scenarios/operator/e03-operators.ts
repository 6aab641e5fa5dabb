/**
 * E03: of three operators one acts. The one that holds the lease is ended twenty times, half of
 * them without a word, while a cluster is scaled up and down: at no moment do two of them say that
 * they lead, the sizes are reached, and nothing that was acknowledged is lost.
 *
 * E05: operators of another release come and go, and no pod of a cluster is touched.
 */
import assert from 'node:assert/strict';
import {setTimeout as sleep} from 'node:timers/promises';
import {eventually} from '../../eventually.ts';
import {compareBooks, Ledger} from '../../svc/ledger.ts';
import {Operated, uidsOf} from '../../svc/operated.ts';
import {
  changeContainer,
  changeOperator,
  installOwnOperator,
  leaseHolder,
  operators,
} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';

const ends = 20;
/** Less than the default: half of the ends are waited for. */
const leaseSeconds = 6;
const sizes = [5, 3, 1, 3] as const;

export const threeOperators: Scenario = {
  id: 'E03',
  title: `the operator that acts is ended ${ends} times while a cluster is scaled`,
  operator: 'own',
  async run(world) {
    const {lab, namespace, note} = world;
    await installOwnOperator(world);
    const operated = await Operated.apply(world);
    const ledger = await Ledger.open(await operated.writer(), {writers: 1});
    const soon = {name: 'LEASE_SECONDS', value: String(leaseSeconds)};
    await changeContainer(lab, ({env = [], ...one}) => ({...one, env: [...env, soon]}), namespace);
    await changeOperator(lab, {replicas: 3}, namespace);
    const watch = new LeaderWatch(world);
    let last = 3;
    for (let round = 0; round < ends; round++) {
      const size = sizes[Math.floor((round * sizes.length) / ends)] ?? 3;
      if (size !== last) await operated.change({replicas: size});
      last = size;
      const holder = await eventually('an operator that acts', () => leaseHolder(lab, namespace), {
        everyMs: 500,
        seconds: 120,
      });
      const {name} = holder.pod.metadata;
      const isKilled = round % 2 === 0;
      const options = isKilled ? {gracePeriodSeconds: 0} : {};
      const reference = {apiVersion: 'v1', kind: 'Pod', name, namespace};
      await lab.kubernetes.remove(reference, options);
      await sleep(isKilled ? 1_000 : 3_000);
    }
    const {asked, atOnce} = await watch.end();
    await operated.change({replicas: 3});
    await operated.untilSettled({seconds: 300});
    await ledger.close();
    await compareBooks(operated.cluster, ledger);
    note(`${ends} ends of the operator that acted; asked ${asked} times, ${atOnce} said two lead`);
    note(`${ledger.acknowledged} entries on each of three members, once`);
    assert.equal(atOnce, 0);
  },
};

/** Asks all operators again and again whether they lead. */
class LeaderWatch {
  asked = 0;
  atOnce = 0;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(world: World) {
    this.#running = this.#watch(world);
  }

  async end(): Promise<{readonly asked: number; readonly atOnce: number}> {
    this.#isOver = true;
    await this.#running;
    return {asked: this.asked, atOnce: this.atOnce};
  }

  async #watch({lab, namespace}: World): Promise<void> {
    while (!this.#isOver) {
      const all = await operators(lab, namespace).catch(() => []);
      const leads = (one: (typeof all)[number]): Promise<boolean> =>
        one.metric('svc_operator_leader').then(
          value => value === 1,
          () => false,
        );
      const first = await Promise.all(all.map(leads));
      const leading = all.filter((_, index) => first[index]);
      this.asked++;
      // Answers are not of one moment: two that still say so are.
      const still = leading.length > 1 ? await Promise.all(leading.map(leads)) : [];
      if (still.filter(Boolean).length > 1) this.atOnce++;
      await sleep(200);
    }
  }
}

export const operatorReleases: Scenario = {
  id: 'E05',
  title: 'another release of the operator, and the way back, touch no pod of a cluster',
  operator: 'own',
  async run(world) {
    const {lab, namespace, version, note} = world;
    await installOwnOperator(world);
    const operated = await Operated.apply(world);
    await operated.untilSettled();
    const before = uidsOf(await operated.cluster.pods());
    for (const tag of ['0.0.1-other', version]) {
      const image = `svc/operator:${tag}`;
      for (const node of lab.nodes) await node.tag(`svc/operator:${version}`, image);
      await changeContainer(lab, one => ({...one, image}), namespace);
      await eventually('an operator that acts', () => leaseHolder(lab, namespace));
      // The first look at everything is behind it.
      await operated.mark({'example.org/seen-by': tag});
      await sleep(15_000);
      await operated.untilSettled();
      assert.deepEqual(uidsOf(await operated.cluster.pods()), before, tag);
    }
    note('no pod replaced by two changes of the operator');
  },
};
