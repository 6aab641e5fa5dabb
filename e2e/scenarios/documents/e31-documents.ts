/** E31: the commands of docs/kubernetes/day-by-day.md, as a reader would type them, in order. */
import assert from 'node:assert/strict';
import {removeOperator} from '../../svc/operator.ts';
import type {Scenario} from '../scenario.ts';
import {commandsOf, dayByDay, typeIn} from './documented.ts';

export const documentedCommands: Scenario = {
  id: 'E31',
  title: 'every command of the page about the life of a cluster does what the page says',
  operator: 'sole',
  // It installs one with Helm, and its definitions, as on a Kubernetes that has none.
  async run({lab, version, note}) {
    const [year, month, patch = ''] = version.split('.');
    const next = [year, month, Number(patch) + 1].join('.');
    for (const node of lab.nodes) await node.tag(`svc/server:${version}`, `svc/server:${next}`);
    const blocks = commandsOf(dayByDay);
    assert.ok(blocks.length > 10);
    try {
      for (const block of blocks) await typeIn(lab, block.replaceAll('NEXT', next));
      note(`${blocks.length} groups of commands`);
    } catch (error) {
      note(await lab.kubectl('describe', 'svcc', '-n', 'shop').catch(String));
      note(await lab.kubectl('get', 'pods,pvc,events', '-n', 'shop').catch(String));
      throw error;
    } finally {
      // An operator that stayed would look after the clusters of all other scenarios, too.
      await removeOperator(lab, ['shop']);
    }
  },
};
