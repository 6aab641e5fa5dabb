/** Turns of a fair queue: a party that floods it waits behind itself alone. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {FairQueue} from './fair-queue.ts';

function filled(...items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const item of items) queue.push(item.slice(0, 1), item);
  return queue;
}

test('parties take turns, each in the order of its arrival', () => {
  const queue = filled('a1', 'a2', 'a3', 'b1', 'c1', 'b2');
  const order = Array.from({length: 6}, () => queue.shift());
  assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  assert.equal(queue.shift(), undefined);
});

test('a party that may not have its turn is passed over and stays first', () => {
  const queue = filled('a1', 'b1', 'a2');
  assert.equal(
    queue.shift(party => party !== 'a'),
    'b1',
  );
  assert.equal(queue.shift(), 'a1');
});

test('who waits most gives way to who waits less, the newest first', () => {
  const queue = filled('a1', 'a2', 'a3');
  assert.equal(queue.displace('b'), 'a3');
  queue.push('b', 'b1');
  assert.equal(queue.displace('b'), undefined, 'nobody waits for two more');
  assert.equal(queue.displace('a'), undefined);
  assert.equal(queue.size, 3);
});

test('what is taken out has no turn', () => {
  const queue = filled('a1', 'a2');
  assert.ok(queue.remove('a', 'a1'));
  assert.ok(!queue.remove('a', 'a1'));
  assert.equal(queue.shift(), 'a2');
  assert.equal(queue.size, 0);
});
