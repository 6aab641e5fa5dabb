/** E31: the commands of docs/kubernetes/day-by-day.md, as a reader would type them, in order. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {runWith} from '../../lab/commands.ts';
import type {Lab} from '../../lab/lab.ts';
import {operatorNeeds} from '../../svc/operator.ts';
import type {Scenario} from '../scenario.ts';

const root = join(import.meta.dirname, '../../..');
export const dayByDay = 'docs/kubernetes/day-by-day.md';

export const documentedCommands: Scenario = {
  id: 'E31',
  title: 'every command of the page about the life of a cluster does what the page says',
  needs: [...operatorNeeds, dayByDay],
  // It installs one with Helm, and its definitions, as on a Kubernetes that has none.
  alone: ['operator'],
  async run({lab, version, note}) {
    const [year, month, patch = ''] = version.split('.');
    const next = [year, month, Number(patch) + 1].join('.');
    for (const node of lab.nodes) await node.tag(`svc/server:${version}`, `svc/server:${next}`);
    const blocks = commandsIn(readFileSync(join(root, dayByDay), 'utf8'));
    assert.ok(blocks.length > 10);
    try {
      for (const block of blocks) {
        const script = `cd '${root}'\nexport KUBECONFIG='${lab.kubeconfig}'\n${block}`;
        // What was typed stands in the error, before what came of it.
        await runWith(script.replaceAll('NEXT', next), 'bash', '-euxo', 'pipefail');
      }
    } catch (error) {
      note(await lab.kubectl('describe', 'svcc', '-n', 'shop').catch(String));
      await leave(lab);
      throw error;
    }
    note(`${blocks.length} groups of commands`);
  },
};

/** An operator that stayed would look after the clusters of all other scenarios, too. */
async function leave(lab: Lab): Promise<void> {
  for (const [release, namespace] of [
    ['db', 'shop'],
    ['svc', 'svc-system'],
  ] as const) {
    await lab.helm('uninstall', release, '-n', namespace, '--ignore-not-found', '--wait');
  }
}

/** What stands in the page to be typed. */
export function commandsIn(page: string): readonly string[] {
  return [...page.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block);
}
