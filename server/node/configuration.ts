/**
 * Where settings come from, first wins: `--set`, environment variables in upper case with
 * underscores, environment variables named exactly as the key, lists of `-Dsvc.key=value` in
 * SVC_OPTS, SVC_SETTINGS or JAVA_OPTS, what was set while the server ran (kept-settings.ts),
 * `config/server-configuration.json`, the default.
 *
 * This is the only place that reads the environment or the configuration file. What a source
 * says wrongly stops the start: a sentence each with the key, the value and what is allowed.
 */
import {existsSync, readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {
  environmentName,
  type PassedOver,
  type RawSetting,
  resolveSettings,
  type Settings,
  type SettingSource,
} from '#server/base/setting-values.ts';
import {contradictions} from '#server/base/setting-checks.ts';
import {memoryDefaults, type ProcessMemory} from '#server/base/memory-defaults.ts';
import {processMemory} from '#server/platform/real/process-memory.ts';
import {settingKeys} from '#server/base/settings.ts';
import {settingsWithoutMeaning} from '#server/base/settings-without-meaning.ts';
import type {StartOptions} from '#server/commands/command.ts';
import {KeptSettings} from './kept-settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Configuration {
  readonly settings: Settings;
  /** Every reason not to start, in the order of the sources. */
  readonly refused: readonly Refusal[];
  /** What means nothing here and is passed over with a warning. */
  readonly passedOver: readonly PassedOver[];
  /** Where what is set while the server runs is kept; undefined: it is not. */
  readonly kept: KeptSettings | undefined;
}

/** Reads every source and resolves all settings. Does not throw for what a source says. */
export function readConfiguration(
  options: StartOptions,
  environment: Environment,
  memory: ProcessMemory = processMemory(),
): Configuration {
  const spoken: SettingSource[] = [
    {name: '--set', values: options.sets},
    {name: 'environment', values: upperCaseVariables(environment)},
    {name: 'environment', values: dottedVariables(environment)},
    {name: '-D option', values: defineOptions(environment)},
  ];
  const defaults = memoryDefaults(memory);
  const early = resolveSettings(spoken, defaults).settings;
  const directory = early.get('svc.server.configDirectory');
  const file = readFile(options.configPath, directory);
  const kept = options.configPath === undefined ? new KeptSettings(directory) : undefined;
  const changed: FileRead = kept === undefined ? {} : readValues(kept.path, () => kept.read());
  const files = [changed, file];
  const given = [...spoken, ...files.flatMap(({source}) => (source === undefined ? [] : [source]))];
  const resolved = resolveSettings(given, defaults);
  const {settings, refused} = podSettings(resolved.settings, environment);
  return {
    settings,
    passedOver: resolved.passedOver,
    refused: [
      ...resolved.refused,
      ...refused,
      ...files.flatMap(read => (read.refused === undefined ? [] : [read.refused])),
      ...contradictions(settings),
    ],
    kept,
  };
}

/** A pod is called as its host, which the system names in HOSTNAME (docs/settings.md). */
function podSettings(
  settings: Settings,
  environment: Environment,
): {readonly settings: Settings; readonly refused: readonly Refusal[]} {
  const isNamed = settings.origin('svc.server.name') !== 'default';
  if (isNamed || !settings.get('svc.ha.k8s')) return {settings, refused: []};
  const hostname = environment['HOSTNAME'] ?? '';
  if (hostname !== '') {
    return {settings: settings.with('svc.server.name', hostname, 'HOSTNAME'), refused: []};
  }
  const message = 'svc.ha.k8s is true and HOSTNAME is not set: give svc.server.name';
  return {settings, refused: [new Refusal('start.refused', message)]};
}

function upperCaseVariables(environment: Environment): Record<string, RawSetting | undefined> {
  const keys = [...settingKeys, ...Object.keys(settingsWithoutMeaning)];
  return Object.fromEntries(keys.map(key => [key, environment[environmentName(key)]]));
}

function dottedVariables(environment: Environment): Record<string, RawSetting | undefined> {
  const dotted = Object.entries(environment).filter(([name]) => name.startsWith('svc.'));
  return Object.fromEntries(dotted);
}

function defineOptions(environment: Environment): Record<string, RawSetting> {
  const values: Record<string, RawSetting> = {};
  for (const name of ['SVC_OPTS', 'SVC_SETTINGS', 'JAVA_OPTS']) {
    for (const word of (environment[name] ?? '').split(/\s+/)) {
      const match = /^-D(svc\.[^=]+)(?:=(.*))?$/.exec(word);
      const [, key, value] = match ?? [];
      if (key !== undefined && !(key in values)) values[key] = value ?? 'true';
    }
  }
  return values;
}

interface FileRead {
  readonly source?: SettingSource;
  readonly refused?: Refusal;
}

function readFile(given: string | undefined, directory: string): FileRead {
  const path = given ?? join(directory, 'server-configuration.json');
  if (given !== undefined && !existsSync(path)) {
    return {refused: new Refusal('start.refused', `the configuration file ${path} is not there`)};
  }
  return readValues(path, () => (existsSync(path) ? readFileSync(path, 'utf8') : undefined));
}

function readValues(path: string, read: () => string | undefined): FileRead {
  try {
    const text = read();
    if (text === undefined) return {};
    return {source: {name: resolve(path), values: fileValues(text, path)}};
  } catch (error) {
    if (error instanceof Refusal) return {refused: error};
    return {refused: new Refusal('start.refused', `cannot read ${path}: ${reasonOf(error)}`)};
  }
}

/** `{"configuration": {"ha.enabled": true}}`; keys with or without the prefix `svc.`. */
function fileValues(text: string, path: string): Record<string, RawSetting> {
  const document: unknown = JSON.parse(text);
  const body = isObject(document) ? (document['configuration'] ?? document) : document;
  if (!isObject(body)) {
    throw new Refusal('start.refused', `${path} is not of the form {"configuration": {...}}`);
  }
  const values: Record<string, RawSetting> = {};
  for (const [key, value] of Object.entries(body)) {
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw new Refusal('start.refused', `${path}: '${key}' is neither text, number nor boolean`);
    }
    values[key.startsWith('svc.') ? key : `svc.${key}`] = value;
  }
  return values;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
