/**
 * The settings that say how requests reach the leader, and how long they wait for one. Rows of the
 * one table (../settings.ts).
 */
import {DAY, GB, HOUR, KB, MB, MINUTE, SECOND, type SettingRow} from '../setting-row.ts';

export const forwardingRows = {
  'svc.ha.proxyConnectTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * SECOND,
    range: [10, HOUR],
    dynamic: true,
    description: 'How long a connection to the leader may take when a request is passed on.',
  },
  'svc.ha.proxyReadTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 30 * SECOND,
    range: [10, DAY],
    dynamic: true,
    description: 'How long the leader may be silent on a request that was passed on.',
  },
  'svc.ha.proxyCommandTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * MINUTE,
    range: [10, 7 * DAY],
    dynamic: true,
    description: 'As svc.ha.proxyReadTimeout, for statements and server commands.',
  },
  'svc.ha.proxyBatchReadTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 10 * MINUTE,
    range: [10, 7 * DAY],
    dynamic: true,
    description: 'As svc.ha.proxyReadTimeout, for bulk loads.',
  },
  'svc.ha.proxyMaxBodySize': {
    type: 'size',
    default: 16 * MB,
    range: [KB, 16 * GB],
    dynamic: true,
    description: 'Largest body that is passed on; bulk loads are not counted.',
  },
  'svc.ha.forwardLeaderWaitTimeoutMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: 20 * SECOND,
    range: [0, HOUR],
    dynamic: true,
    description: 'How long a request waits for a leader while there is none; 0 does not wait.',
  },
  'svc.ha.clientElectionRetryCount': {
    type: 'integer',
    default: 3,
    range: [0, 1_000],
    dynamic: true,
    description: 'How often the command line asks again while a leader is elected.',
  },
  'svc.ha.clientElectionRetryDelayMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: 2 * SECOND,
    range: [0, HOUR],
    dynamic: true,
    description: 'How long it waits before.',
  },
} as const satisfies Record<string, SettingRow>;
