/**
 * The settings that say what a statement may look like and spend, and how many run at once. Rows
 * of the one table (../settings.ts).
 */
import {DAY, GB, KB, MB, MINUTE, SECOND, TB, type SettingRow} from '../setting-row.ts';

export const statementRows = {
  'svc.parser.depthMax': {
    type: 'integer',
    default: 500,
    range: [10, 2_000],
    dynamic: true,
    description: 'Deepest nesting of a statement or of a value in JSON.',
  },
  'svc.parser.statementSizeMax': {
    type: 'size',
    default: 4 * MB,
    range: [KB, 256 * MB],
    dynamic: true,
    description: 'Longest text of a statement.',
  },
  'svc.parser.columnsMax': {
    type: 'integer',
    default: 4_096,
    range: [100, 100_000],
    dynamic: true,
    description:
      'Most columns of a projection, keys of an order or a grouping, variables of a `LET` and ' +
      'assignments of a `SET`.',
  },
  'svc.command.timeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 0,
    range: [0, 7 * DAY],
    scope: 'database',
    dynamic: true,
    description: 'How long a statement may run; 0 for no limit.',
  },
  'svc.dateFormat': {
    type: 'string',
    default: 'yyyy-MM-dd',
    scope: 'database',
    description: 'Pattern in which results print dates.',
  },
  'svc.dateTimeFormat': {
    type: 'string',
    default: 'yyyy-MM-dd HH:mm:ss',
    scope: 'database',
    description:
      'Pattern in which results print date-times; the default adds fractions of a second ' +
      'where there are any.',
  },
  'svc.queryMemoryMax': {
    type: 'size',
    default: 256 * MB,
    range: [MB, TB],
    dynamic: true,
    description: 'Memory that the sorts, groups and sets of one statement may hold.',
  },
  'svc.queryMemoryTotalMax': {
    type: 'size',
    default: GB,
    range: [MB, TB],
    dynamic: true,
    description: 'Memory that all statements which run may hold together.',
  },
  'svc.javascript.callTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: SECOND,
    range: [1, MINUTE],
    dynamic: true,
    description:
      'Time of the processor that a call of JavaScript may take in a read, on a thread of its own.',
  },
  'svc.javascript.networkCallTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 20,
    range: [1, MINUTE],
    dynamic: true,
    description:
      'The same in a write, which runs on the network thread; a read that takes longer moves to ' +
      'a thread of its own.',
  },
  'svc.keptMemoryMax': {
    type: 'size',
    default: 512 * MB,
    range: [MB, TB],
    dynamic: true,
    description:
      'Memory for session parameters, global variables, open transactions, fetched files, ' +
      'large bodies of requests and bulk loads of all users but root.',
  },
  'svc.keptMemoryMaxPerUser': {
    type: 'size',
    default: 256 * MB,
    range: [MB, TB],
    dynamic: true,
    description: 'The same for one user; root has no such bound.',
  },
  'svc.queryValueSizeMax': {
    type: 'size',
    default: 64 * MB,
    range: [64 * KB, GB],
    dynamic: true,
    description: 'Largest list, map or text that an expression may make, and row of an answer.',
  },
  'svc.opencypher.loadCsv.allowFileUrls': {
    type: 'boolean',
    default: false,
    dynamic: true,
    description:
      'Whether LOAD CSV may read files of this machine, for users who may change security.',
  },
  'svc.opencypher.loadCsv.importDirectory': {
    type: 'path',
    default: '',
    dynamic: true,
    description:
      'Directory that the files of LOAD CSV are named from and must lie below; empty: anywhere.',
  },
  'svc.opencypher.loadCsv.allowRemoteUrls': {
    type: 'boolean',
    default: true,
    dynamic: true,
    description: 'Whether LOAD CSV may read addresses of http and https.',
  },
  'svc.opencypher.loadCsv.blockedIpRanges': {
    type: 'string',
    default:
      '127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,0.0.0.0/8,' +
      '100.64.0.0/10,192.0.0.0/24,198.18.0.0/15,224.0.0.0/4,240.0.0.0/4,255.255.255.255/32,' +
      '::/96,fe80::/10,fec0::/10,fc00::/7,ff00::/8,64:ff9b::/96,64:ff9b:1::/48,2001::/32,2002::/16',
    dynamic: true,
    description:
      'IP ranges that LOAD CSV never connects to, whatever name or redirect leads there.',
  },
  'svc.opencypher.loadCsv.maxRemoteSize': {
    type: 'size',
    default: 64 * MB,
    range: [KB, 2 * GB],
    dynamic: true,
    description: 'Bytes that LOAD CSV reads from one address at most.',
  },
  'svc.queryMaxConcurrent': {
    type: 'integer',
    default: -1,
    range: [-1, 1_000_000],
    dynamic: true,
    description:
      'Statements of clients that run at once; 0 for as many as come, -1 for twice as many as ' +
      'there are processors.',
  },
  'svc.queryMaxConcurrentPerUser': {
    type: 'integer',
    default: 0,
    range: [0, 1_000_000],
    dynamic: true,
    description:
      'Statements of one user that run at once; 0 for as many as leave a place for another user ' +
      'and one for root, who has no such bound.',
  },
  'svc.queryAdmissionHeapWatermark': {
    type: 'integer',
    default: 80,
    range: [1, 100],
    dynamic: true,
    description:
      'Percentage of `svc.queryMemoryTotalMax`, and once a statement was refused for want of ' +
      'memory of the heap too, beyond which the next statement waits for its turn.',
  },
  'svc.queryQueueTimeout': {
    type: 'duration',
    unit: 'milliseconds',
    default: 30 * SECOND,
    range: [0, DAY],
    dynamic: true,
    description: 'How long a statement waits for its turn before it is refused; 0 does not wait.',
  },
  'svc.queryQueueMaxSize': {
    type: 'integer',
    default: 256,
    range: [0, 1_000_000],
    dynamic: true,
    description: 'Statements that may wait for their turn; the next one is refused at once.',
  },
} as const satisfies Record<string, SettingRow>;
