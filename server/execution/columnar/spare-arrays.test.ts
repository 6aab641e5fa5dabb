/** Spare arrays: never in two hands, made again only where none waits, and few of them kept. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {SpareArrays} from './spare-arrays.ts';

test('who takes while others hold gets an array of his own', () => {
  const spare = new SpareArrays(2, () => new Float64Array(8));
  const [first, second] = [spare.take(), spare.take()];
  assert.notEqual(first, second);
  spare.give(first);
  assert.equal(spare.take(), first);
  assert.ok(![first, second].includes(spare.take()));
});

test('no more wait than was said', () => {
  const spare = new SpareArrays(2, () => new Float64Array(8));
  const held = Array.from({length: 5}, () => spare.take());
  for (const numbers of held) spare.give(numbers);
  const again = Array.from({length: 5}, () => spare.take());
  assert.equal(again.filter(numbers => held.includes(numbers)).length, 2);
});
