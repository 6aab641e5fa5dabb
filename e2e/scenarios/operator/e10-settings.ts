/**
 * E10: a setting that a running server takes over is in force on every member without a restart;
 * one that it reads at its start replaces the members one after the other.
 */
import assert from 'node:assert/strict';
import {eventually} from '../../eventually.ts';
import {compareBooks, Ledger} from '../../svc/ledger.ts';
import {Operated, uidsOf} from '../../svc/operated.ts';
import type {Scenario} from '../scenario.ts';

const dynamic = {key: 'svc.ha.replicationLagWarning', value: '4321'};
const fixed = {key: 'svc.network.connectionsMax', value: '321'};

export const settingsChange: Scenario = {
  id: 'E10',
  title: 'a dynamic setting restarts nobody, a fixed one everybody in turn',
  operator: 'shared',
  async run(world) {
    const operated = await Operated.begin(world);
    const {cluster} = operated;
    await operated.untilSettled();
    const before = uidsOf(await cluster.pods());
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});

    await operated.change({settings: {[dynamic.key]: dynamic.value}});
    await eventually('the setting in force', async () => {
      const values = await valuesOf(operated, dynamic.key);
      if (values.every(value => value === dynamic.value)) return true;
      throw new Error(values.join(', '));
    });
    await operated.untilSettled();
    assert.deepEqual(uidsOf(await cluster.pods()), before, 'nobody was restarted');

    await operated.change({settings: {[fixed.key]: fixed.value}});
    await operated.untilSettled();
    const after = uidsOf(await cluster.pods());
    for (const name of Object.keys(before)) assert.notEqual(after[name], before[name], name);
    for (const {key, value} of [dynamic, fixed]) {
      assert.deepEqual(await valuesOf(operated, key), [value, value, value], key);
    }
    await ledger.close();
    await compareBooks(cluster, ledger);
    world.note(`${dynamic.key} live with no restart, ${fixed.key} with one of each member`);
  },
};

/** What each member says of a setting. */
async function valuesOf({cluster}: Operated, key: string): Promise<readonly string[]> {
  const pods = await cluster.pods();
  return Promise.all(
    pods.map(async pod => {
      const answer = await cluster.client(pod).ask('GET', 'server?mode=default');
      const {settings = []} = answer as {settings?: readonly {key: string; value: unknown}[]};
      return String(settings.find(one => one.key === key)?.value);
    }),
  );
}
