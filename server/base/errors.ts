/**
 * The refusals: one row per reason to decline a request that a client can tell apart and act on.
 *
 * Four kinds of failure are never mixed. A bug is an AssertionFailure (assert.ts) and stops the
 * process. Damage found in stored bytes is a Corruption and fences the replica. A request we
 * decline is a Refusal with a code of the table below. An expected alternative that the caller
 * must branch on (committed, conflict, unknown) is a return value, not an error.
 *
 * Invariant B1: codes are never renamed and never reused; each protocol maps every code to its
 * own status in a map that the compiler keeps complete (`Record<RefusalCode, ...>`).
 */

/**
 * Whether the same request may be sent again: `never` (it would be refused again), `retryable`
 * (nothing happened, try again), `only-if-idempotent` (it may or may not have happened).
 */
export type Retry = 'never' | 'retryable' | 'only-if-idempotent';

/**
 * What kind of reason it is: a protocol that has fewer words than there are codes maps these
 * (`Record<Category, ...>`), and whoever handles errors by kind branches on them.
 *
 * `invalid`: the request is wrong as it is; `not-found`, `exists`: what it names is not there, or
 * is; `unauthenticated`, `denied`: who asks; `conflict`: another commit was faster; `limit`: it is
 * larger than one may be; `unavailable`: not now; `ended`: it was stopped, or out of time;
 * `unknown`: it may or may not have happened; `done`: it has happened before; `unsupported`: not in
 * this server; `damaged`: stored bytes are not what was written.
 */
export type Category =
  | 'invalid'
  | 'not-found'
  | 'exists'
  | 'unauthenticated'
  | 'denied'
  | 'conflict'
  | 'limit'
  | 'unavailable'
  | 'ended'
  | 'unknown'
  | 'done'
  | 'unsupported'
  | 'damaged';

interface RefusalRow {
  readonly category: Category;
  readonly retry: Retry;
  /** The exception class that clients of the documented protocols look for. */
  readonly exception: string;
  readonly says: string;
}

/** Makes rows of one kind: the exception class, then what a person is told. */
function rowOf(category: Category, retry: Retry): (exception: string, says: string) => RefusalRow {
  return (exception, says) => ({category, retry, exception, says});
}

const invalid = rowOf('invalid', 'never');
const notFound = rowOf('not-found', 'never');
const exists = rowOf('exists', 'never');
const denied = rowOf('denied', 'never');
const limit = rowOf('limit', 'never');
const unavailable = rowOf('unavailable', 'retryable');
const ended = rowOf('ended', 'never');
const done = rowOf('done', 'never');
const damaged = rowOf('damaged', 'never');

/** What a caller may rely on about every refusal, by code. */
export const refusals = {
  // The statement.
  'sql.syntax': invalid('CommandSQLParsingException', 'the SQL text cannot be parsed'),
  'cypher.syntax': invalid(
    'CommandParsingException',
    'the Cypher text cannot be parsed, or means nothing',
  ),
  'query.semantic': invalid(
    'CommandSemanticException',
    'the statement is well formed but means nothing',
  ),
  'query.unknown-language': invalid('IllegalArgumentException', 'no such query language'),
  'query.unknown-name': invalid(
    'CommandSemanticException',
    'the statement names something that does not exist',
  ),
  'query.unknown-function': invalid('CommandExecutionException', 'no such function or method'),
  'query.parameter': invalid(
    'IllegalArgumentException',
    'a parameter of the statement is missing or unusable',
  ),
  'query.parameter-missing': invalid(
    'CommandParameterMissingException',
    'the statement names a parameter that is not given',
  ),
  'query.option': invalid(
    'CommandSQLParsingException',
    'an option of a function is unknown or cannot be used',
  ),
  'query.execution': invalid(
    'CommandExecutionException',
    'the statement cannot be carried out on this data',
  ),
  'search.syntax': invalid('FullTextQueryParseException', 'the full-text query cannot be read'),
  'index.not-ready': unavailable(
    'NeedRetryException',
    'an index that a search asks for is still being built',
  ),
  'source.refused': denied(
    'SecurityException',
    'a file or address that a statement reads from is not allowed',
  ),
  'source.address-refused': denied(
    'RestoreImportUrlNotAllowedException',
    'an address that a database is restored or imported from is not allowed',
  ),
  'source.unreadable': invalid(
    'CommandExecutionException',
    'a file or address that a statement reads from cannot be read',
  ),
  'source.malformed': invalid(
    'CommandExecutionException',
    'what a statement reads from outside is not of the form that was promised',
  ),
  'query.not-idempotent': invalid(
    'QueryNotIdempotentException',
    'a statement that writes came over a route that only reads',
  ),
  'query.timeout': ended('TimeoutException', 'the statement ran longer than allowed'),
  'query.terminated': ended(
    'CommandExecutionException',
    'the statement was terminated by an administrator or by its client',
  ),
  'query.memory': limit(
    'QueryHeapBudgetExceededException',
    'the statement needs more memory than one statement may hold',
  ),
  'query.memory-total': unavailable(
    'QueryHeapBudgetExceededException',
    'the statements that run need more memory than the server has for them',
  ),
  'query.result-too-large': limit(
    'ResultSetTooLargeException',
    'the result has more rows than one answer may carry',
  ),
  'javascript.failed': invalid(
    'FunctionExecutionException',
    'a program in JavaScript is malformed, threw an error or used up what it may',
  ),
  arithmetic: invalid('ArithmeticErrorException', 'an arithmetic operation has no result'),
  argument: invalid(
    'IllegalArgumentException',
    'an argument of the request is missing or unusable',
  ),
  'not-available': rowOf('unsupported', 'never')(
    'UnsupportedOperationException',
    'a documented feature that this server does not offer yet',
  ),

  // The schema and the values it guards.
  'schema.unknown-type': notFound('SchemaException', 'no such type'),
  'schema.unknown-property': notFound('SchemaException', 'no such property'),
  'schema.unknown-index': notFound('SchemaException', 'no such index'),
  'schema.unknown-bucket': notFound('SchemaException', 'no such bucket'),
  'schema.unknown-trigger': notFound('CommandExecutionException', 'no such trigger'),
  'schema.exists': exists(
    'AlreadyExistsException',
    'something of that kind and name is in the schema already',
  ),
  'schema.conflict': invalid(
    'SchemaException',
    'the change contradicts the schema or the stored records',
  ),
  'value.validation': invalid(
    'ValidationException',
    'a value breaks a rule that its property declares',
  ),
  'trigger.refused': invalid(
    'TriggerExecutionException',
    'a trigger failed, or forbade what the statement cannot do without',
  ),
  'value.type': invalid(
    'IllegalArgumentException',
    'a value does not fit the type its property declares',
  ),

  // Commits and transactions.
  'commit.conflict': rowOf('conflict', 'retryable')(
    'ConcurrentModificationException',
    'another commit changed what this one read or wrote',
  ),
  'commit.duplicate-key': exists('DuplicatedKeyException', 'a unique index holds that key already'),
  'commit.unknown': rowOf('unknown', 'only-if-idempotent')(
    'CommitOutcomeUnknownException',
    'the commit may or may not have happened',
  ),
  'commit.queue-full': unavailable(
    'ReplicationQueueFullException',
    'too many commits wait for the log',
  ),
  'transaction.gone': notFound('HttpSessionException', 'no such transaction, or it has ended'),
  'transaction.expired': notFound(
    'HttpSessionException',
    'the transaction was idle or open for longer than allowed and was rolled back',
  ),
  'transaction.failed': notFound(
    'HttpSessionException',
    'a statement failed, so the transaction was rolled back and runs nothing more',
  ),
  'transaction.too-large': limit(
    'TransactionException',
    'the transaction writes more than one transaction may',
  ),
  'request.reused': done(
    'TransactionCommittedRemotelyException',
    'the request with this id was committed before; its answer is not kept: read again',
  ),
  'request.in-flight': unavailable(
    'RequestStillInFlightException',
    'the same request is being carried out; ask again with the same id for its answer',
  ),
  'record.not-found': notFound('RecordNotFoundException', 'no such record'),

  // Databases, users, access.
  'database.not-found': notFound(
    'DatabaseNotAvailableException',
    'no such database, or it is closed',
  ),
  'database.missing': notFound(
    'DatabaseNotFoundException',
    'an administrative command names a database that does not exist',
  ),
  'database.exists': exists('DatabaseAlreadyExistsException', 'a database of that name exists'),
  'database.name': invalid('IllegalArgumentException', 'the name cannot be that of a database'),
  'database.operation': invalid(
    'DatabaseOperationException',
    'a command about the database as a whole cannot be carried out as it was given',
  ),
  'database.fenced': damaged(
    'DatabaseNotAvailableException',
    'damage was found, so the database answers nothing until it is repaired',
  ),
  'database.behind': unavailable(
    'NeedRetryException',
    'what was committed last is not in the database yet: its disk or its merging is behind',
  ),
  'backup.running': unavailable(
    'DatabaseOperationException',
    'a backup of the database is under way',
  ),
  'backup.archive': invalid(
    'DatabaseOperationException',
    'an archive is missing, damaged, foreign, of a newer release or of another key',
  ),
  'security.unauthenticated': rowOf('unauthenticated', 'never')(
    'ServerSecurityException',
    'the credentials are missing or wrong',
  ),
  'security.denied': denied('SecurityException', 'the user may not do this'),
  'security.changed': rowOf('ended', 'retryable')(
    'SecurityException',
    'rights of the user were taken while it ran, so it was ended: nothing more is stored',
  ),
  'security.locked': rowOf('unauthenticated', 'retryable')(
    'ServerSecurityException',
    'too many wrong passwords, so the user must wait',
  ),
  'security.root-only': denied('ServerSecurityException', 'only the user root may do this'),
  'user.invalid': invalid(
    'ServerSecurityException',
    'a user cannot be saved like this: its name, password or grants break a rule',
  ),
  'user.exists': exists('UserAlreadyExistsException', 'a user of that name exists'),
  'user.missing': notFound('IllegalArgumentException', 'no such user'),
  'token.exists': exists('AlreadyExistsException', 'an API token of that name exists'),
  'token.transport': denied(
    'ServerSecurityException',
    'others could read the new API token on its way, and the setting forbids that',
  ),

  // Limits.
  'admission.full': unavailable('QueryAdmissionException', 'too many statements run and wait'),
  'limit.body': limit('IllegalArgumentException', 'the body of the request is larger than allowed'),
  'limit.record': limit('IllegalArgumentException', 'a record is larger than allowed'),
  'limit.entry': limit(
    'ReplicatedEntryTooLargeException',
    'a commit does not fit into one entry of the log',
  ),
  'limit.index-key': limit(
    'IllegalArgumentException',
    'a value is too large to be the key of an index',
  ),
  'limit.depth': limit(
    'IllegalArgumentException',
    'the value or statement is nested deeper than allowed',
  ),
  'json.invalid': invalid('JSONException', 'the JSON cannot be read'),
  'request.field': invalid(
    'RequestRefusedBeforeExecutionException',
    'a field of the request is missing or unusable, so nothing was executed',
  ),
  'batch.record': invalid('MalformedBatchRecordException', 'a line of a batch cannot be read'),
  'batch.truncated': invalid('MalformedBatchRecordException', 'the batch ended in the middle'),

  // The server itself.
  'setting.unknown': invalid('IllegalArgumentException', 'no such setting'),
  'number.format': invalid('NumberFormatException', 'a text that should be a number is none'),
  'setting.value': invalid(
    'IllegalArgumentException',
    'the value of a setting has the wrong type or is out of range',
  ),
  'start.refused': rowOf('unavailable', 'never')(
    'ConfigurationException',
    'the server cannot start this way',
  ),
  'server.stopping': unavailable('NeedRetryException', 'the server is starting or stopping'),
  'storage.full': unavailable('NeedRetryException', 'the disk has no room for another commit'),

  // The cluster.
  'cluster.not-leader': unavailable(
    'ServerIsNotTheLeaderException',
    'only the leader takes this, and this server does not lead',
  ),
  'changes.lost': ended(
    'CommandExecutionException',
    'changes that a reader has not read are not kept any more',
  ),
  'cluster.no-leader': unavailable(
    'ServerIsNotTheLeaderException',
    'nobody leads the cluster now, so nothing was carried out',
  ),
  'cluster.no-quorum': unavailable(
    'QuorumNotReachedException',
    'too few members answer; nothing was changed',
  ),
  'cluster.absent': invalid(
    'OperationNotAvailableException',
    'the server runs alone, so there is no cluster to ask',
  ),
  'cluster.peer': invalid(
    'IllegalArgumentException',
    'the request names a peer that cannot be meant',
  ),
  'cluster.membership': invalid(
    'ConfigurationException',
    'the members of the cluster do not allow the change',
  ),
  'cluster.snapshot-busy': unavailable(
    'NeedRetryException',
    'as many snapshots are being given out as may be; ask again later',
  ),
  'cluster.snapshot-pending': damaged(
    'DatabaseNotAvailableException',
    'the database is not available: interrupted snapshot install',
  ),
  'commit.applied-remotely': done(
    'TransactionCommittedRemotelyException',
    'the commit happened, and this server could not apply it: read again, do not repeat',
  ),
} as const satisfies Record<string, RefusalRow>;

/** The name of one row of the table. */
export type RefusalCode = keyof typeof refusals;

/** Where in a text a refusal points: line and column from 1, in UTF-16 code units. */
export interface SourceLocation {
  readonly line: number;
  readonly column: number;
}

/** Machine data of one refusal; protocols pass them on by name. */
export type RefusalDetail = Readonly<Record<string, string | number>>;

export interface RefusalOptions {
  readonly detail?: RefusalDetail;
  readonly place?: SourceLocation | undefined;
  readonly cause?: unknown;
}

/**
 * A request that we decline.
 *
 * @param code - Row of the table above.
 * @param message - One sentence for a person: what, where, and what to do.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly detail: RefusalDetail;
  readonly place: SourceLocation | undefined;

  constructor(code: RefusalCode, message: string, options: RefusalOptions = {}) {
    super(message, options.cause === undefined ? undefined : {cause: options.cause});
    this.code = code;
    this.detail = options.detail ?? {};
    this.place = options.place;
  }

  get category(): Category {
    return refusals[this.code].category;
  }

  /** Whether the same request may be sent again. */
  get retry(): Retry {
    return refusals[this.code].retry;
  }

  /** The exception class that clients of the documented protocols look for. */
  get exception(): string {
    return refusals[this.code].exception;
  }
}

/** Whether `code` is a row of the table; for values read from the wire. */
export function isRefusalCode(code: string): code is RefusalCode {
  return Object.hasOwn(refusals, code);
}

/**
 * Stored bytes that are not what was written: a wrong checksum, an impossible length.
 *
 * Raised where it is detected and never turned into a Refusal on the way; the replica fences
 * itself. `detail` says where the bytes lie.
 */
export class Corruption extends Error {
  override readonly name = 'Corruption';
  readonly detail: RefusalDetail;

  constructor(message: string, detail: RefusalDetail = {}) {
    super(message);
    this.detail = detail;
  }
}

/** What a person is told of an error, whatever was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Somebody told it to stop, or nobody waits for it any more. */
export function queryTerminated(): Refusal {
  return new Refusal('query.terminated', 'the query was terminated');
}

const ofStoreFile = 'ofStoreFile';

/**
 * What the files of a store hold is not what was written to them: a checksum of theirs says so.
 * Another copy of the store may well be sound, unlike with damage that was copied.
 */
export function storeDamage(message: string): Corruption {
  return new Corruption(message, {[ofStoreFile]: 1});
}

/** Whether it is damage of a store's files, on this thread or another one. */
export function isStoreDamage(error: unknown): error is Corruption {
  return error instanceof Corruption && error.detail[ofStoreFile] === 1;
}
