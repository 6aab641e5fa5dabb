/**
 * The settings that say how the log of the members is kept, sent and cut. Rows of the one table
 * (../settings.ts).
 */
import {DAY, GB, KB, MB, MINUTE, type SettingRow} from '../setting-row.ts';

export const replicatedLogRows = {
  'svc.ha.raftPersistStorage': {
    type: 'boolean',
    default: true,
    description:
      'Whether the log of the cluster outlives a stop; false begins with an empty one at ' +
      'every start.',
  },
  'svc.ha.raftStorageDirectory': {
    type: 'path',
    default: '',
    description: 'Folder in which raft-storage-<name> lies; empty for the root path.',
  },
  'svc.ha.logSegmentSize': {
    type: 'size',
    default: 64 * MB,
    range: [64 * KB, 4 * GB],
    description: 'Size at which the log goes on in a new file.',
  },
  'svc.ha.ratisRestartMaxRetries': {
    type: 'integer',
    default: 10,
    range: [0, 1_000_000],
    description:
      'Attempts of a log to go on, once in svc.ha.healthCheckInterval, that may fail although ' +
      'its disk has room for two segments; a full disk is waited for.',
  },
  'svc.ha.appendBufferSize': {
    type: 'size',
    default: 32 * MB,
    range: [MB, GB],
    description: 'Largest entry of the log, and so the largest commit that is not a bulk load.',
  },
  'svc.ha.appendElementLimit': {
    type: 'integer',
    default: 64,
    range: [1, 100_000],
    description: 'Entries that one message to a member carries at most.',
  },
  'svc.ha.writeBufferSize': {
    type: 'size',
    default: 40 * MB,
    range: [MB, 4 * GB],
    description:
      'Bytes that may wait to be sent to one member; at least svc.ha.appendBufferSize and 8 bytes.',
  },
  'svc.ha.grpcMessageSizeMax': {
    type: 'size',
    default: 128 * MB,
    range: [MB, GB],
    description: 'Largest message that is taken from a member.',
  },
  'svc.ha.groupCommitBatchSize': {
    type: 'integer',
    default: 500,
    range: [1, 1_000_000],
    description: 'Commits that are put into the log at once at most.',
  },
  'svc.ha.groupCommitQueueSize': {
    type: 'integer',
    default: 10_000,
    range: [1, 10_000_000],
    description: 'Commits that may wait for their quorum; the next one waits, then is refused.',
  },
  'svc.ha.groupCommitOfferTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 100,
    range: [0, MINUTE],
    description: 'How long a commit waits for room in that queue before it is refused.',
  },
  'svc.ha.groupCommitMaxQueuedBytes': {
    type: 'size',
    default: 256 * MB,
    range: [MB, 16 * GB],
    description:
      'Bytes of commits that may wait for their quorum; at least svc.ha.grpcMessageSizeMax.',
  },
  'svc.ha.snapshotThreshold': {
    type: 'integer',
    default: 100_000,
    range: [1, 1_000_000_000],
    description: 'Applied commits after which the log is shortened again.',
  },
  'svc.ha.snapshotInterval': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * MINUTE,
    range: [0, DAY],
    description: 'How often the log is shortened besides; 0 never does so by time.',
  },
  'svc.ha.snapshotMinEntries': {
    type: 'integer',
    default: 64,
    range: [1, 1_000_000_000],
    description: 'Applied commits below which the log is not shortened by time.',
  },
  'svc.ha.logPurgeGap': {
    type: 'integer',
    default: 1024,
    range: [0, 1_000_000_000],
    description: 'Entries that are kept behind the place up to which the log could be shortened.',
  },
  'svc.ha.logPurgeUptoSnapshot': {
    type: 'boolean',
    default: true,
    description:
      'Whether entries go that a slow member still lacks: it gets a snapshot then. Off, ' +
      'the log waits for it.',
  },
} as const satisfies Record<string, SettingRow>;
