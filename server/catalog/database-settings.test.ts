/** Settings of one database: which may be set, with what, and that null gives them back. */
import {declaredFamilies} from './index-families.ts';
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import {Catalog} from './catalog.ts';
import {databaseSetting, requireDatabaseSetting, setDatabaseSetting} from './database-settings.ts';
import {CatalogEncoder, decodeCatalog} from './encode.ts';

function refusal(key: string, value: Value): RefusalCode | undefined {
  try {
    setDatabaseSetting(new Catalog(), requireDatabaseSetting(key), value);
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
  return undefined;
}

const refused = [
  // key                value              code               because
  ['svc.nosuch', 1, 'setting.unknown', 'there is no such setting'],
  ['svc.txSizeMax', 1, 'setting.value', 'it belongs to the server'],
  ['svc.txRetries', 'many', 'number.format', 'it counts'],
  ['svc.txRetries', -1, 'setting.value', 'it is out of range'],
  ['svc.txRetries', [1], 'setting.value', 'a list is no value of a setting'],
  ['svc.dateFormat', 'yyyy-QQ', 'argument', 'the letter means nothing in a pattern'],
  ['svc.dateFormat', "yyyy'", 'argument', 'its quote is left open'],
] as const;

for (const [key, value, code, because] of refused) {
  test(`${key} = ${JSON.stringify(value)} is refused: ${because}`, () => {
    assert.equal(refusal(key, value), code);
  });
}

test('a value stays with the catalog as its row reads it, and null gives it back', () => {
  const set = setDatabaseSetting(new Catalog(), 'svc.command.timeout', '30s').catalog;
  const stored = decodeCatalog(new CatalogEncoder().encode(set), declaredFamilies);
  assert.equal(databaseSetting(stored, 'svc.command.timeout'), 30_000);
  assert.equal(databaseSetting(stored, 'svc.txRetries'), undefined);
  const back = setDatabaseSetting(stored, 'svc.command.timeout', null).catalog;
  assert.equal(databaseSetting(back, 'svc.command.timeout'), undefined);
});
