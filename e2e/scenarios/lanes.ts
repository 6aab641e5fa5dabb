/**
 * Which scenarios run beside each other: many of them wait for most of their time, for a tick, a
 * deadline or a pod, and each has a namespace of its own. An operator for one namespace and one for
 * all are never there at once, and who needs the nodes for itself gets them so.
 */
import type {Scenario} from './scenario.ts';

/** Runs all, so many at once at most, and resolves when the last has ended or `run` said stop. */
export async function runInLanes(
  scenarios: readonly Scenario[],
  lanes: number,
  run: (scenario: Scenario) => Promise<'on' | 'stop'>,
): Promise<void> {
  const waiting = [...scenarios];
  const running = new Set<Scenario>();
  let changed = Promise.withResolvers<void>();
  const lane = async (): Promise<void> => {
    while (waiting.length > 0) {
      const at = waiting.findIndex(one => [...running].every(other => maySitBeside(one, other)));
      const [scenario] = at < 0 ? [] : waiting.splice(at, 1);
      if (scenario === undefined) {
        await changed.promise;
        continue;
      }
      running.add(scenario);
      const next = await run(scenario);
      running.delete(scenario);
      if (next === 'stop') waiting.length = 0;
      changed.resolve();
      changed = Promise.withResolvers();
    }
  };
  await Promise.all(Array.from({length: lanes}, lane));
}

function maySitBeside(one: Scenario, other: Scenario): boolean {
  if (one.isAlone === true || other.isAlone === true) return false;
  if (one.operator === undefined || other.operator === undefined) return true;
  return one.operator === other.operator && one.operator !== 'sole';
}
