/** What a sample says of all records. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {compareTotal} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import {summarize} from './property-summary.ts';

const many = (count: number, of: (at: number) => Value): Value[] =>
  Array.from({length: count}, (_value, at) => of(at));

test('a whole sample is exact', () => {
  const summary = summarize(
    many(100, at => (at % 4 === 0 ? null : at % 3)),
    100,
  );
  assert.deepEqual([summary.present, summary.distinct], [0.75, 3]);
  assert.deepEqual(summary.frequent.map(({value}) => value).toSorted(compareTotal), [0, 1, 2]);
  assert.deepEqual([summary.quantiles[0], summary.quantiles.at(-1)], [0, 2]);
});

test('values that are all different in the sample are taken to be different in all', () => {
  const {distinct, frequent} = summarize(
    many(400, at => at * 17),
    100_000,
  );
  assert.ok(Math.abs(distinct - 100_000) < 1, String(distinct));
  assert.deepEqual(frequent, []);
});

test('values that come again and again in the sample are about as many in all', () => {
  const {distinct} = summarize(
    many(400, at => at % 40),
    100_000,
  );
  assert.equal(distinct, 40);
});

test('a value that half of the records have stands out', () => {
  const {frequent} = summarize(
    many(400, at => (at % 2 === 0 ? 'usual' : `rare${at}`)),
    100_000,
  );
  assert.deepEqual(frequent, [{value: 'usual', share: 0.5}]);
});

test('values of all classes are put in one order; of none nothing is said', () => {
  const {quantiles} = summarize([3, 'a', true, null, 1], 5);
  assert.deepEqual(quantiles, [true, 1, 3, 'a']);
  assert.deepEqual(summarize([null, null], 2), {
    present: 0,
    distinct: 0,
    frequent: [],
    quantiles: [],
  });
});
