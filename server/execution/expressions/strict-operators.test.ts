/** Equality without conversions: pairs of one class, and of none in common. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Decimal, Double, Rid, type Value} from '#server/model/value.ts';
import {isSame} from './strict-operators.ts';

const cases: readonly (readonly [Value, Value, boolean | null])[] = [
  [1, 1, true],
  [0, -0, true],
  [Number.NaN, Number.NaN, false],
  [Number.NaN, new Double(1), false],
  [1, new Double(1), true],
  [10n ** 18n, new Decimal(10n ** 18n, 0), true],
  [1, '1', false],
  [1, true, false],
  [1, null, null],
  [new Rid(1, 2), new Rid(1, 2), true],
  [new Rid(1, 2), 2, false],
  [2, new Rid(1, 2), false],
  [[1, null], [1, null], null],
  [[1, null], [2, null], false],
];

for (const [index, [left, right, expected]] of cases.entries()) {
  test(`pair ${index} is ${expected === null ? 'unknown' : expected ? 'the same' : 'not'}`, () => {
    assert.equal(isSame(left, right), expected);
    assert.equal(isSame(right, left), expected);
  });
}
