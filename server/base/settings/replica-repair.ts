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
    range: [100, 10 * MINUTE],
    description: 'How often the leader looks at the members.',
  },
  'svc.ha.replicationLagWarning': {
    type: 'integer',
    default: 1_000,
    range: [0, 1_000_000_000],
    dynamic: true,
    description: 'Entries that a member may be behind before it counts as lagging.',
  },
  'svc.ha.peerUnreachableThreshold': {
    type: 'duration',
    unit: 'milliseconds',
    default: 10 * SECOND,
    range: [0, DAY],
    description: 'Silence after which a member is reported unreachable; 0 reports none.',
  },
  'svc.ha.peerChannelResetDuration': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    range: [0, DAY],
    description:
      'How long a member is unreachable before its connection is made anew, five times at ' +
      'most; 0 never.',
  },
  'svc.ha.peerChannelResetEscalation': {
    type: 'boolean',
    default: true,
    description:
      'Whether the leader hands over when that did not help and another member can lead.',
  },
  'svc.ha.stalledReplicaResyncDurationMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    range: [0, DAY],
    description:
      'How long a member may stand still before the leader makes it begin anew from a ' +
      'snapshot; 0 never.',
  },
  'svc.ha.staleFollowerLagThreshold': {
    type: 'integer',
    default: 10_000,
    range: [0, 1_000_000_000],
    description:
      'Entries that a server may be behind before it asks for a snapshot by itself; 0 never.',
  },
  'svc.ha.staleFollowerRecoveryDurationMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    range: [0, DAY],
    description: 'How long it has to be so far behind first.',
  },
  'svc.ha.divergedFollowerRecovery': {
    type: 'boolean',
    default: true,
    description:
      "Whether a server whose copy disagrees with the leader's takes the leader's by itself.",
  },
  'svc.ha.divergedFollowerMaxReformats': {
    type: 'integer',
    default: 5,
    range: [1, 1_000],
    description: 'How often it does so before it waits for a person.',
  },
  'svc.ha.resyncProgressLogging': {
    type: 'boolean',
    default: true,
    description: 'Whether the progress of a resync is logged.',
  },
  'svc.ha.resyncProgressInterval': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * SECOND,
    range: [100, HOUR],
    description: 'How often that is logged.',
  },
  'svc.ha.resyncCatchupLagThreshold': {
    type: 'integer',
    default: 1_000,
    range: [0, 1_000_000_000],
    description: 'Entries behind the leader at which a resync counts as done.',
  },
} as const satisfies Record<string, SettingRow>;
