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
    range: [SECOND, DAY],
    description: 'How long one file of a snapshot may take to arrive.',
  },
  'svc.ha.snapshotMaxConcurrent': {
    type: 'integer',
    default: 2,
    range: [1, 1_000],
    description: 'Snapshots that a server gives out at once; the next one is answered with 503.',
  },
  'svc.ha.snapshotWriteTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * MINUTE,
    range: [SECOND, DAY],
    description:
      'How long a snapshot that is given out may stand still before its connection is closed.',
  },
  'svc.ha.snapshotInstallRetries': {
    type: 'integer',
    default: 3,
    range: [0, 1_000],
    description: 'How often the fetching of a snapshot is tried again.',
  },
  'svc.ha.snapshotInstallRetryBaseMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * SECOND,
    range: [10, HOUR],
    description: 'How long the first of these tries waits; each further one waits twice as long.',
  },
  'svc.ha.snapshotMaxEntrySize': {
    type: 'size',
    default: 10 * GB,
    range: [MB, 16 * TB],
    description: 'Largest file that is taken from a snapshot.',
  },
} as const satisfies Record<string, SettingRow>;
