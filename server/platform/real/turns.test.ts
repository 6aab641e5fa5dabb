/** Who goes on in which turn of the event loop. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Turns} from './turns.ts';

/** Has workers of so many milliseconds pause once each; answers who worked in each turn. */
async function workersByTurn(costs: readonly number[]): Promise<readonly number[][]> {
  let now = 0;
  let due: (() => void)[] = [];
  const turns = new Turns(
    () => now,
    task => void due.push(task),
  );
  const byTurn: number[][] = [];
  for (const [worker, cost] of costs.entries()) {
    void turns.next().then(() => {
      now += cost;
      byTurn.at(-1)?.push(worker);
    });
  }
  while (due.length > 0) {
    const tasks = due;
    due = [];
    byTurn.push([]);
    for (const task of tasks) {
      task();
      // What was resolved runs before the next task, as in the runtime.
      await new Promise(resolve => setImmediate(resolve));
    }
  }
  return byTurn.filter(workers => workers.length > 0);
}

test('those who take little go on in one turn, in the order of coming', async () => {
  assert.deepEqual(await workersByTurn([0, 0, 0, 0]), [[0, 1, 2, 3]]);
});

test('when a turn has been used the others wait for the next', async () => {
  assert.deepEqual(await workersByTurn([1, 1, 1, 1, 1, 1, 1]), [[0, 1, 2], [3, 4, 5], [6]]);
  assert.deepEqual(await workersByTurn([9, 0, 9, 9]), [[0], [1, 2], [3]]);
});
