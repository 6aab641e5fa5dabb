/** The list of mutants fits the sources that they change. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import {mutants} from './mutants.ts';

test('each text occurs once in its file, and the replacement is another one', () => {
  for (const {file, text, replacement} of mutants) {
    const source = readFileSync(new URL(`../../../raft/${file}`, import.meta.url), 'utf8');
    assert.equal(source.split(text).length - 1, 1, `${file}: ${text}`);
    assert.notEqual(text, replacement);
  }
  assert.ok(mutants.length >= 60, `${mutants.length} mutants`);
});
