/**
 * The settings that say what a commit survives, and how long, how large and how often repeated a
 * transaction may be. Rows of the one table (../settings.ts).
 */
import {DAY, GB, MB, MINUTE, type SettingRow} from '../setting-row.ts';

export const transactionRows = {
  'svc.txWalFlush': {
    type: 'integer',
    default: 2,
    range: [0, 2],
    description:
      'What an acknowledged commit survives: 2 power loss, 1 and 0 the death of the process only ' +
      '(on a server alone; a member of a cluster always syncs).',
  },
  'svc.txRetries': {
    type: 'integer',
    default: 3,
    range: [0, 1_000],
    scope: 'database',
    dynamic: true,
    description: 'How often a single statement is run again after a conflict.',
  },
  'svc.txTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 10 * MINUTE,
    range: [0, 7 * DAY],
    dynamic: true,
    description: 'How long a transaction may stay open at most, busy or not; 0 for no such end.',
  },
  'svc.txSizeMax': {
    type: 'size',
    default: 256 * MB,
    range: [MB, 16 * GB],
    dynamic: true,
    description: 'Bytes one transaction may have written before it commits.',
  },
  'svc.txStaleReadCheck': {
    type: 'boolean',
    default: true,
    scope: 'database',
    dynamic: true,
    description:
      'Whether a commit is refused when a record it changes was changed since it read it.',
  },
} as const satisfies Record<string, SettingRow>;
