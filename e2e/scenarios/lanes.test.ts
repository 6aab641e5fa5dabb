/** Scenarios run beside each other, but for those that need something to themselves. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {runInLanes} from './lanes.ts';
import type {Scenario} from './scenario.ts';

const bare = (id: string, more: Partial<Scenario> = {}): Scenario => ({
  id,
  title: id,
  run: () => Promise.resolve(),
  ...more,
});

const ownFirst = bare('E02', {operator: 'own'});
const ownSecond = bare('E03', {operator: 'own'});
const plain = bare('S01');
const first = bare('E06', {operator: 'shared'});
const second = bare('E13', {operator: 'shared'});
const drains = bare('E12', {operator: 'shared', isAlone: true});
const helm = bare('E31', {operator: 'sole'});
const kustomize = bare('E32', {operator: 'sole'});
const scenarios = [helm, kustomize, ownFirst, ownSecond, plain, first, second, drains];

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

test('operators of two kinds never meet, nor does anybody who is alone', async () => {
  const told = (await trace(3)).join(' ');
  assert.equal(
    told,
    '+E31 +S01 -S01 -E31 +E32 -E32 +E02 +E03 -E03 -E02 +E06 +E13 -E13 -E06 +E12 -E12',
  );
});

test('one lane is one after the other, in the order of the table', async () => {
  assert.deepEqual(
    await trace(1),
    scenarios.flatMap(({id}) => [`+${id}`, `-${id}`]),
  );
});

test('nothing begins behind one that said stop', async () => {
  const told = await trace(1, helm);
  assert.deepEqual(told, ['+E31', '-E31']);
});
