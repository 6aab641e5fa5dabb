/** Buffers of scans: never in two hands, never more than a few, whatever sizes are asked for. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {type RowBuffer, RowBuffers} from './row-buffers.ts';

test('a buffer is large enough and never handed out while it is held', () => {
  const step = fc.record({
    bytes: fc.integer({min: 1, max: 400_000}),
    /** Which of those that are held is given back first; none: one is only taken. */
    back: fc.option(fc.nat()),
  });
  fc.assert(
    fc.property(fc.array(step, {maxLength: 200}), steps => {
      const buffers = new RowBuffers();
      const held: RowBuffer[] = [];
      for (const {bytes, back} of steps) {
        if (back !== null && held.length > 0) {
          const [given] = held.splice(back % held.length, 1);
          if (given !== undefined) buffers.give(given);
        }
        const taken = buffers.take(bytes);
        const {length} = taken.bytes;
        assert.ok(length >= bytes && length <= Math.max(4 << 10, 2 * bytes));
        assert.ok(!held.some(other => other.bytes.buffer === taken.bytes.buffer));
        assert.equal(taken.view.buffer, taken.bytes.buffer);
        held.push(taken);
      }
    }),
  );
});

test('what was given back is handed out again, up to a few', () => {
  const buffers = new RowBuffers();
  const first = Array.from({length: 10}, () => buffers.take(60_000));
  for (const buffer of first) buffers.give(buffer);
  const again = Array.from({length: 10}, () => buffers.take(65_536));
  assert.equal(again.filter(buffer => first.includes(buffer)).length, 4);
  assert.equal(new Set(again).size, 10);
});

test('giving a buffer back twice is a bug, and named', () => {
  const buffers = new RowBuffers();
  const buffer = buffers.take(8_192);
  buffers.give(buffer);
  assert.throws(() => buffers.give(buffer), /given back once/);
});
