/**
 * The configuration of scheduled backups, `config/backup.json`: which databases are backed up,
 * when, by which server, and how many archives are kept.
 *
 * Each field of a database's own section that is absent is inherited from `defaults`, and from the
 * built-in values behind them, field by field. `null` takes an inherited time window, tier table or
 * rate limit away. The whole document is checked before any of it is used.
 * Source: docs/backup.md.
 */
import {cronFault} from './cron.ts';
import {
  flag,
  group,
  integer,
  named,
  numberFrom,
  oneOf,
  orNone,
  refused,
  text,
} from './document-checks.ts';
import type {Retention} from './retention.ts';
import {minuteOfDay, type TimeWindow} from './time-window.ts';

export interface BackupDocument {
  /** The switch for all databases. */
  readonly enabled: boolean;
  /** A path below the root of the server; neither absolute nor with `..`. */
  readonly backupDirectory: string;
  readonly defaults: BackupPlan;
  /** Plans of databases with a section of their own; nobody checks whether they exist. */
  readonly databases: ReadonlyMap<string, BackupPlan>;
}

/** How one database is backed up, everything that it inherits filled in. */
export interface BackupPlan {
  readonly enabled: boolean;
  /** `$leader`, `*` for every server, or the name of a server. */
  readonly runOnServer: string;
  readonly schedule: Schedule;
  readonly retention: Retention;
  readonly compressionLevel: number;
  readonly compressionThreads: number;
  /** Undefined: as fast as it goes. */
  readonly maxMBPerSecond: number | undefined;
}

export interface Schedule {
  readonly trigger:
    | {readonly kind: 'frequency'; readonly minutes: number}
    | {readonly kind: 'cron'; readonly expression: string};
  readonly window: TimeWindow | undefined;
}

export const backupDocumentName = 'backup.json';
export const backupDirectoryDefault = './backups';
export const compressionLevelDefault = 1;
export const compressionThreadsDefault = 2;
const documentVersion = 1;

const planFields = group({
  enabled: flag,
  runOnServer: text(value => (value === '' ? 'must name a server, $leader or *' : undefined)),
  schedule: group({
    type: oneOf('frequency', 'cron'),
    frequencyMinutes: integer(1, 525_600),
    expression: text(cronFault),
    timeWindow: orNone(group({start: text(timeFault), end: text(timeFault)})),
  }),
  retention: group({
    maxFiles: integer(1, 10_000),
    tiered: orNone(
      group({
        hourly: integer(0, 1_000),
        daily: integer(0, 1_000),
        weekly: integer(0, 1_000),
        monthly: integer(0, 1_000),
        yearly: integer(0, 1_000),
      }),
    ),
  }),
  compressionLevel: integer(0, 9),
  compressionThreads: integer(1, 16),
  maxMBPerSecond: orNone(numberFrom(0.01, 1_000_000)),
});

const documentFields = group({
  version: integer(documentVersion, documentVersion),
  enabled: flag,
  backupDirectory: text(directoryFault),
  defaults: planFields,
  databases: named((name, at) => {
    if (name === '' || /[/\\]/.test(name)) throw refused(at, 'is no name of a database');
  }, planFields),
});

type PlanFields = ReturnType<typeof planFields>;

/** @throws {Refusal} `argument`, naming the field that is wrong. */
export function readBackupDocument(value: unknown): BackupDocument {
  const given = documentFields(value, '');
  const defaults = given.defaults ?? {};
  const own = [...(given.databases ?? new Map<string, PlanFields>())].map(
    ([name, fields]): [string, BackupPlan] => [
      name,
      planOf([fields, defaults], `databases.${name}`),
    ],
  );
  return {
    enabled: given.enabled ?? true,
    backupDirectory: given.backupDirectory ?? backupDirectoryDefault,
    defaults: planOf([defaults], 'defaults'),
    databases: new Map(own),
  };
}

export function planFor(document: BackupDocument, database: string): BackupPlan {
  return document.databases.get(database) ?? document.defaults;
}

/** Why a directory of archives cannot be of that name; undefined: it can. */
export function directoryFault(directory: string): string | undefined {
  if (directory === '') return 'must name a directory';
  if (directory.includes('\0')) return 'must not hold a NUL character';
  if (/^([/\\]|[A-Za-z]:)/.test(directory)) {
    return `must be relative to the root of the server, and '${directory}' is absolute`;
  }
  if (directory.split(/[/\\]/).includes('..')) {
    return `must lie below the root of the server, and '${directory}' leads out of it by ..`;
  }
  return undefined;
}

/** @param layers - From the one that decides first to the one that is asked last. */
function planOf(layers: readonly PlanFields[], at: string): BackupPlan {
  const inherited = <T>(pick: (layer: PlanFields) => T | undefined): T | undefined => {
    for (const layer of layers) {
      const found = pick(layer);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return {
    enabled: inherited(layer => layer.enabled) ?? true,
    runOnServer: inherited(layer => layer.runOnServer) ?? '$leader',
    schedule: {trigger: triggerOf(inherited, at), window: windowOf(layers, at)},
    retention: retentionOf(layers, inherited(layer => layer.retention?.maxFiles) ?? 10),
    compressionLevel: inherited(layer => layer.compressionLevel) ?? compressionLevelDefault,
    compressionThreads: inherited(layer => layer.compressionThreads) ?? compressionThreadsDefault,
    maxMBPerSecond: inherited(layer => layer.maxMBPerSecond) ?? undefined,
  };
}

function triggerOf(
  inherited: <T>(pick: (layer: PlanFields) => T | undefined) => T | undefined,
  at: string,
): Schedule['trigger'] {
  const type = inherited(layer => layer.schedule?.type) ?? 'frequency';
  if (type === 'frequency') {
    const minutes = inherited(layer => layer.schedule?.frequencyMinutes) ?? 60;
    return {kind: 'frequency', minutes};
  }
  const expression = inherited(layer => layer.schedule?.expression);
  if (expression !== undefined) return {kind: 'cron', expression};
  throw refused(`${at}.schedule.expression`, 'is missing: a schedule of the type cron needs it');
}

function windowOf(layers: readonly PlanFields[], at: string): TimeWindow | undefined {
  const above = throughNull(layers, layer => layer.schedule?.timeWindow);
  const start = firstOf(above, ({start: value}) => value);
  const end = firstOf(above, ({end: value}) => value);
  if (start === undefined && end === undefined) return undefined;
  if (start !== undefined && end !== undefined) {
    return {start: minuteOfDay(start) ?? 0, end: minuteOfDay(end) ?? 0};
  }
  const missing = start === undefined ? 'start' : 'end';
  throw refused(`${at}.schedule.timeWindow.${missing}`, 'is missing: a window needs both');
}

function retentionOf(layers: readonly PlanFields[], maxFiles: number): Retention {
  const above = throughNull(layers, layer => layer.retention?.tiered);
  if (above.length === 0) return {kind: 'count', maxFiles};
  return {
    kind: 'tiered',
    hourly: firstOf(above, ({hourly}) => hourly) ?? 24,
    daily: firstOf(above, ({daily}) => daily) ?? 7,
    weekly: firstOf(above, ({weekly}) => weekly) ?? 4,
    monthly: firstOf(above, ({monthly}) => monthly) ?? 12,
    yearly: firstOf(above, ({yearly}) => yearly) ?? 3,
  };
}

/** A group as the layers have it, down to the one that takes it away. */
function throughNull<T>(
  layers: readonly PlanFields[],
  pick: (layer: PlanFields) => T | null | undefined,
): readonly T[] {
  const found: T[] = [];
  for (const layer of layers) {
    const value = pick(layer);
    if (value === null) break;
    if (value !== undefined) found.push(value);
  }
  return found;
}

function firstOf<T, V>(layers: readonly T[], pick: (layer: T) => V | undefined): V | undefined {
  return layers.map(pick).find(value => value !== undefined);
}

function timeFault(value: string): string | undefined {
  return minuteOfDay(value) === undefined ? `must be of the form HH:mm, not '${value}'` : undefined;
}
