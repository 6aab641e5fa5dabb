/**
 * Resolves settings: several sources of raw values, first wins, into one typed and checked set.
 *
 * Pure; `node/` reads flags, environment and files and hands their values over. An unknown key, a
 * wrong type or a value out of range becomes a Refusal that names the key, the value, what is
 * allowed and, for an unknown key, the nearest one that exists; all of them are reported at once.
 */
import {assert, unreachable} from './assert.ts';
import {Refusal} from './errors.ts';
import type {Ports, Range, SettingRow} from './setting-row.ts';
import {
  isSettingKey,
  type SettingKey,
  type SettingValue,
  settingKeys,
  settingRows,
} from './settings.ts';
import {settingsWithoutMeaning} from './settings-without-meaning.ts';

/** A value as a person or a file gave it. */
export type RawSetting = string | number | boolean;

/** One place that values come from, such as `--set` or the configuration file. */
export interface SettingSource {
  /** Shown to people as the origin of a value. */
  readonly name: string;
  readonly values: Readonly<Record<string, RawSetting | undefined>>;
}

type AnyValue = SettingValue<SettingKey>;

/** Values that hold on one machine where nothing is given. */
export type SettingDefaults = ReadonlyMap<SettingKey, number>;

interface Resolved {
  readonly value: AnyValue;
  readonly origin: string;
}

/** One line of `svc settings`: everything about a setting that may be shown. */
export interface SettingReport {
  readonly key: SettingKey;
  readonly type: SettingRow['type'];
  readonly value: RawSetting;
  readonly default: RawSetting;
  readonly origin: string;
  readonly scope: 'server' | 'database';
  readonly dynamic: boolean;
  readonly description: string;
}

/** Origin of a value that no source gave. */
const DEFAULT_ORIGIN = 'default';

/** What is shown in place of a secret. */
export const MASK = '*****';

/** An immutable set of values, one for every row of the table. */
export class Settings {
  readonly #resolved: ReadonlyMap<SettingKey, Resolved>;
  readonly #defaults: SettingDefaults;

  constructor(resolved: ReadonlyMap<SettingKey, Resolved>, defaults: SettingDefaults) {
    assert(resolved.size === settingKeys.length, 'every setting has a value');
    this.#resolved = resolved;
    this.#defaults = defaults;
  }

  /** The value in force: sizes in bytes, durations in milliseconds. */
  get<Key extends SettingKey>(key: Key): SettingValue<Key> {
    return this.#at(key).value as SettingValue<Key>;
  }

  /** Name of the source that gave the value, or `default`. */
  origin(key: SettingKey): string {
    return this.#at(key).origin;
  }

  /**
   * These settings with one value changed.
   *
   * @throws {Refusal} `setting.unknown`, `setting.value`.
   */
  with(key: string, raw: RawSetting, origin: string): Settings {
    const known = requireSettingKey(key, origin);
    const value = parseSetting(known, raw, origin);
    return new Settings(new Map(this.#resolved).set(known, {value, origin}), this.#defaults);
  }

  /** Everything that may be shown about every setting, secrets masked, in the table's order. */
  report(): readonly SettingReport[] {
    return settingKeys.map(key => {
      const row: SettingRow = settingRows[key];
      const {value, origin} = this.#at(key);
      const hidden = row.secret === true;
      return {
        key,
        type: row.type,
        value: hidden ? MASK : shown(row, value),
        default: hidden ? MASK : shown(row, this.#defaults.get(key) ?? row.default),
        origin,
        scope: row.scope ?? 'server',
        dynamic: row.dynamic ?? false,
        description: row.description,
      };
    });
  }

  #at(key: SettingKey): Resolved {
    const resolved = this.#resolved.get(key);
    assert(resolved !== undefined, 'every setting is resolved');
    return resolved;
  }
}

/** A setting of other systems that a source gave. */
export interface PassedOver {
  readonly key: string;
  /** Name of the source. */
  readonly origin: string;
  /** Why it means nothing here, and what to use. */
  readonly reason: string;
}

/**
 * Resolves every setting; of several sources that name a key, the first wins.
 *
 * A refused value leaves the key to the next source, so `settings` is whole in every case; a start
 * must look at `refused` first. `${svc.key}` in strings and paths stands for another setting.
 *
 * @param defaults - Stand in for those of the table on this machine (memory-defaults.ts).
 */
export function resolveSettings(
  sources: readonly SettingSource[],
  defaults: SettingDefaults = new Map(),
): {
  readonly settings: Settings;
  readonly refused: readonly Refusal[];
  /** What sources named that has no meaning here, in their order, each name once. */
  readonly passedOver: readonly PassedOver[];
} {
  const refused: Refusal[] = [];
  const passedOver = new Map<string, PassedOver>();
  const resolved = new Map<SettingKey, Resolved>();
  for (const source of sources) {
    for (const [key, raw] of Object.entries(source.values)) {
      if (raw === undefined) continue;
      if (Object.hasOwn(settingsWithoutMeaning, key)) {
        const reason = settingsWithoutMeaning[key] ?? '';
        if (!passedOver.has(key)) passedOver.set(key, {key, origin: source.name, reason});
        continue;
      }
      try {
        const known = requireSettingKey(key, source.name);
        const value = parseSetting(known, raw, source.name);
        if (!resolved.has(known)) resolved.set(known, {value, origin: source.name});
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refused.push(error);
      }
    }
  }
  for (const key of settingKeys) {
    const row: SettingRow = settingRows[key];
    const value = defaults.get(key) ?? row.default;
    if (!resolved.has(key)) resolved.set(key, {value, origin: DEFAULT_ORIGIN});
  }
  const settings = new Settings(substituted(resolved), defaults);
  return {settings, refused, passedOver: [...passedOver.values()]};
}

/** The environment variable of a setting: `svc.ha.enabled` is `SVC_HA_ENABLED`. */
export function environmentName(key: string): string {
  return key.toUpperCase().replaceAll('.', '_');
}

/**
 * The key that somebody wrote.
 *
 * @param origin - Where it was found, for the message.
 * @throws {Refusal} `setting.unknown` with the nearest key.
 */
export function requireSettingKey(key: string, origin: string): SettingKey {
  if (!isSettingKey(key)) throw unknownSetting(key, origin);
  return key;
}

/**
 * Reads one raw value as its row says.
 *
 * @param origin - Where the value was found, for the message.
 * @throws {Refusal} `setting.value` with what is allowed.
 */
export function parseSetting(key: SettingKey, raw: RawSetting, origin: string): AnyValue {
  const row: SettingRow = settingRows[key];
  const value = parsed(row, typeof raw === 'string' ? raw.trim() : raw);
  if (value !== undefined) return value;
  const given = row.secret ? MASK : String(raw);
  const reason = row.type === 'enum' ? reasonAgainst(row.refused, given) : '';
  const wantsNumber = row.type === 'integer' || row.type === 'size' || row.type === 'duration';
  throw new Refusal(
    wantsNumber && !/\d/.test(String(raw)) ? 'number.format' : 'setting.value',
    `Value '${given}' is not valid for setting '${key}' (${origin}): expected ` +
      `${allowed(row)}${reason}`,
    {detail: {key, value: given, origin, allowed: allowed(row)}},
  );
}

/** What to say to whoever wrote a word of another system. */
function reasonAgainst(
  refused: Readonly<Record<string, string>> | undefined,
  given: string,
): string {
  const word = given.toLowerCase();
  return refused !== undefined && Object.hasOwn(refused, word) ? `; ${refused[word]}` : '';
}

function parsed(row: SettingRow, raw: RawSetting): RawSetting | Ports | undefined {
  switch (row.type) {
    case 'boolean':
      return parsedBoolean(raw);
    case 'string':
    case 'path':
      return String(raw);
    case 'enum':
      return row.values.find(value => value === String(raw).toLowerCase());
    case 'integer':
      return within(row.range, parsedNumber(raw, {}));
    case 'size':
      return within(row.range, parsedNumber(raw, sizeUnits));
    case 'duration':
      return within(row.range, parsedDuration(raw, row.unit));
    case 'ports':
      return parsedPorts(raw);
    default:
      return unreachable(row);
  }
}

function parsedBoolean(raw: RawSetting): boolean | undefined {
  const text = String(raw).toLowerCase();
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

const sizeUnits: Readonly<Record<string, number>> = {
  b: 1,
  k: 2 ** 10,
  kb: 2 ** 10,
  m: 2 ** 20,
  mb: 2 ** 20,
  g: 2 ** 30,
  gb: 2 ** 30,
  t: 2 ** 40,
  tb: 2 ** 40,
};

const durationUnits: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A whole number with one of `units` behind it, or none. */
function parsedNumber(
  raw: RawSetting,
  units: Readonly<Record<string, number>>,
): number | undefined {
  const match = /^(-?\d+)\s*([a-z]*)$/.exec(String(raw).toLowerCase());
  if (!match) return undefined;
  const [, digits = '', unit = ''] = match;
  const factor = unit === '' ? 1 : Object.hasOwn(units, unit) ? units[unit] : undefined;
  return factor === undefined ? undefined : Number(digits) * factor;
}

function parsedDuration(raw: RawSetting, unit: 'milliseconds' | 'seconds'): number | undefined {
  const bare = parsedNumber(raw, {});
  if (bare !== undefined) return unit === 'seconds' ? bare * 1_000 : bare;
  return parsedNumber(raw, durationUnits);
}

function parsedPorts(raw: RawSetting): Ports | undefined {
  const match = /^(\d{1,5})(?:\s*-\s*(\d{1,5}))?$/.exec(String(raw));
  if (!match) return undefined;
  const from = Number(match[1]);
  const to = Number(match[2] ?? match[1]);
  return from <= to && to <= 65_535 ? {from, to} : undefined;
}

function within([min, max]: Range, value: number | undefined): number | undefined {
  if (value === undefined || !Number.isSafeInteger(value)) return undefined;
  return value >= min && value <= max ? value : undefined;
}

/** What a row accepts, in words. */
function allowed(row: SettingRow): string {
  switch (row.type) {
    case 'boolean':
      return 'true or false';
    case 'string':
    case 'path':
      return 'a text';
    case 'enum':
      return `one of ${row.values.join(', ')}`;
    case 'integer':
      return `a whole number from ${row.range.join(' to ')}`;
    case 'size':
      return `a size such as 64MB, from ${row.range.join(' to ')} bytes`;
    case 'duration':
      return `a time in ${row.unit}, or such as 30s, from ${row.range.join(' to ')} ms`;
    case 'ports':
      return 'a port from 0 to 65535, or a range such as 2480-2489';
    default:
      return unreachable(row);
  }
}

/** A value as its setting would be written. */
function shown(row: SettingRow, value: AnyValue): RawSetting {
  if (typeof value === 'object') {
    return value.from === value.to ? String(value.from) : `${value.from}-${value.to}`;
  }
  return row.type === 'duration' && row.unit === 'seconds' ? Number(value) / 1_000 : value;
}

/** Replaces `${svc.key}` in texts by the value of that setting; defaults nest one level deep. */
function substituted(resolved: ReadonlyMap<SettingKey, Resolved>): Map<SettingKey, Resolved> {
  const result = new Map<SettingKey, Resolved>();
  for (const [key, {value, origin}] of resolved) {
    const replaced =
      typeof value !== 'string'
        ? value
        : value.replace(/\$\{([^}]*)\}/g, (text, name: string) => {
            const other = isSettingKey(name) ? resolved.get(name)?.value : undefined;
            return typeof other === 'string' ? other : text;
          });
    result.set(key, {value: replaced, origin});
  }
  return result;
}

function unknownSetting(key: string, origin: string): Refusal {
  if (Object.hasOwn(settingsWithoutMeaning, key)) {
    const reason = settingsWithoutMeaning[key];
    const message = `Setting '${key}' (${origin}) has no meaning here: ${reason}`;
    return new Refusal('setting.unknown', message, {detail: {key, origin}});
  }
  const nearest = nearestKey(key);
  return new Refusal(
    'setting.unknown',
    `Unknown setting '${key}' (${origin}): did you mean '${nearest}'?`,
    {detail: {key, origin, nearest}},
  );
}

/** The existing key with the least edit distance to `key`. */
function nearestKey(key: string): SettingKey {
  const wanted = key.slice(0, 100).toLowerCase();
  let nearest = settingKeys[0];
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of settingKeys) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < least) [nearest, least] = [candidate, distance];
  }
  assert(nearest, 'the table of settings is not empty');
  return nearest;
}

/** Levenshtein distance; O(a.length * b.length) time, O(b.length) memory. */
function editDistance(a: string, b: string): number {
  let above = Array.from({length: b.length + 1}, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const deletion = (above[column] ?? 0) + 1;
      const insertion = (current[column - 1] ?? 0) + 1;
      current.push(Math.min(substitution, deletion, insertion));
    }
    above = current;
  }
  return above[b.length] ?? 0;
}
