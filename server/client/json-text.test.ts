/** JSON texts keep 64-bit integers and everything else. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {parseJson, printJson} from './json-text.ts';

test('every 64-bit integer comes back as it was', () => {
  fc.assert(
    fc.property(fc.bigInt({min: -(2n ** 63n), max: 2n ** 63n - 1n}), value => {
      const [back] = parseJson(printJson([value])) as [number | bigint];
      assert.equal(BigInt(back), value);
      assert.equal(typeof back, Number.isSafeInteger(Number(value)) ? 'number' : 'bigint');
    }),
  );
});

test('a text that is read and printed again means the same', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const text = JSON.stringify(value);
      assert.deepEqual(JSON.parse(printJson(parseJson(text))), JSON.parse(text));
    }),
  );
});
