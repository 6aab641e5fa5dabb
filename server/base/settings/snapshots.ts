/**
 * The settings that say how a member gets what the log holds no more. Rows of the one table
 * (../settings.ts).
 */
import {DAY, GB, HOUR, MB, MINUTE, SECOND, TB, type SettingRow} from '../setting-row.ts';

export const snapshotRows = {
  'svc.ha.snapshotDownloadTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * MINUTE,
    min: SECOND,
    max: DAY,
    scope: 'server',
    dynamic: false,
    description: 'How long one file of a snapshot may take to arrive.',
  },
  'svc.ha.snapshotMaxConcurrent': {
    type: 'integer',
    default: 2,
    min: 1,
    max: 1_000,
    scope: 'server',
    dynamic: false,
    description: 'Snapshots that a server gives out at once; the next one is answered with 503.',
  },
  'svc.ha.snapshotWriteTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * MINUTE,
    min: SECOND,
    max: DAY,
    scope: 'server',
    dynamic: false,
    description:
      'How long a snapshot that is given out may stand still before its connection is closed.',
  },
  'svc.ha.snapshotInstallRetries': {
    type: 'integer',
    default: 3,
    min: 0,
    max: 1_000,
    scope: 'server',
    dynamic: false,
    description: 'How often the fetching of a snapshot is tried again.',
  },
  'svc.ha.snapshotInstallRetryBaseMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * SECOND,
    min: 10,
    max: HOUR,
    scope: 'server',
    dynamic: false,
    description: 'How long the first of these tries waits; each further one waits twice as long.',
  },
  'svc.ha.snapshotMaxEntrySize': {
    type: 'size',
    default: 10 * GB,
    min: MB,
    max: 16 * TB,
    scope: 'server',
    dynamic: false,
    description: 'Largest file that is taken from a snapshot.',
  },
} as const satisfies Record<string, SettingRow>;
