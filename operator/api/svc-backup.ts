/**
 * SvcBackupSchedule and SvcBackup: when backups are taken, and one run each.
 *
 * The runs go through the server's own commands (`trigger backup`, `list backups`,
 * `delete backup`): the archives lie where the servers keep theirs, and the operator never touches
 * a volume.
 */
import {conditionList} from './conditions.ts';
import type {Rule} from './rules.ts';
import {
  defaulted,
  duration,
  flag,
  integer,
  listOf,
  object,
  oneOf,
  optional,
  text,
  time,
  type ValueOf,
} from './schema.ts';

const NAME = '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$';
const name = (says: string) => text({says, pattern: NAME, maxLength: 253});
const word = (says: string) => text({says, maxLength: 256});
const count = (says: string) =>
  integer({says, min: 0, max: Number.MAX_SAFE_INTEGER, format: 'int64'});

const clusterRef = object(
  {says: 'The cluster, in this namespace. Cannot change.'},
  {name: text({says: 'Name of the SvcCluster.', pattern: NAME, maxLength: 40})},
);

const databases = defaulted(
  listOf(
    {says: 'Which databases; a name may end in *; empty: all.', max: 64},
    text({says: 'A name.', pattern: '^[A-Za-z*][A-Za-z0-9_-]*\\*?$', maxLength: 128}),
  ),
  [],
);

const target = defaulted(
  text({
    says: 'Which server writes the archive: Leader, Follower, or an ordinal.',
    pattern: '^(Leader|Follower|[0-8])$',
    maxLength: 8,
  }),
  'Leader',
);

const timeout = defaulted(duration({says: 'After which a run counts as failed.'}), '6h');

const tier = (says: string, value: number) => defaulted(integer({says, min: 0, max: 1_000}), value);

export const scheduleSpec = object(
  {says: 'When backups are taken.'},
  {
    clusterRef,
    schedule: text({
      says: 'Cron: minute hour day month weekday, with seconds in front where there are six.',
      pattern: '^\\S+( \\S+){4,5}$',
      maxLength: 100,
    }),
    suspend: defaulted(flag({says: 'Whether no new run begins.'}), false),
    immediate: defaulted(flag({says: 'Whether a first run begins at once.'}), false),
    databases,
    target,
    startingDeadline: defaulted(duration({says: 'How late a run may begin.'}), '15m'),
    timeout,
    retention: defaulted(
      object(
        {says: 'Which archives stay; the newest always does.'},
        {
          maxFiles: optional(integer({says: 'Archives of a database.', min: 1, max: 10_000})),
          tiered: optional(
            object(
              {says: 'The oldest of each of the latest hours, days, weeks, months and years.'},
              {
                hourly: tier('Hours.', 24),
                daily: tier('Days.', 7),
                weekly: tier('Weeks.', 4),
                monthly: tier('Months.', 12),
                yearly: tier('Years.', 3),
              },
            ),
          ),
        },
      ),
      {maxFiles: 10},
    ),
    historyLimits: defaulted(
      object(
        {says: 'How many SvcBackups of this schedule stay.'},
        {
          success: defaulted(integer({says: 'That succeeded.', min: 1, max: 100}), 5),
          failed: defaulted(integer({says: 'That did not.', min: 0, max: 100}), 3),
        },
      ),
      {},
    ),
  },
);

export const scheduleStatus = object(
  {says: 'How the schedule goes.'},
  {
    observedGeneration: optional(count('Generation of the spec that this speaks of.')),
    conditions: optional(conditionList),
    lastScheduleTime: optional(time({says: 'The tick that was last acted upon.'})),
    lastSuccessfulTime: optional(time({says: 'When a run last ended well.'})),
    nextScheduleTime: optional(time({says: 'The next tick.'})),
    lastRun: optional(
      object(
        {says: 'The last run that ended.'},
        {name: name('The SvcBackup.'), result: word('How.')},
      ),
    ),
    active: optional(listOf({says: 'Runs under way.', max: 16}, name('A SvcBackup.'))),
    consecutiveFailures: optional(count('Runs that failed since the last that did not.')),
  },
);

export const backupSpec = object({says: 'One backup.'}, {clusterRef, databases, target, timeout});

export const backupPhases = [
  'Pending',
  'Running',
  'Completed',
  'PartiallyFailed',
  'Failed',
  'Skipped',
] as const;

export const backupStatus = object(
  {says: 'How the backup went.'},
  {
    observedGeneration: optional(count('Generation of the spec that this speaks of.')),
    phase: optional(oneOf(backupPhases, {says: 'Where it stands.'})),
    conditions: optional(conditionList),
    startedAt: optional(time({says: 'When it began.'})),
    finishedAt: optional(time({says: 'When it ended.'})),
    databases: optional(
      listOf(
        {says: 'By database.', max: 256, keys: ['name']},
        object(
          {says: 'A database.'},
          {
            name: text({says: 'Its name.', maxLength: 128}),
            phase: oneOf(backupPhases, {says: 'Where it stands.'}),
            pod: optional(word('The pod that wrote the archive.')),
            file: optional(word('Name of the archive.')),
            bytes: optional(count('Its size.')),
            startedAt: optional(time({says: 'When it was asked for.'})),
            finishedAt: optional(time({says: 'When it ended.'})),
            error: optional(text({says: 'Why there is none.', maxLength: 1_024})),
          },
        ),
      ),
    ),
  },
);

export type ScheduleSpec = ValueOf<typeof scheduleSpec>;
export type ScheduleStatus = ValueOf<typeof scheduleStatus>;
export type BackupSpec = ValueOf<typeof backupSpec>;
export type BackupStatus = ValueOf<typeof backupStatus>;

export const scheduleRules: readonly Rule<ScheduleSpec>[] = [
  {
    path: 'spec.clusterRef',
    cel: 'self.name == oldSelf.name',
    message: 'clusterRef cannot change: create another schedule for the other cluster',
    holds: (spec, old) => old === undefined || spec.clusterRef.name === old.clusterRef.name,
  },
  {
    path: 'spec.retention',
    cel: 'has(self.maxFiles) != has(self.tiered)',
    message: 'retention needs either maxFiles or tiered',
    holds: ({retention}) => (retention.maxFiles === undefined) !== (retention.tiered === undefined),
  },
];

export const backupRules: readonly Rule<BackupSpec>[] = [
  {
    path: 'spec',
    cel: 'self == oldSelf',
    message: 'a backup cannot change once it is asked for: create another one',
    holds: () => true,
  },
];
