/**
 * Twenty worlds of the operator's simulation, those that were wrong once, and one of them twice; O2
 * is among what is checked. More of them by `make simulate PROFILE=operator RUNS=2000`.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {walk} from './walk.ts';

const SEEDS = 20;
/** Worlds in which something was wrong once. */
const KEPT = [36, 43, 225, 254, 320, 1208, 1343, 1621];

for (const seed of [...Array.from({length: SEEDS}, (_, at) => at + 1), ...KEPT]) {
  test(`world ${seed}: every wish comes true or can be taken back`, async () => {
    const {violations, steps} = await walk(seed);
    const replay = `replay: make simulate PROFILE=operator SEED=${seed}`;
    assert.deepEqual(violations, [], `${steps.join('\n')}\n${replay}`);
  });
}

test('a seed is one trace', async () => {
  const [one, other] = [await walk(4), await walk(4)];
  assert.equal(one.trace, other.trace);
  assert.notEqual(one.trace, (await walk(5)).trace);
});
