/** Instants beside numbers: a number counts milliseconds, what counts none equals no instant. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {DateTimeValue, Decimal, Double, type Value} from '#server/model/value.ts';
import {areEqual, orderOf} from './comparison.ts';

const moment = new DateTimeValue(2, 0, 'millisecond');

const cases: readonly (readonly [string, Value, number | undefined])[] = [
  ['the same', 2_000, 0],
  ['a later one', 2_001n, -1],
  ['a double', new Double(1_000), 1],
  ['a decimal', new Decimal(20_005n, 1), 0],
  ['a decimal beyond all time', new Decimal(10n ** 40n, 0), -1],
  ['NaN', Number.NaN, undefined],
  ['infinity', Number.POSITIVE_INFINITY, undefined],
];

for (const [name, number, expected] of cases) {
  test(`an instant beside a number of milliseconds: ${name}`, () => {
    assert.equal(orderOf(moment, number), expected);
    assert.equal(areEqual(number, moment), expected === 0);
  });
}
