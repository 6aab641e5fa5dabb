/** Scenarios run beside each other, but for those that need something to themselves. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {runInLanes} from './lanes.ts';
import type {Scenario, SharedThing} from './scenario.ts';

function scenario(id: string, uses: readonly string[], alone: readonly SharedThing[]): Scenario {
  return {id, title: id, needs: uses, alone, run: () => Promise.resolve()};
}

const operator = ['operator/main.ts'];
const restsAlone = scenario('E02', operator, ['operator']);
const plain = scenario('S01', [], []);
const first = scenario('E06', operator, []);
const second = scenario('E13', operator, []);
const drains = scenario('E12', operator, ['nodes']);
const scenarios = [restsAlone, plain, first, second, drains];

/** What began and ended; the one that began last ends first. */
async function trace(lanes: number, stopBehind?: Scenario): Promise<readonly string[]> {
  const told: string[] = [];
  const open: (() => void)[] = [];
  let isOver = false;
  const all = runInLanes(scenarios, lanes, async ({id}) => {
    told.push(`+${id}`);
    await new Promise<void>(resolve => open.push(resolve));
    told.push(`-${id}`);
    return id === stopBehind?.id ? 'stop' : 'on';
  }).then(() => {
    isOver = true;
  });
  while (!isOver) {
    open.pop()?.();
    await new Promise(resolve => setImmediate(resolve));
  }
  await all;
  return told;
}

test('who needs something alone runs beside those alone who do not use it', async () => {
  const told = (await trace(3)).join(' ');
  assert.equal(told, '+E02 +S01 -S01 -E02 +E06 +E13 -E13 -E06 +E12 -E12');
});

test('one lane is one after the other, in the order of the table', async () => {
  assert.deepEqual(
    await trace(1),
    scenarios.flatMap(({id}) => [`+${id}`, `-${id}`]),
  );
});

test('nothing begins behind one that said stop', async () => {
  assert.deepEqual(await trace(1, plain), ['+E02', '-E02', '+S01', '-S01']);
});
