/** Quantities of bytes, by a table. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {bytesOf} from './quantity.ts';

const table: readonly (readonly [string, number])[] = [
  ['0', 0],
  ['1000', 1_000],
  ['320Mi', 335_544_320],
  ['1.5Gi', 1_610_612_736],
  ['0.3k', 300],
  ['1.0001k', 1_001],
  ['2T', 2e12],
];

for (const [quantity, bytes] of table) {
  test(`${quantity} is ${bytes} bytes`, () => assert.equal(bytesOf(quantity), bytes));
}

for (const wrong of ['', 'Mi', '5 Mi', '-1', '5mi', '1e3', '5Xi']) {
  test(`'${wrong}' is no quantity`, () => assert.throws(() => bytesOf(wrong), RangeError));
}
