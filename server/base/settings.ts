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
import {
  DAY,
  GB,
  HOUR,
  KB,
  MB,
  MINUTE,
  type Ports,
  SECOND,
  type SettingRow,
  TB,
} from './setting-row.ts';
import {clusterSettingRows} from './settings-cluster.ts';

export const settingRows = {
  // Who the server is and where its files lie.
  'svc.server.name': {
    type: 'string',
    default: 'svc_0',
    scope: 'server',
    dynamic: false,
    description:
      'Name of this server: unique in its cluster and part of the name of its log folder.',
  },
  'svc.server.mode': {
    type: 'enum',
    values: ['development', 'test', 'production'],
    default: 'development',
    scope: 'server',
    dynamic: false,
    description: 'In production, errors leave out their details and the web tool is off.',
  },
  'svc.server.rootPath': {
    type: 'path',
    default: '.',
    scope: 'server',
    dynamic: false,
    description: 'Folder that holds everything the server writes; nothing is written outside it.',
  },
  'svc.server.databaseDirectory': {
    type: 'path',
    default: '${svc.server.rootPath}/databases',
    scope: 'server',
    dynamic: false,
    description: 'Folder of the databases, one subfolder each.',
  },
  'svc.server.configDirectory': {
    type: 'path',
    default: '${svc.server.rootPath}/config',
    scope: 'server',
    dynamic: false,
    description: 'Folder of the configuration file and of users, groups and tokens.',
  },
  'svc.server.rootPassword': {
    type: 'string',
    default: '',
    secret: true,
    scope: 'server',
    dynamic: false,
    description: 'Password that the user root gets at the first start.',
  },
  'svc.server.rootPasswordPath': {
    type: 'path',
    default: '',
    scope: 'server',
    dynamic: false,
    description: 'File with the password of root at the first start; white space around it is cut.',
  },
  'svc.server.defaultDatabases': {
    type: 'string',
    default: '',
    scope: 'server',
    dynamic: false,
    description:
      'Databases to create at start where missing: name[user:password,...] parts joined by ;.',
  },
  'svc.server.sampleDatabase': {
    type: 'string',
    default: '',
    scope: 'server',
    dynamic: false,
    description: 'Name of a database to create with sample data where missing; empty for none.',
  },
  'svc.server.shutdownTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    min: 0,
    max: HOUR,
    scope: 'server',
    dynamic: false,
    description: 'How long a stop waits for running requests before it ends them.',
  },
  'svc.server.readinessRequiresHA': {
    type: 'boolean',
    default: false,
    scope: 'server',
    dynamic: true,
    description:
      'Whether /ready asks for a leader too, for membership, and that this server is not behind.',
  },
  'svc.server.readinessHAMaxLag': {
    type: 'integer',
    default: 100,
    min: 0,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Entries that a server may be behind and still count as ready.',
  },
  'svc.log.level': {
    type: 'enum',
    values: ['error', 'warn', 'info', 'debug'],
    default: 'info',
    scope: 'server',
    dynamic: true,
    description: 'Least severe level of the lines that are logged.',
  },

  // HTTP.
  'svc.server.httpIncomingHost': {
    type: 'string',
    default: '0.0.0.0',
    scope: 'server',
    dynamic: false,
    description: 'Address the HTTP server listens on.',
  },
  'svc.server.httpIncomingPort': {
    type: 'ports',
    default: {from: 2480, to: 2480},
    scope: 'server',
    dynamic: false,
    description: 'Port of the HTTP server, or a range from-to whose first free port is taken.',
  },
  'svc.server.httpsIncomingPort': {
    type: 'ports',
    default: {from: 2490, to: 2490},
    scope: 'server',
    dynamic: false,
    description:
      'Port of HTTPS, or a range from-to whose first free port is taken; see svc.ssl.enabled.',
  },
  'svc.ssl.enabled': {
    type: 'boolean',
    default: false,
    scope: 'server',
    dynamic: false,
    description: 'Whether the server listens for HTTPS too, with the certificate of the key store.',
  },
  'svc.ssl.keyStore': {
    type: 'path',
    default: '',
    scope: 'server',
    dynamic: false,
    description:
      'File with the private key and the chain of certificates: PEM or PKCS#12. A new one in its ' +
      'place is taken over within a minute.',
  },
  'svc.ssl.keyStorePassword': {
    type: 'string',
    default: '',
    scope: 'server',
    dynamic: false,
    secret: true,
    description: 'Password of the key store, if it has one.',
  },
  'svc.ssl.trustStore': {
    type: 'path',
    default: '',
    scope: 'server',
    dynamic: false,
    description:
      'File with the certificates, in PEM, of the authorities that vouch for the HTTPS of other ' +
      'members of the cluster; empty: those that the system knows.',
  },
  'svc.server.apiTokenRequireSecureTransport': {
    type: 'boolean',
    default: false,
    scope: 'server',
    dynamic: true,
    description:
      'Refuse to make API tokens (412) unless the request came over HTTPS, from this machine, or ' +
      'through a listed proxy; when off, the log warns instead.',
  },
  'svc.server.apiTokenTrustedProxies': {
    type: 'string',
    default: '',
    scope: 'server',
    dynamic: false,
    description:
      'Addresses or ranges (10.0.0.0/8), between commas, of proxies that end TLS: their ' +
      'X-Forwarded-Proto and Forwarded headers are believed when an API token is made.',
  },
  'svc.server.httpBodyContentMaxSize': {
    type: 'size',
    default: 100 * MB,
    min: -1,
    max: 16 * GB,
    scope: 'server',
    dynamic: true,
    description: 'Largest body of a request as it arrives; streamed batches are not counted.',
  },
  'svc.serverMetrics': {
    type: 'boolean',
    default: true,
    scope: 'server',
    dynamic: true,
    description: 'Whether the figures of the server can be scraped at /prometheus.',
  },
  'svc.serverMetrics.prometheus.requireAuthentication': {
    type: 'string',
    default: 'true',
    scope: 'server',
    dynamic: false,
    description:
      'Whether whoever scrapes must be a user. Only the word false opens it; any other than true ' +
      'is warned of at the start.',
  },
  'svc.server.httpSessionExpireTimeout': {
    type: 'duration',
    unit: 'seconds',
    default: 30 * SECOND,
    min: SECOND,
    max: DAY,
    scope: 'server',
    dynamic: true,
    description: 'How long a transaction over HTTP may stay idle before it is rolled back.',
  },
  'svc.server.httpAuthSessionExpireTimeout': {
    type: 'duration',
    unit: 'seconds',
    default: 30 * MINUTE,
    min: SECOND,
    max: 30 * DAY,
    scope: 'server',
    dynamic: true,
    description: 'How long a login may stay unused before its token ends.',
  },
  'svc.server.httpAuthSessionAbsoluteTimeout': {
    type: 'duration',
    unit: 'seconds',
    default: 0,
    min: 0,
    max: 365 * DAY,
    scope: 'server',
    dynamic: true,
    description: 'How long a login lasts at most, used or not; 0 for no such end.',
  },
  'svc.server.httpAuthSessionMax': {
    type: 'integer',
    default: 10_000,
    min: 1,
    max: 10_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Most logins that are open at once.',
  },
  'svc.server.httpQueryDefaultLimit': {
    type: 'integer',
    default: 20_000,
    min: -1,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Rows of an answer when a request states no limit; -1 for no limit.',
  },
  'svc.server.httpQueryMaxResultRows': {
    type: 'integer',
    default: 1_000_000,
    min: -1,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Rows that one unstreamed answer may carry at most; -1 for no ceiling.',
  },
  'svc.server.httpStreamingKeepAliveInterval': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * SECOND,
    min: 0,
    max: HOUR,
    scope: 'server',
    dynamic: true,
    description: 'Silence after which a streamed answer sends an empty line; 0 sends none.',
  },
  'svc.network.socketTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 30 * SECOND,
    min: 100,
    max: HOUR,
    scope: 'server',
    dynamic: false,
    description: 'How long a connection may take to send its headers, or pause within a body.',
  },
  'svc.network.requestTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 5 * MINUTE,
    min: 100,
    max: DAY,
    scope: 'server',
    dynamic: false,
    description: 'How long a request may take to arrive as a whole; batches are not counted.',
  },
  'svc.network.keepAliveTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    min: 100,
    max: DAY,
    scope: 'server',
    dynamic: false,
    description: 'How long a connection may stay idle between two requests.',
  },
  'svc.network.connectionsMax': {
    type: 'integer',
    default: 10_000,
    min: 1,
    max: 1_000_000,
    scope: 'server',
    dynamic: false,
    description: 'Most connections of clients that are open at once; further ones are closed.',
  },
  'svc.ha.idempotencyCacheTtlMs': {
    type: 'duration',
    unit: 'milliseconds',
    default: MINUTE,
    min: SECOND,
    max: DAY,
    scope: 'server',
    dynamic: true,
    description: 'How long the answer to a request id is kept for a repeated request.',
  },
  'svc.ha.idempotencyCacheMaxEntries': {
    type: 'integer',
    default: 10_000,
    min: 1,
    max: 10_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Most answers that are kept for repeated requests.',
  },
  'svc.batch.idMapMax': {
    type: 'integer',
    default: 20_000_000,
    min: 1,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Most temporary ids one batch may define before it is refused.',
  },
  'svc.batch.idMapMemoryMax': {
    type: 'size',
    default: 64 * MB,
    min: MB,
    max: 64 * GB,
    scope: 'server',
    dynamic: true,
    description: 'Memory for the temporary ids of one batch; beyond it they are kept on disk.',
  },

  // Security.
  'svc.server.saltIterations': {
    type: 'integer',
    default: 65_536,
    min: 1_000,
    max: 10_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Rounds of PBKDF2 for passwords that are set from now on.',
  },
  'svc.security.hashConcurrencyMax': {
    type: 'integer',
    default: 1,
    min: 1,
    max: 64,
    scope: 'server',
    dynamic: false,
    description: 'Passwords that are hashed at the same time; the others wait.',
  },

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
      'Memory for columns that are kept of scanned types, so that sums and groups over many ' +
      'records need not read them again; 0 keeps none.',
  },
  'svc.columnViewRecordsMin': {
    type: 'integer',
    default: 10_000,
    min: 1,
    max: 1_000_000_000,
    scope: 'server',
    dynamic: true,
    description: 'Of types with fewer records no columns are kept: reading them is fast enough.',
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
      '::1/128,::/128,fe80::/10,fc00::/7,ff00::/8',
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
