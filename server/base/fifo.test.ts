/** A queue against a plain array, whatever is put in and taken out. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Fifo} from './fifo.ts';

test('items leave in the order in which they came', () => {
  const fifo = new Fifo<number>();
  const plain: number[] = [];
  for (let i = 0; i < 20_000; i++) {
    fifo.push(i);
    plain.push(i);
    // Now it grows, now it empties.
    if (i % 3000 < 1500 ? i % 3 === 0 : true) {
      assert.equal(fifo.first, plain[0]);
      assert.equal(fifo.shift(), plain.shift());
    }
    assert.equal(fifo.length, plain.length);
  }
  assert.deepEqual([...fifo], plain);
  assert.deepEqual(fifo.takeAll(), plain);
  assert.equal(fifo.shift(), undefined);
  assert.equal(fifo.length, 0);
});
