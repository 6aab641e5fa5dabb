/** ONLY= chooses scenarios by their ids, and a wrong one is told before anything is built. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {chosen, scenarios} from './scenario-table.ts';

test('every scenario has an id of its own', () => {
  const ids = scenarios.map(({id}) => id);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^[SE]\d\d$/);
});

test('nothing chosen is all of them', () => {
  assert.deepEqual(chosen(scenarios, ''), scenarios);
});

test('ids stand between commas, and keep the order of the table', () => {
  const ids = chosen(scenarios, ' s13, S01,').map(({id}) => id);
  assert.deepEqual(ids, ['S01', 'S13']);
});

test('an id that is none is refused with those that are', () => {
  assert.throws(() => chosen(scenarios, 'S01,E99'), /no scenario E99; there are .*S01/);
});
