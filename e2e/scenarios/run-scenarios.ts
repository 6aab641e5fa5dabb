/** Runs scenarios, each in a namespace of its own and some beside each other, and reports them. */
import {eventually} from '../eventually.ts';
import type {Lab} from '../lab/lab.ts';
import {runInLanes} from './lanes.ts';
import type {Scenario, World} from './scenario.ts';

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
}

interface Manner {
  readonly version: string;
  /** Leaves what a failed scenario made, and begins no further one. */
  readonly keep: boolean;
  /** How many run at once, at most. */
  readonly lanes: number;
}

/**
 * Prints `E06 passed 41 s` for each as it ends, figures beneath it, and a closing line with the
 * counts and with what all took, one by one and beside each other.
 */
export async function runScenarios(
  lab: Lab,
  {version, keep, lanes}: Manner,
  scenarios: readonly Scenario[],
): Promise<Outcome> {
  const counts = {passed: 0, failed: 0};
  const began = performance.now();
  let sum = 0;
  const removals: Promise<void>[] = [];
  await runInLanes(scenarios, lanes, async scenario => {
    const namespace = scenario.id.toLowerCase();
    const {lines, hasPassed, seconds} = await tried(lab, scenario, {namespace, version});
    console.log(lines.join('\n'));
    sum += seconds;
    counts[hasPassed ? 'passed' : 'failed']++;
    if (keep) return hasPassed ? 'on' : 'stop';
    // Nobody waits for it: the next scenario has another one.
    removals.push(removeNamespace(lab, namespace));
    return 'on';
  });
  await Promise.all(removals);
  const {passed, failed} = counts;
  console.log(
    `${passed} passed, ${failed} failed; ${sum} s of scenarios in ${secondsSince(began)} s`,
  );
  return counts;
}

interface Tried {
  readonly lines: readonly string[];
  readonly hasPassed: boolean;
  readonly seconds: number;
}

async function tried(
  lab: Lab,
  {id, title, run}: Scenario,
  {namespace, version}: Pick<World, 'namespace' | 'version'>,
): Promise<Tried> {
  const figures: string[] = [];
  const began = performance.now();
  try {
    await lab.kubernetes.apply(namespaceNamed(namespace));
    await run({lab, namespace, version, note: figure => figures.push(`  ${figure}`)});
    const seconds = secondsSince(began);
    return {lines: [`${id} passed ${seconds} s`, ...figures], hasPassed: true, seconds};
  } catch (error) {
    const seconds = secondsSince(began);
    const said = error instanceof Error ? (error.stack ?? error.message) : error;
    const lines = [
      `${id} failed ${seconds} s: ${title}`,
      indented(said),
      indented(await stateOf(lab, namespace)),
    ];
    return {lines: [...lines, ...figures], hasPassed: false, seconds};
  }
}

function secondsSince(began: number): number {
  return Math.round((performance.now() - began) / 1_000);
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
