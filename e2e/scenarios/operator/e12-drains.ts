/**
 * E12: nodes are drained one after the other, and then two at once: the second waits until the
 * first member is back, because the disruption budget keeps the quorum.
 */
import assert from 'node:assert/strict';
import {setTimeout as sleep} from 'node:timers/promises';
import type {Lab} from '../../lab/lab.ts';
import {isReady} from '../../svc/cluster.ts';
import {compareBooks, Ledger} from '../../svc/ledger.ts';
import {Operated} from '../../svc/operated.ts';
import {installOperator} from '../../svc/operator.ts';
import type {Scenario} from '../scenario.ts';

/** Long enough for a drain that is not held up to be over. */
const holdMs = 20_000;

export const nodesDrained: Scenario = {
  id: 'E12',
  title: 'drained nodes cost no write, and a second drain waits for the first',
  operator: 'shared',
  isAlone: true,
  async run(world) {
    const {lab, note} = world;
    await installOperator(lab);
    // Its volume cannot follow a member to another node, so it must come back to its own.
    const operated = await Operated.apply(world);
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer());
    const nodeNames = lab.nodes.map(({name}) => name);
    for (const name of nodeNames) {
      ledger.takeLongestGapMs();
      await drain(lab, name);
      await lab.kubectl('uncordon', name);
      await cluster.untilWhole();
      note(`${name} drained and back: longest gap ${ledger.takeLongestGapMs()} ms`);
    }
    const [first = '', second = ''] = nodeNames;
    await drain(lab, first);
    let isSecondDone = false;
    const waiting = drain(lab, second).finally(() => (isSecondDone = true));
    await sleep(holdMs);
    const ready = (await cluster.pods()).filter(isReady).length;
    assert.ok(ready >= 2, `${ready} members are ready`);
    assert.equal(isSecondDone, false, 'the second drain waits');
    const before = ledger.acknowledged;
    await lab.kubectl('uncordon', first);
    await waiting;
    assert.ok(ledger.acknowledged > before, 'writes go on');
    await lab.kubectl('uncordon', second);
    await cluster.untilWhole();
    const {longestGapMs} = await ledger.close();
    await compareBooks(cluster, ledger);
    note(`two at once: the second waited; longest gap ${longestGapMs} ms`);
    note(`${ledger.acknowledged} entries on each of three members, once`);
  },
};

async function drain(lab: Lab, node: string): Promise<void> {
  // Pods of the scenario alone: the operator's own would go to another node.
  const options = ['--ignore-daemonsets', '--delete-emptydir-data', '--timeout=240s'];
  const pods = '--pod-selector=svc.io/cluster=db';
  await lab.kubectl('drain', node, ...options, pods);
}
