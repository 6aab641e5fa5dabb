/** Runs scenarios one after the other, each in a namespace of its own, and reports them. */
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {eventually} from '../eventually.ts';
import type {Lab} from '../lab/lab.ts';
import type {Scenario, World} from './scenario.ts';

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const root = join(import.meta.dirname, '../..');

/** Prints `E06 passed 41 s` for each, figures beneath it, and a closing line with the counts. */
export async function runScenarios(
  lab: Lab,
  {version, keep}: {readonly version: string; readonly keep: boolean},
  scenarios: readonly Scenario[],
): Promise<Outcome> {
  const counts = {passed: 0, failed: 0, skipped: 0};
  for (const scenario of scenarios) {
    const missing = scenario.needs?.find(path => !existsSync(join(root, path)));
    if (missing !== undefined) {
      console.log(`${scenario.id} skipped: this version has no ${missing}`);
      counts.skipped++;
      continue;
    }
    const namespace = scenario.id.toLowerCase();
    const figures: string[] = [];
    const world: World = {lab, namespace, version, note: figure => figures.push(figure)};
    const began = performance.now();
    const seconds = (): number => Math.round((performance.now() - began) / 1_000);
    try {
      await lab.kubernetes.apply(namespaceNamed(namespace));
      await scenario.run(world);
      console.log(`${scenario.id} passed ${seconds()} s`);
      counts.passed++;
    } catch (error) {
      console.log(`${scenario.id} failed ${seconds()} s: ${scenario.title}`);
      console.log(indented(error instanceof Error ? (error.stack ?? error.message) : error));
      console.log(indented(await stateOf(lab, namespace)));
      counts.failed++;
      if (keep) break;
    }
    for (const figure of figures) console.log(`  ${figure}`);
    if (!keep) await removeNamespace(lab, namespace);
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts;
}

/** The strictest of the standards for the security of pods is enforced in every scenario. */
function namespaceNamed(name: string) {
  const labels = {'pod-security.kubernetes.io/enforce': 'restricted'};
  return {apiVersion: 'v1', kind: 'Namespace', metadata: {name, labels}};
}

async function removeNamespace(lab: Lab, name: string): Promise<void> {
  const reference = {apiVersion: 'v1', kind: 'Namespace', name};
  await lab.kubernetes.remove(reference);
  const isGone = async (): Promise<boolean> => (await lab.kubernetes.find(reference)) === undefined;
  await eventually(`the end of the namespace ${name}`, isGone, {seconds: 120, everyMs: 500}).catch(
    (error: unknown) => console.error(String(error)),
  );
}

/** What somebody would look at first. */
async function stateOf(lab: Lab, namespace: string): Promise<string> {
  const looks = [
    ['get', 'nodes,pods,pvc', '-n', namespace, '-o', 'wide'],
    ['get', 'events', '-n', namespace, '--sort-by=.lastTimestamp'],
    ['logs', '-n', namespace, '-l', 'app.kubernetes.io/name=svc', '--tail=30', '--prefix'],
  ];
  const shown = looks.map(args => lab.kubectl(...args).catch((error: unknown) => String(error)));
  return (await Promise.all(shown)).map(text => text.split('\n').slice(-60).join('\n')).join('\n');
}

function indented(text: unknown): string {
  return String(text).replaceAll(/^/gm, '    ');
}
