/**
 * The settings that say when a member counts as behind, stalled or damaged, and what is done about
 * it. Rows of the one table (../settings.ts).
 */
import {DAY, HOUR, MINUTE, SECOND, type SettingRow} from '../setting-row.ts';

export const replicaRepairRows = {
  'svc.ha.healthCheckInterval': {
    type: 'duration',
    unit: 'milliseconds',
    default: 3 * SECOND,
    min: 100,
    max: 10 * MINUTE,
    scope: 'server',
    dynamic: false,
    description: 'How often the leader looks at the members.',
  },
  'svc.ha.replicationLagWarning': {
    type: 'integer',
    default: 1_000,
    min: 0,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Entries that a member may be behind before it counts as lagging.',
  },
  'svc.ha.peerUnreachableThreshold': {
    type: 'duration',
    unit: 'milliseconds',
    default: 10 * SECOND,
    min: 0,
    max: DAY,
    scope: 'server',
    dynamic: false,
    description: 'Silence after which a member is reported unreachable; 0 reports none.',
  },
  'svc.ha.peerChannelResetDuration': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    min: 0,
    max: DAY,
    scope: 'server',
    dynamic: false,
    description:
      'How long a member is unreachable before its connection is made anew, five times at ' +
      'most; 0 never.',
  },
  'svc.ha.peerChannelResetEscalation': {
    type: 'boolean',
    default: true,
    scope: 'server',
    dynamic: false,
    description:
      'Whether the leader hands over when that did not help and another member can lead.',
  },
  'svc.ha.stalledReplicaResyncDurationMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    min: 0,
    max: DAY,
    scope: 'server',
    dynamic: false,
    description:
      'How long a member may stand still before the leader makes it begin anew from a ' +
      'snapshot; 0 never.',
  },
  'svc.ha.staleFollowerLagThreshold': {
    type: 'integer',
    default: 10_000,
    min: 0,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: false,
    description:
      'Entries that a server may be behind before it asks for a snapshot by itself; 0 never.',
  },
  'svc.ha.staleFollowerRecoveryDurationMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    min: 0,
    max: DAY,
    scope: 'server',
    dynamic: false,
    description: 'How long it has to be so far behind first.',
  },
  'svc.ha.divergedFollowerRecovery': {
    type: 'boolean',
    default: true,
    scope: 'server',
    dynamic: false,
    description:
      "Whether a server whose copy disagrees with the leader's takes the leader's by itself.",
  },
  'svc.ha.divergedFollowerMaxReformats': {
    type: 'integer',
    default: 5,
    min: 1,
    max: 1_000,
    scope: 'server',
    dynamic: false,
    description: 'How often it does so before it waits for a person.',
  },
  'svc.ha.resyncProgressLogging': {
    type: 'boolean',
    default: true,
    scope: 'server',
    dynamic: false,
    description: 'Whether the progress of a resync is logged.',
  },
  'svc.ha.resyncProgressInterval': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * SECOND,
    min: 100,
    max: HOUR,
    scope: 'server',
    dynamic: false,
    description: 'How often that is logged.',
  },
  'svc.ha.resyncCatchupLagThreshold': {
    type: 'integer',
    default: 1_000,
    min: 0,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: false,
    description: 'Entries behind the leader at which a resync counts as done.',
  },
} as const satisfies Record<string, SettingRow>;
