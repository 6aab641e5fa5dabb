/**
 * The settings that say how many members decide, when they elect, and how new a read is. Rows of
 * the one table (../settings.ts).
 */
import {HOUR, MINUTE, SECOND, type SettingRow} from '../setting-row.ts';

export const consensusRows = {
  'svc.ha.quorum': {
    type: 'enum',
    values: ['majority', 'all'],
    refused: {
      none: 'commits are acknowledged by a majority at least',
      one: 'commits are acknowledged by a majority at least',
      two: 'write majority (two of three)',
      three: 'write majority (three of five), or all',
    },
    default: 'majority',
    description:
      'Which members must hold a commit on disk before it is acknowledged: most of them, or all.',
  },
  'svc.ha.quorumTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 10 * SECOND,
    range: [100, HOUR],
    dynamic: true,
    description: 'How long a commit waits for its quorum, and a read for the state it asked for.',
  },
  'svc.ha.electionTimeoutMin': {
    type: 'duration',
    unit: 'milliseconds',
    default: 2 * SECOND,
    range: [50, 10 * MINUTE],
    description: 'Shortest silence of the leader after which a member stands for election.',
  },
  'svc.ha.electionTimeoutMax': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * SECOND,
    range: [50, 10 * MINUTE],
    description: 'Longest such silence; each member draws its own time between the two.',
  },
  'svc.ha.readConsistency': {
    type: 'enum',
    values: ['eventual', 'read_your_writes', 'linearizable'],
    default: 'read_your_writes',
    dynamic: true,
    description:
      'What a read sees that names no mode: eventual, read_your_writes (not older than its ' +
      'bookmark) or linearizable.',
  },
  'svc.ha.stopServerOnReplicationFailure': {
    type: 'boolean',
    default: false,
    description:
      'Whether a server whose replication failed stops, rather than to stay and answer reads.',
  },
  'svc.ha.logVerbose': {
    type: 'integer',
    default: 0,
    range: [0, 3],
    dynamic: true,
    description:
      'How much of the cluster is logged: 0 what matters, 1 its state on ' +
      'svc.ha.healthCheckInterval, 2 and each follower, 3 and every message.',
  },
} as const satisfies Record<string, SettingRow>;
