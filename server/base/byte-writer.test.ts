/** What a run of bytes says of numbers. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ByteWriter} from './byte-writer.ts';

function digitsOf(integer: number): string {
  const out = new ByteWriter(1);
  out.digits(integer);
  return Buffer.from(out.bytes.subarray(0, out.length)).toString();
}

test('whole numbers are written as JavaScript prints them, up to the largest safe one', () => {
  const edges = [0, 9, 10, 2 ** 31 - 1, 2 ** 31, 999_999_999, 1e9, 1e9 + 1, 2e18 / 1e3, 1e15];
  const lengths = Array.from({length: 16}, (_, digits) => [10 ** digits - 1, 10 ** digits]).flat();
  for (const integer of [...edges, ...lengths, Number.MAX_SAFE_INTEGER]) {
    if (!Number.isSafeInteger(integer)) continue;
    assert.equal(digitsOf(integer), String(integer));
    assert.equal(digitsOf(-integer), integer === 0 ? '0' : String(-integer));
  }
});
