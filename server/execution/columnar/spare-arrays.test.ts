/** Arrays of a plan: never in the hands of two runs, and not made again for runs in a row. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {SpareArrays} from './spare-arrays.ts';

test('runs in a row have the same arrays, runs at once arrays of their own', () => {
  const spare = new SpareArrays(() => [new Float64Array(8)]);
  const first = spare.take();
  const beside = spare.take();
  assert.notEqual(first[0], beside[0]);
  spare.give(first);
  spare.give(beside);
  const next = spare.take();
  assert.ok(next === first || next === beside);
  assert.notEqual(spare.take(), next);
});
