/** Lists above the lowest level against a map of arrays: added, filled, removed and taken again. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {UpperLinks} from './upper-links.ts';

const linksMax = 5;

test('lists hold what was put into them, whatever was removed before', () => {
  const step = fc.record({
    node: fc.nat(20),
    act: fc.constantFrom('add', 'remove', 'append', 'set'),
    level: fc.integer({min: 1, max: 4}),
    link: fc.nat(1_000),
  });
  fc.assert(
    fc.property(fc.array(step, {maxLength: 200}), steps => {
      const links = new UpperLinks(linksMax);
      const naive = new Map<number, number[][]>();
      for (const {node, act, level, link} of steps) {
        const lists = naive.get(node);
        const place = links.placeOf(node, level);
        const list = lists?.[level - 1];
        assert.equal(place === undefined, list === undefined);
        if (act === 'add' && lists === undefined) {
          links.add(node, level);
          naive.set(
            node,
            Array.from({length: level}, () => []),
          );
        } else if (act === 'remove') {
          links.remove(node);
          naive.delete(node);
        } else if (act === 'append' && list !== undefined && place !== undefined) {
          assert.equal(links.append(place, link), list.length < linksMax);
          if (list.length < linksMax) list.push(link);
        } else if (act === 'set' && list !== undefined && place !== undefined) {
          links.set(place, [link, link + 1], 2);
          list.splice(0, list.length, link, link + 1);
        }
      }
      assert.deepEqual(new Set(links.nodes()), new Set(naive.keys()));
      assert.equal(links.size, naive.size);
      for (const [node, lists] of naive) {
        assert.equal(links.levelsOf(node), lists.length);
        for (const [at, list] of lists.entries()) {
          const place = links.placeOf(node, at + 1) ?? 0;
          const end = place + 1 + (links.words[place] ?? 0);
          assert.deepEqual([...links.words.subarray(place + 1, end)], list);
        }
      }
    }),
    {numRuns: 300, seed: 31},
  );
});

test('a list that is longer than there is room for is cut', () => {
  const links = new UpperLinks(2);
  links.add(7, 1);
  const place = links.placeOf(7, 1) ?? 0;
  links.set(place, [1, 2, 3], 3);
  assert.deepEqual([...links.words.subarray(place, place + 3)], [2, 1, 2]);
});
