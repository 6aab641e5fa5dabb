/** Ids are forgotten with time that has passed, not with time that a clock claims. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {createMemoryStore} from '#server/storage/memory/memory-store.ts';
import type {CommitOutcome} from '../commit.ts';
import {RequestIds} from './request-ids.ts';

const ageMsMax = 600_000;
const hour = 3_600_000;

test('a clock that jumps ahead forgets no request, time that passes does', async () => {
  let wall = 1_700_000_000_000;
  let monotonic = 0;
  const clock = {now: () => wall, monotonic: () => monotonic};
  const store = createMemoryStore();
  const ids = new RequestIds(() => store, clock, {ageMsMax, countMax: 100});
  let index = 0;
  const commit = async (id: string): Promise<void> => {
    index++;
    const batch = store.batch();
    for (const operation of ids.operationsFor({id, index, clock: wall})) {
      if (operation.kind === 'put') batch.put(operation.key, operation.value);
      else if (operation.kind === 'delete') batch.delete(operation.key);
    }
    store.write(batch);
    const outcome: Promise<CommitOutcome> = Promise.resolve({kind: 'committed', index});
    ids.began({id, index, clock: wall}, outcome);
    await outcome;
  };
  const isKnown = (id: string): boolean => ids.find(id) !== undefined;

  await commit('first');
  wall += hour;
  await commit('second');
  assert.ok(isKnown('first'), 'an hour passed on the wall alone');
  wall -= 2 * hour;
  monotonic += hour;
  await commit('third');
  assert.ok(isKnown('first'), 'nor is an id forgotten that looks young');
  wall += 3 * hour;
  await commit('fourth');
  assert.ok(!isKnown('first') && !isKnown('second'), 'an hour passed by both');
  assert.ok(isKnown('third') && isKnown('fourth'));
});
