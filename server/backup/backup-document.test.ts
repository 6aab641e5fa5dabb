/**
 * What a database inherits: every field by itself, from `defaults` and from the built-in values
 * behind them; and what of a document is refused, by the name of its field.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {type BackupPlan, planFor, readBackupDocument} from './backup-document.ts';

/** A field of a plan: where it stands, what it may hold, and how a plan shows it. */
interface Field {
  readonly path: readonly string[];
  readonly values: readonly [unknown, unknown];
  readonly shown: (plan: BackupPlan) => unknown;
  /** What is shown where nobody says anything. */
  readonly builtIn: unknown;
  /** What the value is shown as; by default as itself. */
  readonly as?: (value: unknown) => unknown;
}

const tiers = ['hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const;
const tierDefaults = {hourly: 24, daily: 7, weekly: 4, monthly: 12, yearly: 3};

function trigger({schedule}: BackupPlan): Readonly<Record<string, unknown>> {
  return {...schedule.trigger};
}

function minutes(time: unknown): number {
  const [hour = 0, minute = 0] = String(time).split(':').map(Number);
  return hour * 60 + minute;
}

/** A schedule with a trigger, a window and tiers, so that each of their fields shows. */
const frame = {
  schedule: {type: 'frequency', timeWindow: {start: '01:00', end: '02:00'}},
  retention: {tiered: {}},
};

const fields: readonly Field[] = [
  {path: ['enabled'], values: [true, false], shown: plan => plan.enabled, builtIn: true},
  {
    path: ['runOnServer'],
    values: ['*', 'svc_1'],
    shown: plan => plan.runOnServer,
    builtIn: '$leader',
  },
  {
    path: ['schedule', 'type'],
    values: ['frequency', 'cron'],
    shown: plan => plan.schedule.trigger.kind,
    builtIn: 'frequency',
  },
  {
    path: ['schedule', 'frequencyMinutes'],
    values: [5, 90],
    shown: plan => trigger(plan)['minutes'],
    builtIn: 60,
  },
  {
    path: ['schedule', 'timeWindow', 'start'],
    values: ['22:00', '23:30'],
    shown: plan => plan.schedule.window?.start,
    builtIn: 60,
    as: minutes,
  },
  {
    path: ['schedule', 'timeWindow', 'end'],
    values: ['04:00', '05:59'],
    shown: plan => plan.schedule.window?.end,
    builtIn: 120,
    as: minutes,
  },
  {path: ['compressionLevel'], values: [0, 9], shown: plan => plan.compressionLevel, builtIn: 1},
  {
    path: ['compressionThreads'],
    values: [1, 4],
    shown: plan => plan.compressionThreads,
    builtIn: 2,
  },
  {
    path: ['maxMBPerSecond'],
    values: [0.5, 100],
    shown: plan => plan.maxMBPerSecond,
    builtIn: undefined,
  },
  ...tiers.map(tier => ({
    path: ['retention', 'tiered', tier],
    values: [2, 9] as const,
    shown: ({retention}: BackupPlan) => (retention.kind === 'tiered' ? retention[tier] : undefined),
    builtIn: tierDefaults[tier],
  })),
];

/** Merges a value at a path into an object. */
function put(object: object, path: readonly string[], value: unknown): object {
  const [first = '', ...rest] = path;
  const below = (object as Record<string, object>)[first] ?? {};
  return {...object, [first]: rest.length === 0 ? value : put(below, rest, value)};
}

for (const {path, values, shown, builtIn, as = (value: unknown): unknown => value} of fields) {
  test(`${path.join('.')}: its own, else that of the defaults, else the built-in one`, () => {
    const [ours, theirs] = values;
    const cron = path.at(-1) === 'type' ? {expression: '0 0 2 * * *'} : {};
    const base = {...frame, schedule: {...frame.schedule, ...cron}};
    const inner = path.at(-1) === 'type' ? {expression: '0 0 3 * * *'} : {};
    const own = (value: unknown): object => put({schedule: inner}, path, value);
    const document = readBackupDocument({
      defaults: put(base, path, theirs),
      databases: {own: own(ours), silent: {}},
    });
    assert.equal(shown(planFor(document, 'own')), as(ours));
    assert.equal(shown(planFor(document, 'silent')), as(theirs));
    assert.equal(shown(planFor(document, 'not named at all')), as(theirs));
    assert.equal(shown(readBackupDocument({defaults: frame}).defaults), builtIn);
  });
}

test('one field of its own leaves all others inherited', () => {
  const all = fields.reduce((object, {path, values}) => put(object, path, values[1]), {
    schedule: {expression: '0 0 2 * * *'},
  } as object);
  const {defaults} = readBackupDocument({defaults: all});
  for (const {path, values, shown} of fields) {
    const document = readBackupDocument({
      defaults: all,
      databases: {own: put({}, path, values[0])},
    });
    for (const other of fields) {
      // What says when belongs to one kind of schedule alone.
      if (other.path === path || path.at(-1) === 'type') continue;
      const found = other.shown(planFor(document, 'own'));
      assert.equal(
        found,
        other.shown(defaults),
        `${path.join('.')} changed ${other.path.join('.')}`,
      );
    }
    if (path.at(-1) !== 'frequencyMinutes') {
      assert.notEqual(shown(planFor(document, 'own')), shown(defaults), path.join('.'));
    }
  }
});

test('null takes a window, tiers or a rate away, and no other field', () => {
  const document = readBackupDocument({
    defaults: {...frame, retention: {maxFiles: 4, tiered: {daily: 3}}, maxMBPerSecond: 8},
    databases: {
      own: {schedule: {timeWindow: null}, retention: {tiered: null}, maxMBPerSecond: null},
      anew: {retention: {tiered: {daily: 5}}},
    },
  });
  const plan = planFor(document, 'own');
  assert.deepEqual(
    [plan.schedule.window, plan.retention, plan.maxMBPerSecond],
    [undefined, {kind: 'count', maxFiles: 4}, undefined],
  );
  const {retention} = planFor(document, 'anew');
  assert.deepEqual(retention, {kind: 'tiered', ...tierDefaults, daily: 5});
  for (const path of [['enabled'], ['schedule', 'type'], ['retention', 'maxFiles'], ['defaults']]) {
    const given = {databases: {own: put({}, path, null)}};
    assert.throws(() => readBackupDocument(given), new RegExp(path.join('\\.')));
  }
});

test('expressions and numbers of files are inherited too', () => {
  const document = readBackupDocument({
    defaults: {schedule: {type: 'cron', expression: '0 0 2 * * *'}, retention: {maxFiles: 3}},
    databases: {
      later: {schedule: {expression: '0 0 4 * * *'}},
      often: {schedule: {type: 'frequency'}},
      many: {retention: {maxFiles: 30}},
    },
  });
  assert.equal(trigger(planFor(document, 'later'))['expression'], '0 0 4 * * *');
  assert.deepEqual(trigger(planFor(document, 'often')), {kind: 'frequency', minutes: 60});
  assert.equal(trigger(planFor(document, 'many'))['expression'], '0 0 2 * * *');
  assert.deepEqual(planFor(document, 'many').retention, {kind: 'count', maxFiles: 30});
  assert.deepEqual(planFor(document, 'later').retention, {kind: 'count', maxFiles: 3});
});

for (const [at, value] of [
  ['enabled', 'yes'],
  ['defaults', []],
  ['defaults.runOnServer', ''],
  ['defaults.schedule.type', 'hourly'],
  ['defaults.schedule.frequencyMinutes', 0],
  ['defaults.schedule.frequencyMinutes', 1.5],
  ['defaults.schedule.expression', '0 2 * * *'],
  ['defaults.schedule.timeWindow.start', '24:00'],
  ['defaults.schedule.timeWindow.end', '9:00'],
  ['defaults.retention.maxFiles', 0],
  ['defaults.retention.tiered.weekly', -1],
  ['defaults.compressionLevel', 10],
  ['defaults.compressionThreads', 0],
  ['defaults.maxMBPerSecond', 0],
  ['defaults.unknown', 1],
  ['databases.music.schedule.unknown', 1],
  ['databases.music.retention.tiered.hourly', '5'],
  ['backupDirectory', '/var/backups'],
  ['backupDirectory', 'a/../../b'],
  ['backupDirectory', 'C:\\backups'],
  ['backupDirectory', ''],
] as const) {
  test(`refused by its name: ${at} of ${JSON.stringify(value)}`, () => {
    const whole = put({}, at.split('.'), value);
    assert.throws(() => readBackupDocument(whole), {code: 'argument', message: containing(at)});
  });
}

function containing(text: string): RegExp {
  return new RegExp(text.replaceAll('.', '\\.'));
}

test('no value at all makes it fail otherwise than by a refusal', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('', 'defaults', 'databases'), (value, at) => {
      try {
        readBackupDocument(at === '' ? value : {[at]: value});
      } catch (error) {
        assert.equal((error as {code?: unknown}).code, 'argument');
      }
    }),
    {numRuns: 500, seed: 29},
  );
});
