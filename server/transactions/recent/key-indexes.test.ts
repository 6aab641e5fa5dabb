/** What was touched last by which commit, beside a plain map that forgets nothing. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {SeededRandom} from '#server/testing/property/seeded-random.ts';
import {KeyIndexes} from './key-indexes.ts';

test('keys are known as long as somebody may ask, and then let go', () => {
  const random = new SeededRandom(7);
  const keys = new KeyIndexes();
  const all = new Map<string, number>();
  let floor = 0;
  for (let index = 1; index <= 30_000; index += 1) {
    const key = `key ${random.below(4_000)}`;
    keys.set(key, index);
    all.set(key, index);
    // At times an old snapshot keeps everything, at times there is none but the newest.
    const kept = index % 10_000 < 7_000 ? 9_000 : 10;
    if (index - floor > kept) floor = index - kept;
    keys.forgetThrough(floor);
    const since = floor + random.below(index - floor + 1);
    const asked = `key ${random.below(5_000)}`;
    assert.equal(keys.isBehind(asked, since), (all.get(asked) ?? 0) > since, `at ${index}`);
    if (index % 3_000 !== 0) continue;
    const expected = [...all].filter(([, last]) => last > since).map(([one]) => one);
    assert.deepEqual([...new Set(keys.behind(since))].toSorted(), expected.toSorted());
  }
  assert.ok(keys.size < 5_000, `${keys.size} keys are kept for ten commits`);
});

test('of many keys there are few generations, and one commit may be split between two', () => {
  const keys = new KeyIndexes();
  for (let at = 0; at < 2_000; at += 1) keys.set(`${at}`, 5);
  assert.ok(keys.isBehind('3', 4) && keys.isBehind('1999', 4) && !keys.isBehind('3', 5));
  keys.forgetThrough(4);
  assert.equal(keys.size, 2_000);
  keys.forgetThrough(5);
  assert.ok(keys.size < 1_024);
});
