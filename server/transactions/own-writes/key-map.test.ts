/** The map of a large write set against the one of the language. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {SeededRandom} from '#server/testing/property/seeded-random.ts';
import {KeyMap} from './key-map.ts';

/** Far beyond the size at which the map is divided. */
const operations = 150_000;

test('small and large, it holds what a Map holds', () => {
  const random = new SeededRandom(7);
  const map = new KeyMap<number>();
  const twin = new Map<string, number>();
  for (let at = 0; at < operations; at += 1) {
    const key = `\u0003${random.below(90_000).toString(36).padStart(5, '0')}\u0000`;
    if (random.below(4) === 0) {
      map.delete(key);
      twin.delete(key);
    } else {
      map.set(key, at);
      twin.set(key, at);
    }
    assert.equal(map.size, twin.size);
    if (at % 1_000 === 0) assert.equal(map.get(key), twin.get(key));
    // Up to here the order is that of the insertions.
    if (at === 20_000) assert.deepEqual([...map.keys()], [...twin.keys()]);
  }
  assert.ok(map.size > 40_000);
  assert.deepEqual([...map.keys()].sort(), [...twin.keys()].sort());
  assert.deepEqual(
    [...map.keys()].map(key => map.get(key)),
    [...map.values()],
  );
  for (const [key, value] of twin) assert.ok(map.has(key) && map.get(key) === value);
});
