/** Every setting has a test that shows what it does, and that names it. */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {settingKeys} from '#server/base/settings.ts';
import {effects} from './effect-rows.ts';

const repository = join(import.meta.dirname, '../../..');

test('every setting has one row, and no row is of something else', () => {
  const shown = Object.values(effects).flatMap(rows => Object.keys(rows));
  assert.deepEqual(shown.sort(), [...settingKeys].sort());
});

for (const [file, rows] of Object.entries(effects)) {
  test(`${file} names the settings whose effect it shows`, () => {
    const path = join(repository, file);
    assert.ok(existsSync(path));
    const text = readFileSync(path, 'utf8');
    for (const key of Object.keys(rows)) {
      const name = key.replaceAll('.', String.raw`\\*\.`);
      assert.match(text, new RegExp(`${name}(?![A-Za-z.])`), `${key} does not stand in ${file}`);
    }
  });
}
