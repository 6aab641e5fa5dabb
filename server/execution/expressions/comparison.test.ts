/** Instants beside numbers: a number counts milliseconds, what counts none equals no instant. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {DateTimeValue, Decimal, Double, type Value} from '#server/model/value.ts';
import {areEqual, orderOf} from './comparison.ts';

const moment = new DateTimeValue(2, 0, 'millisecond');

const cases: readonly (readonly [Value, number | undefined])[] = [
  [2_000, 0],
  [2_001n, -1],
  [new Double(1_000), 1],
  [new Decimal(20_005n, 1), 0],
  [new Decimal(10n ** 40n, 0), -1],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
];

for (const [number, expected] of cases) {
  test(`an instant two seconds after 1970 beside case ${cases.findIndex(([value]) => value === number)}`, () => {
    assert.equal(orderOf(moment, number), expected);
    assert.equal(areEqual(number, moment), expected === 0);
  });
}
