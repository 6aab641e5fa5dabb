/** Sets of byte strings come out even in any order, and not when a byte of one moves. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Balance} from './balance.ts';

const items = fc.array(fc.uint8Array({minLength: 1, maxLength: 12}), {minLength: 1, maxLength: 40});

function weighed(due: readonly Uint8Array[], found: readonly Uint8Array[]): boolean {
  const balance = new Balance();
  for (const item of due) balance.begin().bytes(item, 0, item.length).due();
  for (const item of found) balance.begin().bytes(item, 0, item.length).found();
  return balance.isEven;
}

test('the same items in another order come out even', () => {
  fc.assert(
    fc.property(items, fc.nat(), (list, turn) => {
      const cut = turn % list.length;
      assert.ok(weighed(list, [...list.slice(cut), ...list.slice(0, cut)]));
    }),
  );
});

test('an item more, less or changed in one bit does not', () => {
  fc.assert(
    fc.property(items, fc.nat(), fc.nat({max: 7}), (list, turn, bit) => {
      const at = turn % list.length;
      const item = list[at] as Uint8Array;
      const changed = Uint8Array.from(item);
      changed[turn % item.length] = (changed[turn % item.length] as number) ^ (1 << bit);
      assert.ok(!weighed(list, list.with(at, changed)));
      assert.ok(!weighed(list, list.toSpliced(at, 1)));
      assert.ok(!weighed(list, [...list, item]));
    }),
  );
});

test('neither do two items that swap their ends', () => {
  for (let one = 0; one < 64; one++) {
    for (let other = one + 1; other < 64; other++) {
      const found = [Uint8Array.of(1, other), Uint8Array.of(2, one)];
      assert.ok(!weighed([Uint8Array.of(1, one), Uint8Array.of(2, other)], found));
    }
  }
});
