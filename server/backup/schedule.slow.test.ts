/**
 * When backups come due and which archives stay: tables of the cases that are easily wrong, and 400
 * days of four databases against twins that count minute by minute and look at every archive anew.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {archiveName, archiveTime} from './archive-name.ts';
import {type BackupDocument, readBackupDocument, type Schedule} from './backup-document.ts';
import {cronFault} from './cron.ts';
import {nextRun} from './next-run.ts';
import {expired, type Retention} from './retention.ts';
import {Scheduler} from '#server/schedule/scheduler.ts';
import {BackupScheduler} from './scheduler.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

function cron(expression: string, window?: Schedule['window']): Schedule {
  return {trigger: {kind: 'cron', expression}, window};
}

function every(minutes: number, window?: Schedule['window']): Schedule {
  return {trigger: {kind: 'frequency', minutes}, window};
}

const night = {start: 22 * 60, end: 4 * 60};

const runs: readonly (readonly [string, Schedule, string, string, readonly string[]])[] = [
  ['every hour', every(60), 'UTC', '2026-03-01T10:20', ['2026-03-01T11:20', '2026-03-01T12:20']],
  [
    'an interval that meets its window only by waiting for it',
    every(1_440, {start: 120, end: 240}),
    'UTC',
    '2026-03-01T12:00',
    ['2026-03-03T02:00', '2026-03-04T02:00'],
  ],
  [
    'a window over midnight, both ends included',
    every(60, night),
    'UTC',
    '2026-03-01T02:00',
    ['2026-03-01T03:00', '2026-03-01T04:00', '2026-03-01T22:00', '2026-03-01T23:00'],
  ],
  ['day 29 in February', cron('0 0 0 29 2 ?'), 'UTC', '2026-01-01T00:00', ['2028-02-29T00:00']],
  [
    'days of the month or of the week, where both are named',
    cron('0 0 2 1 * MON'),
    'UTC',
    '2026-04-28T00:00',
    ['2026-05-01T02:00', '2026-05-04T02:00'],
  ],
  ['Sunday is 0', cron('0 0 2 ? * 0'), 'UTC', '2026-03-02T00:00', ['2026-03-08T02:00']],
  ['and 7', cron('0 0 2 ? * 7'), 'UTC', '2026-03-02T00:00', ['2026-03-08T02:00']],
  [
    'steps and ranges',
    cron('0 0/30 8-9 * * *'),
    'UTC',
    '2026-03-01T08:10',
    ['2026-03-01T08:30', '2026-03-01T09:00', '2026-03-01T09:30', '2026-03-02T08:00'],
  ],
  [
    'an hour that is skipped in spring moves to its end',
    cron('0 30 2 * * *'),
    'Europe/Berlin',
    '2026-03-28T12:00',
    ['2026-03-29T01:30', '2026-03-30T00:30'],
  ],
  [
    'an hour that is repeated in autumn counts once',
    cron('0 30 2 * * *'),
    'Europe/Berlin',
    '2026-10-24T12:00',
    ['2026-10-25T00:30', '2026-10-26T01:30'],
  ],
  [
    'moments outside of the window are passed over',
    cron('0 0 * * * *', {start: 120, end: 180}),
    'UTC',
    '2026-03-01T02:30',
    ['2026-03-01T03:00', '2026-03-02T02:00'],
  ],
  [
    'every second of a window of one minute',
    cron('* * * * * *', {start: 600, end: 600}),
    'UTC',
    '2026-03-01T10:01',
    ['2026-03-02T10:00'],
  ],
];

for (const [what, schedule, timeZone, from, expected] of runs) {
  test(`next run: ${what}`, () => {
    let at = Date.parse(`${from}:00Z`);
    for (const due of expected) {
      const next = nextRun(schedule, {before: at, now: at, timeZone});
      assert.equal(next === undefined ? next : new Date(next).toISOString(), `${due}:00.000Z`);
      at = Date.parse(`${due}:00Z`);
    }
  });
}

test('next run: never, where the expression does not meet its window', () => {
  const schedule = cron('0 0 12 * * *', {start: 60, end: 120});
  assert.equal(nextRun(schedule, {before: 0, now: 0, timeZone: 'UTC'}), undefined);
});

test('next run: what was missed is not made up for', () => {
  const now = 10.5 * minuteMs;
  assert.equal(nextRun(every(1), {before: 0, now, timeZone: 'UTC'}), 11 * minuteMs);
});

for (const [expression, expected] of [
  ['0 0 2 * *', /six fields/],
  ['0 0 2 * * * *', /six fields/],
  ['@daily', /six fields/],
  ['0 0 0 L * *', /day of month 'L'/],
  ['0 0 0 ? * 1#2', /day of week '1#2'/],
  ['H 0 0 * * *', /second 'H'/],
  ['61 0 0 * * *', /0-59/],
  ['0 0 0 31 2 *', /never comes due/],
  ['0 0 5-2 * * *', /range/],
  ['0 */0 * * * *', /0/],
  ['', /six fields/],
] as const) {
  test(`cron: '${expression}' is refused`, () => {
    assert.match(cronFault(expression) ?? 'accepted', expected);
  });
}

test('names of archives tell their moment, those of earlier releases too', () => {
  const at = Date.parse('2028-02-29T23:59:58.007Z');
  assert.equal(archiveName('my-db', at), 'my-db-backup-20280229-235958007.zip');
  assert.equal(archiveTime('my-db', 'my-db-backup-20280229-235958007.zip'), at);
  assert.equal(archiveTime('my-db', 'my-db-backup-20280229-235958.zip'), at - 7);
  for (const name of ['my-db-backup-20270229-000000.zip', 'db-backup-20280229-235958.zip', 'x']) {
    assert.equal(archiveTime('my-db', name), undefined, name);
  }
});

test('a database whose name begins as another keeps its own archives', () => {
  const name = archiveName('a-backup-b', 0);
  assert.equal(archiveTime('a', name), undefined);
});

/** ISO 8601 as people count it: the week of the year in which its Thursday lies. */
function isoWeek(at: number): string {
  const day = new Date(at);
  const thursday = new Date(at + (4 - (day.getUTCDay() || 7)) * dayMs);
  const year = thursday.getUTCFullYear();
  const days = Math.floor(
    (Date.UTC(year, thursday.getUTCMonth(), thursday.getUTCDate()) - Date.UTC(year, 0, 1)) / dayMs,
  );
  return `${year}-W${String(Math.floor(days / 7) + 1).padStart(2, '0')}`;
}

const tiers = {hourly: 13, daily: 10, monthly: 7, yearly: 4} as const;

/** Bucket by bucket, by the digits of dates. */
function naivelyKept(times: readonly number[], retention: Retention): Set<number> {
  const newestFirst = [...times].sort((left, right) => right - left);
  if (retention.kind === 'count') return new Set(newestFirst.slice(0, retention.maxFiles));
  const kept = new Set(newestFirst.slice(0, 1));
  const keep = (label: (at: number) => string, count: number): void => {
    const oldest = new Map(newestFirst.map(at => [label(at), at]));
    for (const at of [...oldest.values()].slice(0, count)) kept.add(at);
  };
  for (const [tier, digits] of Object.entries(tiers)) {
    const count = retention[tier as keyof typeof tiers];
    keep(at => new Date(at).toISOString().slice(0, digits), count);
  }
  keep(isoWeek, retention.weekly);
  return kept;
}

const ascending = (left: number, right: number): number => left - right;

function keptOf(times: readonly number[], retention: Retention): Set<number> {
  const kept = new Set(times);
  for (const {at} of expired(
    times.map(at => ({at})),
    retention,
  ))
    kept.delete(at);
  return kept;
}

test('ISO weeks: 53 of them in a long year, and days that belong to another year', () => {
  for (const [day, week] of [
    ['2026-12-31', '2026-W53'],
    ['2027-01-03', '2026-W53'],
    ['2027-01-04', '2027-W01'],
    ['2024-12-30', '2025-W01'],
    ['2021-01-03', '2020-W53'],
  ] as const) {
    assert.equal(isoWeek(Date.parse(day)), week);
  }
  const retention = {
    kind: 'tiered',
    hourly: 0,
    daily: 0,
    weekly: 2,
    monthly: 0,
    yearly: 0,
  } as const;
  const times = ['2026-12-27', '2026-12-28', '2027-01-01', '2027-01-03', '2027-01-04'].map(
    Date.parse,
  );
  const kept = [...keptOf(times, retention)].map(at => new Date(at).toISOString().slice(0, 10));
  assert.deepEqual(kept, ['2026-12-28', '2027-01-04']);
});

test('what is kept is what a twin keeps that looks at every bucket anew', () => {
  const count = fc.integer({min: 0, max: 5});
  const tiered = fc.record({
    kind: fc.constant('tiered' as const),
    hourly: count,
    daily: count,
    weekly: count,
    monthly: count,
    yearly: count,
  });
  const byNumber = fc.record({
    kind: fc.constant('count' as const),
    maxFiles: fc.integer({min: 1, max: 9}),
  });
  const start = Date.parse('2023-11-20');
  const times = fc.uniqueArray(fc.integer({min: 0, max: 1_200 * 24}), {maxLength: 60});
  fc.assert(
    fc.property(times, fc.oneof(tiered, byNumber), (hours, retention) => {
      const moments = hours.map(hour => start + hour * 3_600_000 + (hour % 50) * minuteMs);
      assert.deepEqual(
        [...keptOf(moments, retention)].sort(ascending),
        [...naivelyKept(moments, retention)].sort(ascending),
      );
    }),
    {numRuns: 300, seed: 29},
  );
});

const berlin = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/Berlin',
  weekday: 'short',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  hourCycle: 'h23',
});

interface WallClock {
  readonly weekday: string;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
}

function wallClock(at: number): WallClock {
  const parts = Object.fromEntries(berlin.formatToParts(at).map(({type, value}) => [type, value]));
  const number = (name: string): number => Number(parts[name]);
  const weekday = parts['weekday'] ?? '';
  return {weekday, day: number('day'), hour: number('hour'), minute: number('minute')};
}

const start = Date.parse('2031-12-15T00:00:00Z');
const days = 400;
const end = start + days * dayMs;
/** `visitor` is there for a part of the time. */
const visit = {from: start + 100 * dayMs, until: start + 300 * dayMs};

const document: BackupDocument = readBackupDocument({
  defaults: {retention: {tiered: {}}},
  databases: {
    hourly: {schedule: {frequencyMinutes: 60}},
    nights: {
      schedule: {
        type: 'cron',
        expression: '0 0 */2 * * *',
        timeWindow: {start: '22:00', end: '05:00'},
      },
      retention: {tiered: {hourly: 3, daily: 10, weekly: 6}},
    },
    mondays: {schedule: {type: 'cron', expression: '0 15 4 1 * MON'}, retention: {tiered: null}},
    visitor: {schedule: {frequencyMinutes: 45}, retention: {tiered: null, maxFiles: 7}},
    paused: {enabled: false},
  },
});

/** Whether the twin finds a minute due. No schedule names an hour that spring skips. */
const naivelyDue: Readonly<Record<string, (at: number, wall: WallClock) => boolean>> = {
  hourly: at => at > start && (at - start) % (60 * minuteMs) === 0,
  nights: (_, {hour, minute}) => minute === 0 && hour % 2 === 0 && (hour >= 22 || hour < 5),
  mondays: (_, {weekday, day, hour, minute}) =>
    hour === 4 && minute === 15 && (day === 1 || weekday === 'Mon'),
  visitor: at => at > visit.from && at < visit.until && (at - visit.from) % (45 * minuteMs) === 0,
};

/** A clock that stands until its only timer is due. */
class FakeTime {
  now = start;
  #timer: {readonly at: number; readonly task: () => void} | undefined;

  readonly clock = {now: () => this.now, monotonic: () => this.now};
  readonly timers = {
    after: (delayMs: number, task: () => void): (() => void) => {
      const timer = {at: this.now + delayMs, task};
      this.#timer = timer;
      return () => {
        if (this.#timer === timer) this.#timer = undefined;
      };
    },
  };

  /** Runs what comes due before `until`; `rest` lets promises go on, where there are any. */
  async run(until: number, rest: () => Promise<void> | undefined): Promise<void> {
    for (let timer = this.#timer; timer !== undefined && timer.at < until; timer = this.#timer) {
      this.#timer = undefined;
      this.now = timer.at;
      timer.task();
      const resting = rest();
      if (resting !== undefined) await resting;
    }
    this.now = until;
  }
}

/** Runs the scheduler over archives that are only names, and keeps what it logs. */
class FakeServer {
  readonly time = new FakeTime();
  readonly archives = new Map<string, string[]>();
  readonly told: string[] = [];
  databases: readonly string[] = ['hourly', 'nights', 'mondays', 'paused'];
  #made = 0;
  #rested = 0;
  readonly #jobs = new Scheduler(this.time);
  readonly #scheduler = new BackupScheduler({
    clock: this.time.clock,
    scheduler: this.#jobs,
    logger: {log: (level, event) => void this.told.push(`${level} ${event}`)},
    timeZone: () => 'Europe/Berlin',
    openDatabases: () => this.databases,
    runsHere: server => server === '$leader',
    backUp: database => {
      this.#made += 1;
      const name = archiveName(database, this.time.now);
      this.archives.set(database, [...(this.archives.get(database) ?? []), name]);
      return Promise.resolve(name);
    },
    rotate: (database, retention) => {
      const all = this.archives.get(database) ?? [];
      const known = all.map(name => ({name, at: archiveTime(database, name) ?? 0}));
      const gone = new Set(expired(known, retention).map(({name}) => name));
      this.archives.set(
        database,
        all.filter(name => !gone.has(name)),
      );
      return Promise.resolve([...gone]);
    },
  });

  use(given: BackupDocument | undefined): void {
    this.#scheduler.use(given);
  }

  async run(until: number): Promise<void> {
    await this.time.run(until, () => {
      if (this.#made === this.#rested) return undefined;
      this.#rested = this.#made;
      return new Promise(resolve => setImmediate(resolve));
    });
  }

  /** Databases come and go at the present moment. */
  have(databases: readonly string[]): void {
    this.databases = databases;
    this.#scheduler.look();
  }

  async end(): Promise<void> {
    await this.#jobs.end();
  }
}

test('400 days, a leap year, both changes of the clock, week 53: kept as by a twin', async () => {
  const server = new FakeServer();
  const residents = server.databases;
  server.use(document);
  await server.run(visit.from);
  server.have([...residents, 'visitor']);
  await server.run(visit.until);
  server.have(residents);
  await server.run(end);
  await server.end();

  const twins = new Map<string, number[]>();
  for (let at = start; at < end; at += 15 * minuteMs) {
    const wall = wallClock(at);
    for (const [name, isDue] of Object.entries(naivelyDue)) {
      if (isRepeated(name, at, wall) || !isDue(at, wall)) continue;
      const {retention} = document.databases.get(name) ?? document.defaults;
      twins.set(name, [...naivelyKept([...(twins.get(name) ?? []), at], retention)]);
    }
  }
  for (const name of [...residents, 'visitor']) {
    const kept = (server.archives.get(name) ?? []).toSorted();
    const expected = (twins.get(name) ?? []).map(at => archiveName(name, at)).toSorted();
    assert.deepEqual(kept, expected, name);
  }
  assert.ok((server.archives.get('hourly')?.length ?? 0) > 40);
  assert.equal(server.archives.get('visitor')?.length, 7);
  assert.ok((twins.get('nights') ?? []).some(at => isoWeek(at) === '2032-W53'));
  assert.equal(server.archives.get('paused'), undefined);
  assert.deepEqual(
    server.told.filter(
      line => !/^info auto-backup\.(scheduler-started|completed|rotated)/.test(line),
    ),
    [],
  );
});

/** The second time that the clock shows an hour counts for no expression that names it. */
function isRepeated(name: string, at: number, {hour, minute}: WallClock): boolean {
  if (name === 'hourly' || name === 'visitor') return false;
  const before = wallClock(at - 60 * minuteMs);
  return before.hour === hour && before.minute === minute;
}

test('databases that come, go, close and change while backups are planned', async () => {
  const server = new FakeServer();
  const given = (minutes: number): BackupDocument =>
    readBackupDocument({defaults: {schedule: {frequencyMinutes: minutes}}});
  const made: string[] = [];
  const until = async (minute: number): Promise<void> => {
    const before = new Map([...server.archives].map(([name, {length}]) => [name, length]));
    await server.run(start + minute * minuteMs);
    for (const [name, {length}] of server.archives) {
      if (length > (before.get(name) ?? 0)) made.push(`${name} ${minute}`);
    }
  };
  server.have(['a']);
  server.use(given(10));
  await until(5);
  server.have(['a', 'b']);
  for (const minute of [9, 10.5, 14, 15.5]) await until(minute);
  server.have(['b']);
  for (const minute of [20, 21]) await until(minute);
  server.have(['a', 'b']);
  // The same schedule keeps its moment, another one begins anew.
  server.use(given(10));
  for (const minute of [24, 25.5]) await until(minute);
  server.use(given(2));
  for (const minute of [27, 28]) await until(minute);
  server.use(undefined);
  await until(60);
  await server.end();
  assert.deepEqual(made, ['a 10.5', 'b 15.5', 'b 25.5', 'a 28', 'b 28']);
});
