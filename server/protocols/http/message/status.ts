/**
 * Every refusal's HTTP status and short label (docs/errors.md). The compiler holds the table
 * complete: a code added to base/errors.ts fails here until somebody decides.
 *
 * Rule: a client's mistake is 4xx, also where the reference system answers 500; a missing thing is
 * 404; what may be sent again is 503; what happened already must not be sent again is 409.
 */
import type {Refusal, RefusalCode} from '#server/base/errors.ts';

export interface StatusRow {
  readonly status: number;
  readonly error: string;
  /** Seconds after which it is worth to ask again: the header `Retry-After`. */
  readonly retryAfter?: number;
}

const command = 'Cannot execute command';
const session = 'Remote transaction session not found or expired';
const denied = 'Security error';
const payload = 'Invalid JSON payload';

export const statusOf = {
  'sql.syntax': {status: 400, error: command},
  'cypher.syntax': {status: 400, error: command},
  'query.semantic': {status: 400, error: command},
  'query.unknown-language': {status: 400, error: command},
  'query.unknown-name': {status: 400, error: command},
  'query.unknown-function': {status: 400, error: command},
  'query.parameter': {status: 400, error: command},
  'query.parameter-missing': {status: 400, error: command},
  'query.option': {status: 400, error: command},
  'query.execution': {status: 400, error: command},
  'search.syntax': {status: 400, error: command},
  'index.not-ready': {status: 503, error: 'Index not ready', retryAfter: 1},
  'source.refused': {status: 403, error: denied},
  'source.address-refused': {status: 403, error: denied},
  'source.unreadable': {status: 400, error: command},
  'source.malformed': {status: 400, error: command},
  'query.not-idempotent': {status: 400, error: 'Query is not idempotent'},
  'query.timeout': {status: 503, error: command},
  'query.terminated': {status: 409, error: 'Query terminated'},
  'query.memory': {status: 400, error: command},
  'query.memory-total': {status: 503, error: command, retryAfter: 1},
  'query.result-too-large': {
    status: 413,
    error: 'Result set too large for a single response (svc.server.httpQueryMaxResultRows)',
  },
  'javascript.failed': {status: 400, error: command},
  arithmetic: {status: 400, error: command},
  argument: {status: 400, error: command},
  'not-available': {status: 501, error: command},

  'schema.unknown-type': {status: 404, error: command},
  'schema.unknown-property': {status: 404, error: command},
  'schema.unknown-index': {status: 404, error: command},
  'schema.unknown-bucket': {status: 404, error: command},
  'schema.unknown-trigger': {status: 404, error: command},
  'schema.exists': {status: 409, error: 'Already exists'},
  'schema.conflict': {status: 400, error: command},
  'value.validation': {status: 400, error: command},
  'trigger.refused': {status: 400, error: command},
  'value.type': {status: 400, error: command},

  'commit.conflict': {status: 503, error: command},
  'commit.duplicate-key': {status: 409, error: 'Found duplicate key in index'},
  'commit.unknown': {status: 503, error: 'Error on transaction commit'},
  'commit.queue-full': {status: 503, error: command, retryAfter: 1},
  'transaction.gone': {status: 404, error: session},
  'transaction.expired': {status: 404, error: session},
  'transaction.failed': {status: 404, error: session},
  'transaction.too-large': {status: 413, error: 'Error on transaction commit'},
  'request.reused': {status: 409, error: 'Committed before, do not retry'},
  'request.in-flight': {status: 409, error: 'Request still in flight', retryAfter: 1},
  'record.not-found': {status: 404, error: 'Record not found'},

  'database.not-found': {status: 404, error: 'Database not found'},
  'database.missing': {status: 404, error: 'Database not found'},
  'database.exists': {status: 409, error: 'Database already exists'},
  'database.name': {status: 400, error: command},
  'database.operation': {status: 400, error: command},
  'database.fenced': {status: 503, error: 'Database not available'},
  'database.behind': {status: 503, error: 'Database not available', retryAfter: 1},
  'backup.running': {status: 409, error: command},
  'backup.archive': {status: 400, error: command},
  'security.unauthenticated': {status: 401, error: 'Authentication failed'},
  'security.denied': {status: 403, error: denied},
  'security.root-only': {status: 403, error: denied},
  'security.locked': {status: 401, error: 'Authentication failed'},
  'security.changed': {status: 503, error: denied},
  'user.invalid': {status: 403, error: denied},
  'user.exists': {status: 409, error: 'User already exists'},
  'user.missing': {status: 400, error: command},
  'token.exists': {status: 409, error: 'Token already exists'},
  'token.transport': {status: 412, error: 'API token creation requires a secure transport'},

  'admission.full': {status: 503, error: command, retryAfter: 1},
  'limit.body': {status: 413, error: 'Request body too large'},
  'limit.record': {status: 400, error: command},
  'limit.index-key': {status: 400, error: command},
  'limit.entry': {status: 413, error: command},
  'limit.depth': {status: 400, error: command},
  'json.invalid': {status: 400, error: payload},
  'request.field': {status: 400, error: command},
  'batch.record': {status: 400, error: command},
  'batch.truncated': {status: 408, error: command},

  'setting.unknown': {status: 400, error: command},
  'number.format': {status: 400, error: command},
  'setting.value': {status: 400, error: command},
  'start.refused': {status: 500, error: 'Internal error'},
  'server.stopping': {status: 503, error: command, retryAfter: 1},
  'storage.full': {status: 503, error: command, retryAfter: 5},
  'changes.lost': {status: 410, error: 'Changes lost'},
  'cluster.not-leader': {status: 409, error: command},
  'cluster.no-leader': {status: 503, error: command, retryAfter: 1},
  'cluster.no-quorum': {status: 503, error: command, retryAfter: 1},
  'cluster.absent': {status: 400, error: command},
  'cluster.peer': {status: 400, error: command},
  'cluster.membership': {status: 409, error: command},
  'cluster.snapshot-busy': {status: 503, error: command, retryAfter: 5},
  'cluster.snapshot-pending': {status: 503, error: command, retryAfter: 5},
  'commit.applied-remotely': {status: 409, error: 'Committed remotely, do not retry'},
} as const satisfies Record<RefusalCode, StatusRow>;

const existsLabels: ReadonlyMap<unknown, string> = new Map([
  ['TYPE', 'Type already exists'],
  ['PROPERTY', 'Property already exists'],
  ['INDEX', 'Index already exists'],
  ['BUCKET', 'Bucket already exists'],
  ['FUNCTION', 'Function already exists'],
  ['TRIGGER', 'Trigger already exists'],
  ['MATERIALIZED_VIEW', 'Materialized view already exists'],
]);

/** Status and label of one refusal. */
export function statusRow(refusal: Refusal): StatusRow {
  const row: StatusRow = statusOf[refusal.code];
  if (refusal.code !== 'schema.exists') return row;
  return {status: row.status, error: existsLabels.get(refusal.detail['args']) ?? row.error};
}

/** Codes whose machine data clients of the documented protocol parse. */
const withArguments: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  'cluster.not-leader',
  'commit.duplicate-key',
  'query.result-too-large',
  'schema.exists',
]);

/** Machine data for a client: `index|keys|rid`, a ceiling, a kind; undefined for the others. */
export function exceptionArguments({code, detail}: Refusal): string | undefined {
  const args = detail['args'];
  return args === undefined || !withArguments.has(code) ? undefined : String(args);
}
