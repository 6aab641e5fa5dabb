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

/** What a caller may rely on about every refusal, by code. */
export const refusals = {
  // The statement.
  'sql.syntax': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandSQLParsingException',
    says: 'the SQL text cannot be parsed',
  },
  'cypher.syntax': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandParsingException',
    says: 'the Cypher text cannot be parsed, or means nothing',
  },
  'query.semantic': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandSemanticException',
    says: 'the statement is well formed but means nothing',
  },
  'query.unknown-language': {
    category: 'invalid',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'no such query language',
  },
  'query.unknown-name': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandSemanticException',
    says: 'the statement names something that does not exist',
  },
  'query.unknown-function': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'no such function or method',
  },
  'query.parameter': {
    category: 'invalid',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'a parameter of the statement is missing or unusable',
  },
  'query.parameter-missing': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandParameterMissingException',
    says: 'the statement names a parameter that is not given',
  },
  'query.option': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandSQLParsingException',
    says: 'an option of a function is unknown or cannot be used',
  },
  'query.execution': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'the statement cannot be carried out on this data',
  },
  'search.syntax': {
    category: 'invalid',
    retry: 'never',
    exception: 'FullTextQueryParseException',
    says: 'the full-text query cannot be read',
  },
  'index.not-ready': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'an index that a search asks for is still being built',
  },
  'source.refused': {
    category: 'denied',
    retry: 'never',
    exception: 'SecurityException',
    says: 'a file or address that a statement reads from is not allowed',
  },
  'source.address-refused': {
    category: 'denied',
    retry: 'never',
    exception: 'RestoreImportUrlNotAllowedException',
    says: 'an address that a database is restored or imported from is not allowed',
  },
  'source.unreadable': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'a file or address that a statement reads from cannot be read',
  },
  'source.malformed': {
    category: 'invalid',
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'what a statement reads from outside is not of the form that was promised',
  },
  'query.not-idempotent': {
    category: 'invalid',
    retry: 'never',
    exception: 'QueryNotIdempotentException',
    says: 'a statement that writes came over a route that only reads',
  },
  'query.timeout': {
    category: 'ended',
    retry: 'never',
    exception: 'TimeoutException',
    says: 'the statement ran longer than allowed',
  },
  'query.terminated': {
    category: 'ended',
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'the statement was terminated by an administrator or by its client',
  },
  'query.memory': {
    category: 'limit',
    retry: 'never',
    exception: 'QueryHeapBudgetExceededException',
    says: 'the statement needs more memory than one statement may hold',
  },
  'query.memory-total': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'QueryHeapBudgetExceededException',
    says: 'the statements that run need more memory than the server has for them',
  },
  'query.result-too-large': {
    category: 'limit',
    retry: 'never',
    exception: 'ResultSetTooLargeException',
    says: 'the result has more rows than one answer may carry',
  },
  'javascript.failed': {
    category: 'invalid',
    retry: 'never',
    exception: 'FunctionExecutionException',
    says: 'a program in JavaScript is malformed, threw an error or used up what it may',
  },
  arithmetic: {
    category: 'invalid',
    retry: 'never',
    exception: 'ArithmeticErrorException',
    says: 'an arithmetic operation has no result',
  },
  argument: {
    category: 'invalid',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'an argument of the request is missing or unusable',
  },
  'not-available': {
    category: 'unsupported',
    retry: 'never',
    exception: 'UnsupportedOperationException',
    says: 'a documented feature that this server does not offer yet',
  },

  // The schema and the values it guards.
  'schema.unknown-type': {
    category: 'not-found',
    retry: 'never',
    exception: 'SchemaException',
    says: 'no such type',
  },
  'schema.unknown-property': {
    category: 'not-found',
    retry: 'never',
    exception: 'SchemaException',
    says: 'no such property',
  },
  'schema.unknown-index': {
    category: 'not-found',
    retry: 'never',
    exception: 'SchemaException',
    says: 'no such index',
  },
  'schema.unknown-bucket': {
    category: 'not-found',
    retry: 'never',
    exception: 'SchemaException',
    says: 'no such bucket',
  },
  'schema.unknown-trigger': {
    category: 'not-found',
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'no such trigger',
  },
  'schema.exists': {
    category: 'exists',
    retry: 'never',
    exception: 'AlreadyExistsException',
    says: 'something of that kind and name is in the schema already',
  },
  'schema.conflict': {
    category: 'invalid',
    retry: 'never',
    exception: 'SchemaException',
    says: 'the change contradicts the schema or the stored records',
  },
  'value.validation': {
    category: 'invalid',
    retry: 'never',
    exception: 'ValidationException',
    says: 'a value breaks a rule that its property declares',
  },
  'trigger.refused': {
    category: 'invalid',
    retry: 'never',
    exception: 'TriggerExecutionException',
    says: 'a trigger failed, or forbade what the statement cannot do without',
  },
  'value.type': {
    category: 'invalid',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'a value does not fit the type its property declares',
  },

  // Commits and transactions.
  'commit.conflict': {
    category: 'conflict',
    retry: 'retryable',
    exception: 'ConcurrentModificationException',
    says: 'another commit changed what this one read or wrote',
  },
  'commit.duplicate-key': {
    category: 'exists',
    retry: 'never',
    exception: 'DuplicatedKeyException',
    says: 'a unique index holds that key already',
  },
  'commit.unknown': {
    category: 'unknown',
    retry: 'only-if-idempotent',
    exception: 'CommitOutcomeUnknownException',
    says: 'the commit may or may not have happened',
  },
  'commit.queue-full': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'ReplicationQueueFullException',
    says: 'too many commits wait for the log',
  },
  'transaction.gone': {
    category: 'not-found',
    retry: 'never',
    exception: 'HttpSessionException',
    says: 'no such transaction, or it has ended',
  },
  'transaction.expired': {
    category: 'not-found',
    retry: 'never',
    exception: 'HttpSessionException',
    says: 'the transaction was idle or open for longer than allowed and was rolled back',
  },
  'transaction.failed': {
    category: 'not-found',
    retry: 'never',
    exception: 'HttpSessionException',
    says: 'a statement failed, so the transaction was rolled back and runs nothing more',
  },
  'transaction.too-large': {
    category: 'limit',
    retry: 'never',
    exception: 'TransactionException',
    says: 'the transaction writes more than one transaction may',
  },
  'request.reused': {
    category: 'done',
    retry: 'never',
    exception: 'TransactionCommittedRemotelyException',
    says: 'the request with this id was committed before; its answer is not kept: read again',
  },
  'request.in-flight': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'RequestStillInFlightException',
    says: 'the same request is being carried out; ask again with the same id for its answer',
  },
  'record.not-found': {
    category: 'not-found',
    retry: 'never',
    exception: 'RecordNotFoundException',
    says: 'no such record',
  },

  // Databases, users, access.
  'database.not-found': {
    category: 'not-found',
    retry: 'never',
    exception: 'DatabaseNotAvailableException',
    says: 'no such database, or it is closed',
  },
  'database.missing': {
    category: 'not-found',
    retry: 'never',
    exception: 'DatabaseNotFoundException',
    says: 'an administrative command names a database that does not exist',
  },
  'database.exists': {
    category: 'exists',
    retry: 'never',
    exception: 'DatabaseAlreadyExistsException',
    says: 'a database of that name exists',
  },
  'database.name': {
    category: 'invalid',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the name cannot be that of a database',
  },
  'database.operation': {
    category: 'invalid',
    retry: 'never',
    exception: 'DatabaseOperationException',
    says: 'a command about the database as a whole cannot be carried out as it was given',
  },
  'database.fenced': {
    category: 'damaged',
    retry: 'never',
    exception: 'DatabaseNotAvailableException',
    says: 'damage was found, so the database answers nothing until it is repaired',
  },
  'database.behind': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'what was committed last is not in the database yet: its disk or its merging is behind',
  },
  'backup.running': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'DatabaseOperationException',
    says: 'a backup of the database is under way',
  },
  'backup.archive': {
    category: 'invalid',
    retry: 'never',
    exception: 'DatabaseOperationException',
    says: 'an archive is missing, damaged, foreign, of a newer release or of another key',
  },
  'security.unauthenticated': {
    category: 'unauthenticated',
    retry: 'never',
    exception: 'ServerSecurityException',
    says: 'the credentials are missing or wrong',
  },
  'security.denied': {
    category: 'denied',
    retry: 'never',
    exception: 'SecurityException',
    says: 'the user may not do this',
  },
  'security.changed': {
    category: 'ended',
    retry: 'retryable',
    exception: 'SecurityException',
    says: 'rights of the user were taken while it ran, so it was ended: nothing more is stored',
  },
  'security.locked': {
    category: 'unauthenticated',
    retry: 'retryable',
    exception: 'ServerSecurityException',
    says: 'too many wrong passwords, so the user must wait',
  },
  'security.root-only': {
    category: 'denied',
    retry: 'never',
    exception: 'ServerSecurityException',
    says: 'only the user root may do this',
  },
  'user.invalid': {
    category: 'invalid',
    retry: 'never',
    exception: 'ServerSecurityException',
    says: 'a user cannot be saved like this: its name, password or grants break a rule',
  },
  'user.exists': {
    category: 'exists',
    retry: 'never',
    exception: 'UserAlreadyExistsException',
    says: 'a user of that name exists',
  },
  'user.missing': {
    category: 'not-found',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'no such user',
  },
  'token.exists': {
    category: 'exists',
    retry: 'never',
    exception: 'AlreadyExistsException',
    says: 'an API token of that name exists',
  },
  'token.transport': {
    category: 'denied',
    retry: 'never',
    exception: 'ServerSecurityException',
    says: 'others could read the new API token on its way, and the setting forbids that',
  },

  // Limits.
  'admission.full': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'QueryAdmissionException',
    says: 'too many statements run and wait',
  },
  'limit.body': {
    category: 'limit',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the body of the request is larger than allowed',
  },
  'limit.record': {
    category: 'limit',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'a record is larger than allowed',
  },
  'limit.entry': {
    category: 'limit',
    retry: 'never',
    exception: 'ReplicatedEntryTooLargeException',
    says: 'a commit does not fit into one entry of the log',
  },
  'limit.index-key': {
    category: 'limit',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'a value is too large to be the key of an index',
  },
  'limit.depth': {
    category: 'limit',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the value or statement is nested deeper than allowed',
  },
  'json.invalid': {
    category: 'invalid',
    retry: 'never',
    exception: 'JSONException',
    says: 'the JSON cannot be read',
  },
  'request.field': {
    category: 'invalid',
    retry: 'never',
    exception: 'RequestRefusedBeforeExecutionException',
    says: 'a field of the request is missing or unusable, so nothing was executed',
  },
  'batch.record': {
    category: 'invalid',
    retry: 'never',
    exception: 'MalformedBatchRecordException',
    says: 'a line of a batch cannot be read',
  },
  'batch.truncated': {
    category: 'invalid',
    retry: 'never',
    exception: 'MalformedBatchRecordException',
    says: 'the batch ended in the middle',
  },

  // The server itself.
  'setting.unknown': {
    category: 'invalid',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'no such setting',
  },
  'number.format': {
    category: 'invalid',
    retry: 'never',
    exception: 'NumberFormatException',
    says: 'a text that should be a number is none',
  },
  'setting.value': {
    category: 'invalid',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the value of a setting has the wrong type or is out of range',
  },
  'start.refused': {
    category: 'unavailable',
    retry: 'never',
    exception: 'ConfigurationException',
    says: 'the server cannot start this way',
  },
  'server.stopping': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'the server is starting or stopping',
  },
  'storage.full': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'the disk has no room for another commit',
  },

  // The cluster.
  'cluster.not-leader': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'ServerIsNotTheLeaderException',
    says: 'only the leader takes this, and this server does not lead',
  },
  'changes.lost': {
    category: 'ended',
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'changes that a reader has not read are not kept any more',
  },
  'cluster.no-leader': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'ServerIsNotTheLeaderException',
    says: 'nobody leads the cluster now, so nothing was carried out',
  },
  'cluster.no-quorum': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'QuorumNotReachedException',
    says: 'too few members answer; nothing was changed',
  },
  'cluster.absent': {
    category: 'invalid',
    retry: 'never',
    exception: 'OperationNotAvailableException',
    says: 'the server runs alone, so there is no cluster to ask',
  },
  'cluster.peer': {
    category: 'invalid',
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the request names a peer that cannot be meant',
  },
  'cluster.membership': {
    category: 'invalid',
    retry: 'never',
    exception: 'ConfigurationException',
    says: 'the members of the cluster do not allow the change',
  },
  'cluster.snapshot-busy': {
    category: 'unavailable',
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'as many snapshots are being given out as may be; ask again later',
  },
  'cluster.snapshot-pending': {
    category: 'damaged',
    retry: 'never',
    exception: 'DatabaseNotAvailableException',
    says: 'the database is not available: interrupted snapshot install',
  },
  'commit.applied-remotely': {
    category: 'done',
    retry: 'never',
    exception: 'TransactionCommittedRemotelyException',
    says: 'the commit happened, and this server could not apply it: read again, do not repeat',
  },
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
