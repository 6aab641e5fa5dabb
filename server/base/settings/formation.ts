/**
 * The settings that say how a cluster takes over the databases that its servers bring. Rows of the
 * one table (../settings.ts).
 */
import {DAY, MINUTE, SECOND, type SettingRow} from '../setting-row.ts';

export const formationRows = {
  'svc.ha.bootstrapFromLocalDatabase': {
    type: 'boolean',
    default: true,
    description:
      'Whether a cluster that forms begins with the databases that its servers hold; off, ' +
      'it begins empty, and they are kept beside it.',
  },
  'svc.ha.bootstrapTimeoutMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: 2 * MINUTE,
    range: [SECOND, DAY],
    description: 'How long servers that form a cluster wait for each other.',
  },
  'svc.ha.autoAcquireDatabases': {
    type: 'boolean',
    default: true,
    description:
      'Whether a member takes databases that it lacks by itself; off, a person asks for ' +
      'the resync.',
  },
} as const satisfies Record<string, SettingRow>;
