/** ONLY= chooses scenarios by their ids, and a wrong one is told before anything is built. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {chosen, scenarios} from './scenario-table.ts';

test('every scenario has an id of its own', () => {
  const ids = scenarios.map(({id}) => id);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^[SE]\d\d$/);
});

test('nothing chosen is all but the further ones, and there are words for those and all', () => {
  const usual = chosen(scenarios, '');
  const further = chosen(scenarios, 'further');
  assert.deepEqual(chosen(scenarios, 'all'), scenarios);
  assert.equal(usual.length + further.length, scenarios.length);
  assert.ok(usual.every(({isFurther}) => isFurther === undefined));
});

test('what the operator promises is among what runs when nothing is chosen', () => {
  const ids = chosen(scenarios, '').map(({id}) => id);
  for (const number of [...range(0, 15), ...range(18, 25), 27, 28, 30]) {
    const id = `E${String(number).padStart(2, '0')}`;
    assert.ok(ids.includes(id), id);
  }
});

test('the page about the lab has a row for each, and names those that are left out', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/kubernetes/lab.md'), 'utf8');
  const rows = page.split('\n').filter(line => line.startsWith('| '));
  for (const {id} of scenarios) {
    assert.ok(
      rows.some(row => row.split('|')[1]?.includes(id)),
      id,
    );
  }
  const [, named = ''] = /ONLY=further +# .*: (.*)/.exec(page) ?? [];
  const further = chosen(scenarios, 'further').map(({id}) => id);
  assert.deepEqual(named.split(', ').toSorted(), further.toSorted());
});

function range(first: number, last: number): readonly number[] {
  return Array.from({length: last - first + 1}, (_, at) => first + at);
}

test('ids stand between commas, and keep the order of the table', () => {
  const ids = chosen(scenarios, ' s13, S01,').map(({id}) => id);
  assert.deepEqual(ids, ['S01', 'S13']);
});

test('an id that is none is refused with those that are', () => {
  assert.throws(() => chosen(scenarios, 'S01,E99'), /no scenario E99; there are .*S01/);
});
