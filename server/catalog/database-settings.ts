/**
 * Settings that a database has of its own, in place of the server's. Pure; see change.ts.
 *
 * Invariant: every entry of `catalog.settings` is a row of base/settings.ts with the scope
 * `database`, and its value is one that the row allows.
 */
import {Refusal} from '#server/base/errors.ts';
import {parseSetting, requireSettingKey} from '#server/base/setting-values.ts';
import {
  type SettingKey,
  settingRow,
  type settingRows,
  type SettingValue,
} from '#server/base/settings.ts';
import {DateTimeValue, type Value} from '#server/model/value.ts';
import {formatByPattern} from '#server/model/temporal-pattern.ts';
import type {Catalog} from './catalog.ts';
import {change, type SchemaChange} from './change.ts';

/** A setting that may differ by database. */
export type DatabaseSettingKey = {
  [Key in SettingKey]: (typeof settingRows)[Key] extends {readonly scope: 'database'} ? Key : never;
}[SettingKey];

const origin = 'for one database';
const patternKeys: ReadonlySet<SettingKey> = new Set(['svc.dateFormat', 'svc.dateTimeFormat']);

/** The database's own value; undefined where that of the server counts. Cost: one look-up. */
export function databaseSetting<Key extends DatabaseSettingKey>(
  catalog: Catalog,
  key: Key,
): SettingValue<Key> | undefined {
  // Checked when it was set, and only then does it get into the catalog.
  return catalog.settings.get(key) as SettingValue<Key> | undefined;
}

/** @throws {Refusal} `setting.unknown`; `setting.value` for a setting of the server. */
export function requireDatabaseSetting(written: string): DatabaseSettingKey {
  const key = requireSettingKey(written, origin);
  if (isDatabaseSetting(key)) return key;
  throw new Refusal(
    'setting.value',
    `setting '${key}' belongs to the server: it cannot differ by database`,
    {detail: {key}},
  );
}

function isDatabaseSetting(key: SettingKey): key is DatabaseSettingKey {
  return settingRow(key)?.scope === 'database';
}

/**
 * Sets one setting of the database; null gives it back to the server.
 *
 * @throws {Refusal} `setting.value`, `argument` for a pattern of dates.
 */
export function setDatabaseSetting(
  catalog: Catalog,
  key: DatabaseSettingKey,
  value: Value,
): SchemaChange {
  const settings = new Map(catalog.settings);
  if (value === null) settings.delete(key);
  else settings.set(key, checkedValue(key, value));
  return change(catalog, {settings});
}

function checkedValue(key: SettingKey, value: Value): Value {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    throw new Refusal('setting.value', `setting '${key}' takes a text, a number or a boolean`);
  }
  const parsed = parseSetting(key, value, origin) as string | number | boolean;
  if (patternKeys.has(key)) formatByPattern(new DateTimeValue(0, 0, 'second'), String(parsed));
  return parsed;
}
