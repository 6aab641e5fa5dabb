/**
 * The settings of a cluster's consensus: who belongs to it, how it decides, its log and what stands
 * in for the part of the log that is gone. Rows of the one table (settings.ts).
 *
 * Those that have a meaning in other systems alone are passed over (settings-without-meaning.ts).
 */
import {DAY, GB, HOUR, KB, MB, MINUTE, SECOND, type SettingRow, TB} from './setting-row.ts';

export const clusterSettingRows = {
  // Who belongs to the cluster.
  'svc.ha.enabled': {
    type: 'boolean',
    default: false,
    scope: 'server',
    dynamic: false,
    description:
      'Whether the server is a member of a cluster. A list in svc.ha.serverList turns it on too.',
  },
  'svc.ha.clusterName': {
    type: 'string',
    default: 'svc',
    scope: 'server',
    dynamic: false,
    description:
      'Name of the cluster: equal on all its servers, and part of the identity of its log.',
  },
  'svc.ha.serverList': {
    type: 'string',
    default: '',
    scope: 'server',
    dynamic: false,
    description:
      'The members that a cluster begins with: ' +
      '[name@]host:{raft:2434,http:2480,priority:0} between commas, or ' +
      'host:raft:http:priority:https.',
  },
  'svc.ha.serverRole': {
    type: 'enum',
    values: ['any', 'replica'],
    default: 'any',
    scope: 'server',
    dynamic: false,
    description: 'A replica never leads: its priority is 0 whatever svc.ha.serverList says.',
  },
  'svc.ha.raftPort': {
    type: 'integer',
    default: 2434,
    min: 1,
    max: 65_535,
    scope: 'server',
    dynamic: false,
    description: 'Port on which the other members reach this server.',
  },
  'svc.ha.k8s': {
    type: 'boolean',
    default: false,
    scope: 'server',
    dynamic: false,
    description:
      'Whether the server is a pod: its host is $HOSTNAME with svc.ha.k8sSuffix, and it ' +
      'asks at every start to be a member.',
  },
  'svc.ha.k8sSuffix': {
    type: 'string',
    default: '',
    scope: 'server',
    dynamic: false,
    description:
      'Domain behind the names of pods, beginning with a dot; completes short hosts of ' +
      'svc.ha.serverList.',
  },
  'svc.ha.clusterToken': {
    type: 'string',
    default: '',
    scope: 'server',
    dynamic: false,
    secret: true,
    description:
      'Secret that the members share. Empty: svc.ha.clusterTokenPath, else derived from ' +
      'cluster name and root password.',
  },
  'svc.ha.clusterTokenPath': {
    type: 'path',
    default: '',
    scope: 'server',
    dynamic: false,
    description:
      'File with the secret of the cluster, read when svc.ha.clusterToken is empty; further ' +
      'lines are secrets that others may come with too.',
  },

  // How it decides.
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
    scope: 'server',
    dynamic: false,
    description:
      'Which members must hold a commit on disk before it is acknowledged: most of them, or all.',
  },
  'svc.ha.quorumTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 10 * SECOND,
    min: 100,
    max: HOUR,
    scope: 'server',
    dynamic: true,
    description: 'How long a commit waits for its quorum, and a read for the state it asked for.',
  },
  'svc.ha.electionTimeoutMin': {
    type: 'duration',
    unit: 'milliseconds',
    default: 2 * SECOND,
    min: 50,
    max: 10 * MINUTE,
    scope: 'server',
    dynamic: false,
    description: 'Shortest silence of the leader after which a member stands for election.',
  },
  'svc.ha.electionTimeoutMax': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * SECOND,
    min: 50,
    max: 10 * MINUTE,
    scope: 'server',
    dynamic: false,
    description: 'Longest such silence; each member draws its own time between the two.',
  },
  'svc.ha.readConsistency': {
    type: 'enum',
    values: ['eventual', 'read_your_writes', 'linearizable'],
    default: 'read_your_writes',
    scope: 'server',
    dynamic: true,
    description:
      'What a read sees that names no mode: eventual, read_your_writes (not older than its ' +
      'bookmark) or linearizable.',
  },
  'svc.ha.stopServerOnReplicationFailure': {
    type: 'boolean',
    default: false,
    scope: 'server',
    dynamic: false,
    description:
      'Whether a server whose replication failed stops, rather than to stay and answer reads.',
  },
  'svc.ha.logVerbose': {
    type: 'integer',
    default: 0,
    min: 0,
    max: 3,
    scope: 'server',
    dynamic: true,
    description:
      'How much of the cluster is logged: 0 what matters, 1 its state on ' +
      'svc.ha.healthCheckInterval, 2 and each follower, 3 and every message.',
  },

  // The log.
  'svc.ha.raftPersistStorage': {
    type: 'boolean',
    default: true,
    scope: 'server',
    dynamic: false,
    description:
      'Whether the log of the cluster outlives a stop; false begins with an empty one at ' +
      'every start.',
  },
  'svc.ha.raftStorageDirectory': {
    type: 'path',
    default: '',
    scope: 'server',
    dynamic: false,
    description: 'Folder in which raft-storage-<name> lies; empty for the root path.',
  },
  'svc.ha.logSegmentSize': {
    type: 'size',
    default: 64 * MB,
    min: 64 * KB,
    max: 4 * GB,
    scope: 'server',
    dynamic: false,
    description: 'Size at which the log goes on in a new file.',
  },
  'svc.ha.appendBufferSize': {
    type: 'size',
    default: 32 * MB,
    min: MB,
    max: GB,
    scope: 'server',
    dynamic: false,
    description: 'Largest entry of the log, and so the largest commit that is not a bulk load.',
  },
  'svc.ha.appendElementLimit': {
    type: 'integer',
    default: 64,
    min: 1,
    max: 100_000,
    scope: 'server',
    dynamic: false,
    description: 'Entries that one message to a member carries at most.',
  },
  'svc.ha.writeBufferSize': {
    type: 'size',
    default: 40 * MB,
    min: MB,
    max: 4 * GB,
    scope: 'server',
    dynamic: false,
    description:
      'Bytes that may wait to be sent to one member; at least svc.ha.appendBufferSize and 8 bytes.',
  },
  'svc.ha.grpcMessageSizeMax': {
    type: 'size',
    default: 128 * MB,
    min: MB,
    max: GB,
    scope: 'server',
    dynamic: false,
    description: 'Largest message that is taken from a member.',
  },
  'svc.ha.groupCommitBatchSize': {
    type: 'integer',
    default: 500,
    min: 1,
    max: 1_000_000,
    scope: 'server',
    dynamic: false,
    description: 'Commits that are put into the log at once at most.',
  },
  'svc.ha.groupCommitQueueSize': {
    type: 'integer',
    default: 10_000,
    min: 1,
    max: 10_000_000,
    scope: 'server',
    dynamic: false,
    description: 'Commits that may wait for their quorum; the next one waits, then is refused.',
  },
  'svc.ha.groupCommitOfferTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 100,
    min: 0,
    max: MINUTE,
    scope: 'server',
    dynamic: false,
    description: 'How long a commit waits for room in that queue before it is refused.',
  },
  'svc.ha.groupCommitMaxQueuedBytes': {
    type: 'size',
    default: 256 * MB,
    min: MB,
    max: 16 * GB,
    scope: 'server',
    dynamic: false,
    description:
      'Bytes of commits that may wait for their quorum; at least svc.ha.grpcMessageSizeMax.',
  },
  'svc.ha.snapshotThreshold': {
    type: 'integer',
    default: 100_000,
    min: 1,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: false,
    description: 'Applied commits after which the log is shortened again.',
  },
  'svc.ha.snapshotInterval': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * MINUTE,
    min: 0,
    max: DAY,
    scope: 'server',
    dynamic: false,
    description: 'How often the log is shortened besides; 0 never does so by time.',
  },
  'svc.ha.snapshotMinEntries': {
    type: 'integer',
    default: 64,
    min: 1,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: false,
    description: 'Applied commits below which the log is not shortened by time.',
  },
  'svc.ha.logPurgeGap': {
    type: 'integer',
    default: 1024,
    min: 0,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: false,
    description: 'Entries that are kept behind the place up to which the log could be shortened.',
  },
  'svc.ha.logPurgeUptoSnapshot': {
    type: 'boolean',
    default: true,
    scope: 'server',
    dynamic: false,
    description:
      'Whether entries go that a slow member still lacks: it gets a snapshot then. Off, ' +
      'the log waits for it.',
  },

  // Snapshots: how a member gets what the log holds no more.
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
