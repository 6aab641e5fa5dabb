/**
 * Ten worlds of the operator's simulation, and one of them twice; O2 is among what is checked. Ten
 * more stand in walk.more.test.ts, and as many as one likes are had by
 * `make simulate PROFILE=operator RUNS=2000`.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {seedsFrom, testWalks} from './testing-walks.ts';
import {walk} from './walk.ts';

testWalks(seedsFrom(1, 10));

test('a seed is one trace', async () => {
  const [one, other] = [await walk(4), await walk(4)];
  assert.equal(one.trace, other.trace);
  assert.notEqual(one.trace, (await walk(5)).trace);
});
