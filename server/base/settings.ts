/**
 * The one table of settings: every knob a person may turn, with its type, unit, default and scope.
 *
 * Names are those of the documented surface and never change. `svc settings`, the server's route,
 * the MCP tool, the manual page and the operator's list are all made from this table. Values are
 * read in `node/` only, and resolved by setting-values.ts; everybody else asks
 * `settings.get('svc.txRetries')`, typed by the row.
 *
 * Invariant B2: a setting exists here or nowhere, and its default passes its own check.
 */
import {DAY, GB, KB, MB, MINUTE, type Ports, SECOND, type SettingRow, TB} from './setting-row.ts';
import {clusterSettingRows} from './settings-cluster.ts';
import {memberSettingRows} from './settings-members.ts';
import {serverSettingRows} from './settings-server.ts';

export const settingRows = {
  ...serverSettingRows,

  // Commits and transactions.
  'svc.txWalFlush': {
    type: 'integer',
    default: 2,
    min: 0,
    max: 2,
    scope: 'server',
    dynamic: false,
    description:
      'What an acknowledged commit survives: 2 power loss, 1 and 0 the death of the process only ' +
      '(on a server alone; a member of a cluster always syncs).',
  },
  'svc.txRetries': {
    type: 'integer',
    default: 3,
    min: 0,
    max: 1_000,
    scope: 'database',
    dynamic: true,
    description: 'How often a single statement is run again after a conflict.',
  },
  'svc.txTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 10 * MINUTE,
    min: 0,
    max: 7 * DAY,
    scope: 'server',
    dynamic: true,
    description: 'How long a transaction may stay open at most, busy or not; 0 for no such end.',
  },
  'svc.txSizeMax': {
    type: 'size',
    default: 256 * MB,
    min: MB,
    max: 16 * GB,
    scope: 'server',
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

  ...clusterSettingRows,
  ...memberSettingRows,

  // Storage.
  'svc.storage.engine': {
    type: 'enum',
    values: ['auto', 'native', 'fallback'],
    default: 'auto',
    scope: 'server',
    dynamic: false,
    description:
      'Binding of the store; auto takes native where it is built and passes its self-test.',
  },
  'svc.storage.blockCacheSize': {
    type: 'size',
    default: 64 * MB,
    min: MB,
    max: TB,
    scope: 'server',
    dynamic: false,
    description: 'Memory for blocks read from disk, shared by all databases.',
  },
  'svc.storage.writeBufferSize': {
    type: 'size',
    default: 32 * MB,
    min: 64 * KB,
    max: 4 * GB,
    scope: 'server',
    dynamic: false,
    description: 'Memory in which one database gathers writes before it writes them as a file.',
  },
  'svc.storage.backgroundJobs': {
    type: 'integer',
    default: 2,
    min: 1,
    max: 64,
    scope: 'server',
    dynamic: false,
    description: 'Files that the native store writes at once in the background, for each database.',
  },
  'svc.storage.freeSpaceMin': {
    type: 'size',
    default: 128 * MB,
    min: MB,
    max: TB,
    scope: 'server',
    dynamic: false,
    description:
      'Free space on the disk, besides the next file of the log, below which writes are refused ' +
      'until there is more.',
  },
  'svc.recordSizeMax': {
    type: 'size',
    default: 16 * MB,
    min: KB,
    max: 16 * MB,
    scope: 'server',
    dynamic: true,
    description: 'Largest record as stored.',
  },
  'svc.indexKeySizeMax': {
    type: 'size',
    default: 64 * KB,
    min: KB,
    max: MB,
    scope: 'server',
    dynamic: false,
    description: 'Largest key of a record in an index; larger ones are refused.',
  },

  // Queries.
  'svc.parser.depthMax': {
    type: 'integer',
    default: 500,
    min: 10,
    max: 2_000,
    scope: 'server',
    dynamic: true,
    description: 'Deepest nesting of a statement or of a value in JSON.',
  },
  'svc.parser.statementSizeMax': {
    type: 'size',
    default: 4 * MB,
    min: KB,
    max: 256 * MB,
    scope: 'server',
    dynamic: true,
    description: 'Longest text of a statement.',
  },
  'svc.parser.columnsMax': {
    type: 'integer',
    default: 4_096,
    min: 100,
    max: 100_000,
    scope: 'server',
    dynamic: true,
    description:
      'Most columns of a projection, keys of an order or a grouping, variables of a `LET` and ' +
      'assignments of a `SET`.',
  },
  'svc.command.timeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 0,
    min: 0,
    max: 7 * DAY,
    scope: 'database',
    dynamic: true,
    description: 'How long a statement may run; 0 for no limit.',
  },
  'svc.dateFormat': {
    type: 'string',
    default: 'yyyy-MM-dd',
    scope: 'database',
    dynamic: false,
    description: 'Pattern in which results print dates.',
  },
  'svc.dateTimeFormat': {
    type: 'string',
    default: 'yyyy-MM-dd HH:mm:ss',
    scope: 'database',
    dynamic: false,
    description:
      'Pattern in which results print date-times; the default adds fractions of a second ' +
      'where there are any.',
  },
  'svc.queryMemoryMax': {
    type: 'size',
    default: 256 * MB,
    min: MB,
    max: TB,
    scope: 'server',
    dynamic: true,
    description: 'Memory that the sorts, groups and sets of one statement may hold.',
  },
  'svc.queryMemoryTotalMax': {
    type: 'size',
    default: GB,
    min: MB,
    max: TB,
    scope: 'server',
    dynamic: true,
    description: 'Memory that all statements which run may hold together.',
  },
  'svc.javascript.callTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: SECOND,
    min: 1,
    max: MINUTE,
    scope: 'server',
    dynamic: true,
    description:
      'Time of the processor that a call of JavaScript may take in a read, on a thread of its own.',
  },
  'svc.javascript.networkCallTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 20,
    min: 1,
    max: MINUTE,
    scope: 'server',
    dynamic: true,
    description:
      'The same in a write, which runs on the network thread; a read that takes longer moves to ' +
      'a thread of its own.',
  },
  'svc.keptMemoryMax': {
    type: 'size',
    default: 512 * MB,
    min: MB,
    max: TB,
    scope: 'server',
    dynamic: true,
    description:
      'Memory for session parameters, global variables, open transactions, fetched files and ' +
      'large bodies of requests of all users but root.',
  },
  'svc.keptMemoryMaxPerUser': {
    type: 'size',
    default: 256 * MB,
    min: MB,
    max: TB,
    scope: 'server',
    dynamic: true,
    description: 'The same for one user; root has no such bound.',
  },
  'svc.graphViewMemoryMax': {
    type: 'size',
    default: 512 * MB,
    min: 0,
    max: TB,
    scope: 'server',
    dynamic: true,
    description:
      'Memory for edges that are kept packed where they are read again and again; 0 keeps none.',
  },
  'svc.scanWorkers': {
    type: 'integer',
    default: -1,
    min: -1,
    max: 64,
    scope: 'server',
    dynamic: false,
    description:
      'Threads that long reads may take, one each, started when needed; 0 for none, -1 for one ' +
      'less than the machine has processors, at least one.',
  },
  'svc.scanWorkerCostMin': {
    type: 'integer',
    default: 50_000,
    min: 0,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: true,
    description:
      'Estimated steps (records passed over in a scan, about a quarter of a microsecond) from ' +
      'which on a read takes a thread of its own.',
  },
  'svc.columnViewMemoryMax': {
    type: 'size',
    default: 512 * MB,
    min: 0,
    max: TB,
    scope: 'server',
    dynamic: true,
    description:
      'Memory for columns that are kept of scanned types and of ranges of indexes, so that sums ' +
      'and groups over many records need not read them again; 0 keeps none.',
  },
  'svc.searchMemoryMax': {
    type: 'size',
    default: 256 * MB,
    min: 0,
    max: TB,
    scope: 'server',
    dynamic: true,
    description:
      'Memory for decoded lists of full-text and sparse indexes, 7 bytes a posting; without it ' +
      'searches read the store.',
  },
  'svc.vectorIndexMemoryMax': {
    type: 'size',
    default: 1024 * MB,
    min: 0,
    max: TB,
    scope: 'server',
    dynamic: true,
    description:
      'Memory for the vectors and graphs of dense vector indexes; an index that does not fit is ' +
      'not kept, and each search measures all its entries. 0 keeps none.',
  },
  'svc.sparseVectorScoringWindow': {
    type: 'integer',
    default: 16_384,
    min: 0,
    max: 1 << 24,
    scope: 'server',
    dynamic: true,
    description:
      'Records whose sparse vectors are scored at once; 0: one block of 128 after the other.',
  },
  'svc.columnViewRecordsMin': {
    type: 'integer',
    default: 10_000,
    min: 1,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: true,
    description:
      'Of types with fewer records no columns are kept: reading them is fast enough. Of an index ' +
      'none before so many of its entries were asked for.',
  },
  'svc.queryValueSizeMax': {
    type: 'size',
    default: 64 * MB,
    min: 64 * KB,
    max: GB,
    scope: 'server',
    dynamic: true,
    description: 'Largest list, map or text that an expression may make, and row of an answer.',
  },
  'svc.opencypher.loadCsv.allowFileUrls': {
    type: 'boolean',
    default: false,
    scope: 'server',
    dynamic: true,
    description:
      'Whether LOAD CSV may read files of this machine, for users who may change security.',
  },
  'svc.opencypher.loadCsv.importDirectory': {
    type: 'path',
    default: '',
    scope: 'server',
    dynamic: true,
    description:
      'Directory that the files of LOAD CSV are named from and must lie below; empty: anywhere.',
  },
  'svc.opencypher.loadCsv.allowRemoteUrls': {
    type: 'boolean',
    default: true,
    scope: 'server',
    dynamic: true,
    description: 'Whether LOAD CSV may read addresses of http and https.',
  },
  'svc.opencypher.loadCsv.blockedIpRanges': {
    type: 'string',
    default:
      '127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,0.0.0.0/8,' +
      '100.64.0.0/10,192.0.0.0/24,198.18.0.0/15,224.0.0.0/4,240.0.0.0/4,255.255.255.255/32,' +
      '::/96,fe80::/10,fec0::/10,fc00::/7,ff00::/8,64:ff9b::/96,64:ff9b:1::/48,2001::/32,2002::/16',
    scope: 'server',
    dynamic: true,
    description:
      'IP ranges that LOAD CSV never connects to, whatever name or redirect leads there.',
  },
  'svc.opencypher.loadCsv.maxRemoteSize': {
    type: 'size',
    default: 64 * MB,
    min: KB,
    max: 2 * GB,
    scope: 'server',
    dynamic: true,
    description: 'Bytes that LOAD CSV reads from one address at most.',
  },
  'svc.queryMaxConcurrent': {
    type: 'integer',
    default: -1,
    min: -1,
    max: 1_000_000,
    scope: 'server',
    dynamic: true,
    description:
      'Statements of clients that run at once; 0 for as many as come, -1 for twice as many as ' +
      'there are processors.',
  },
  'svc.queryMaxConcurrentPerUser': {
    type: 'integer',
    default: 0,
    min: 0,
    max: 1_000_000,
    scope: 'server',
    dynamic: true,
    description:
      'Statements of one user that run at once; 0 for as many as leave a place for another user ' +
      'and one for root, who has no such bound.',
  },
  'svc.queryAdmissionHeapWatermark': {
    type: 'integer',
    default: 80,
    min: 1,
    max: 100,
    scope: 'server',
    dynamic: true,
    description:
      'Percentage of `svc.queryMemoryTotalMax` beyond which the next statement waits for its ' +
      'turn.',
  },
  'svc.queryQueueTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 30 * SECOND,
    min: 0,
    max: DAY,
    scope: 'server',
    dynamic: true,
    description: 'How long a statement waits for its turn before it is refused; 0 does not wait.',
  },
  'svc.queryQueueMaxSize': {
    type: 'integer',
    default: 256,
    min: 0,
    max: 1_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Statements that may wait for their turn; the next one is refused at once.',
  },
} as const satisfies Record<string, SettingRow>;

/** The name of one setting. */
export type SettingKey = keyof typeof settingRows;

/** What `settings.get(key)` answers: sizes are bytes, durations milliseconds. */
export type SettingValue<Key extends SettingKey> = ValueOf<(typeof settingRows)[Key]>;

type ValueOf<Row> = Row extends {readonly type: 'boolean'}
  ? boolean
  : Row extends {readonly type: 'integer' | 'size' | 'duration'}
    ? number
    : Row extends {readonly type: 'ports'}
      ? Ports
      : Row extends {readonly type: 'enum'; readonly values: readonly (infer Value)[]}
        ? Value
        : string;

/** Every name of the table, in its order. */
export const settingKeys: readonly SettingKey[] = Object.keys(settingRows) as SettingKey[];

/** Whether `key` is a row of the table; for names that people wrote. */
export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(settingRows, key);
}
