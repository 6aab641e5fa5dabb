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

interface RefusalRow {
  readonly retry: Retry;
  /** The exception class that clients of the documented protocols look for. */
  readonly exception: string;
  readonly says: string;
}

/** What a caller may rely on about every refusal, by code. */
export const refusals = {
  // The statement.
  'sql.syntax': {
    retry: 'never',
    exception: 'CommandSQLParsingException',
    says: 'the SQL text cannot be parsed',
  },
  'cypher.syntax': {
    retry: 'never',
    exception: 'CommandParsingException',
    says: 'the Cypher text cannot be parsed, or means nothing',
  },
  'query.semantic': {
    retry: 'never',
    exception: 'CommandSemanticException',
    says: 'the statement is well formed but means nothing',
  },
  'query.unknown-language': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'no such query language',
  },
  'query.unknown-name': {
    retry: 'never',
    exception: 'CommandSemanticException',
    says: 'the statement names something that does not exist',
  },
  'query.unknown-function': {
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'no such function or method',
  },
  'query.parameter': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'a parameter of the statement is missing or unusable',
  },
  'query.parameter-missing': {
    retry: 'never',
    exception: 'CommandParameterMissingException',
    says: 'the statement names a parameter that is not given',
  },
  'query.option': {
    retry: 'never',
    exception: 'CommandSQLParsingException',
    says: 'an option of a function is unknown or cannot be used',
  },
  'query.execution': {
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'the statement cannot be carried out on this data',
  },
  'search.syntax': {
    retry: 'never',
    exception: 'FullTextQueryParseException',
    says: 'the full-text query cannot be read',
  },
  'index.not-ready': {
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'an index that a search asks for is still being built',
  },
  'source.refused': {
    retry: 'never',
    exception: 'SecurityException',
    says: 'a file or address that a statement reads from is not allowed',
  },
  'source.address-refused': {
    retry: 'never',
    exception: 'RestoreImportUrlNotAllowedException',
    says: 'an address that a database is restored or imported from is not allowed',
  },
  'source.unreadable': {
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'a file or address that a statement reads from cannot be read',
  },
  'source.malformed': {
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'what a statement reads from outside is not of the form that was promised',
  },
  'query.not-idempotent': {
    retry: 'never',
    exception: 'QueryNotIdempotentException',
    says: 'a statement that writes came over a route that only reads',
  },
  'query.timeout': {
    retry: 'never',
    exception: 'TimeoutException',
    says: 'the statement ran longer than allowed',
  },
  'query.terminated': {
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'the statement was terminated by an administrator or by its client',
  },
  'query.memory': {
    retry: 'never',
    exception: 'QueryHeapBudgetExceededException',
    says: 'the statement needs more memory than one statement may hold',
  },
  'query.memory-total': {
    retry: 'retryable',
    exception: 'QueryHeapBudgetExceededException',
    says: 'the statements that run need more memory than the server has for them',
  },
  'query.result-too-large': {
    retry: 'never',
    exception: 'ResultSetTooLargeException',
    says: 'the result has more rows than one answer may carry',
  },
  'javascript.failed': {
    retry: 'never',
    exception: 'FunctionExecutionException',
    says: 'a program in JavaScript is malformed, threw an error or used up what it may',
  },
  arithmetic: {
    retry: 'never',
    exception: 'ArithmeticErrorException',
    says: 'an arithmetic operation has no result',
  },
  argument: {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'an argument of the request is missing or unusable',
  },
  'not-available': {
    retry: 'never',
    exception: 'UnsupportedOperationException',
    says: 'a documented feature that this server does not offer yet',
  },

  // The schema and the values it guards.
  'schema.unknown-type': {
    retry: 'never',
    exception: 'SchemaException',
    says: 'no such type',
  },
  'schema.unknown-property': {
    retry: 'never',
    exception: 'SchemaException',
    says: 'no such property',
  },
  'schema.unknown-index': {
    retry: 'never',
    exception: 'SchemaException',
    says: 'no such index',
  },
  'schema.unknown-bucket': {
    retry: 'never',
    exception: 'SchemaException',
    says: 'no such bucket',
  },
  'schema.unknown-trigger': {
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'no such trigger',
  },
  'schema.exists': {
    retry: 'never',
    exception: 'AlreadyExistsException',
    says: 'something of that kind and name is in the schema already',
  },
  'schema.conflict': {
    retry: 'never',
    exception: 'SchemaException',
    says: 'the change contradicts the schema or the stored records',
  },
  'value.validation': {
    retry: 'never',
    exception: 'ValidationException',
    says: 'a value breaks a rule that its property declares',
  },
  'trigger.refused': {
    retry: 'never',
    exception: 'TriggerExecutionException',
    says: 'a trigger failed, or forbade what the statement cannot do without',
  },
  'value.type': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'a value does not fit the type its property declares',
  },

  // Commits and transactions.
  'commit.conflict': {
    retry: 'retryable',
    exception: 'ConcurrentModificationException',
    says: 'another commit changed what this one read or wrote',
  },
  'commit.duplicate-key': {
    retry: 'never',
    exception: 'DuplicatedKeyException',
    says: 'a unique index holds that key already',
  },
  'commit.unknown': {
    retry: 'only-if-idempotent',
    exception: 'CommitOutcomeUnknownException',
    says: 'the commit may or may not have happened',
  },
  'commit.queue-full': {
    retry: 'retryable',
    exception: 'ReplicationQueueFullException',
    says: 'too many commits wait for the log',
  },
  'transaction.gone': {
    retry: 'never',
    exception: 'HttpSessionException',
    says: 'no such transaction, or it has ended',
  },
  'transaction.expired': {
    retry: 'never',
    exception: 'HttpSessionException',
    says: 'the transaction was idle or open for longer than allowed and was rolled back',
  },
  'transaction.failed': {
    retry: 'never',
    exception: 'HttpSessionException',
    says: 'a statement failed, so the transaction was rolled back and runs nothing more',
  },
  'transaction.too-large': {
    retry: 'never',
    exception: 'TransactionException',
    says: 'the transaction writes more than one transaction may',
  },
  'request.reused': {
    retry: 'never',
    exception: 'TransactionCommittedRemotelyException',
    says: 'the request with this id was committed before; its answer is not kept: read again',
  },
  'request.in-flight': {
    retry: 'retryable',
    exception: 'RequestStillInFlightException',
    says: 'the same request is being carried out; ask again with the same id for its answer',
  },
  'record.not-found': {
    retry: 'never',
    exception: 'RecordNotFoundException',
    says: 'no such record',
  },

  // Databases, users, access.
  'database.not-found': {
    retry: 'never',
    exception: 'DatabaseNotAvailableException',
    says: 'no such database, or it is closed',
  },
  'database.missing': {
    retry: 'never',
    exception: 'DatabaseNotFoundException',
    says: 'an administrative command names a database that does not exist',
  },
  'database.exists': {
    retry: 'never',
    exception: 'DatabaseAlreadyExistsException',
    says: 'a database of that name exists',
  },
  'database.name': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the name cannot be that of a database',
  },
  'database.operation': {
    retry: 'never',
    exception: 'DatabaseOperationException',
    says: 'a command about the database as a whole cannot be carried out as it was given',
  },
  'database.fenced': {
    retry: 'never',
    exception: 'DatabaseNotAvailableException',
    says: 'damage was found, so the database answers nothing until it is repaired',
  },
  'database.behind': {
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'what was committed last is not in the database yet: its disk or its merging is behind',
  },
  'backup.running': {
    retry: 'retryable',
    exception: 'DatabaseOperationException',
    says: 'a backup of the database is under way',
  },
  'backup.archive': {
    retry: 'never',
    exception: 'DatabaseOperationException',
    says: 'an archive is missing, damaged, foreign, of a newer release or of another key',
  },
  'security.unauthenticated': {
    retry: 'never',
    exception: 'ServerSecurityException',
    says: 'the credentials are missing or wrong',
  },
  'security.denied': {
    retry: 'never',
    exception: 'SecurityException',
    says: 'the user may not do this',
  },
  'security.changed': {
    retry: 'retryable',
    exception: 'SecurityException',
    says: 'rights of the user were taken while it ran, so it was ended: nothing more is stored',
  },
  'security.locked': {
    retry: 'retryable',
    exception: 'ServerSecurityException',
    says: 'too many wrong passwords, so the user must wait',
  },
  'security.root-only': {
    retry: 'never',
    exception: 'ServerSecurityException',
    says: 'only the user root may do this',
  },
  'user.invalid': {
    retry: 'never',
    exception: 'ServerSecurityException',
    says: 'a user cannot be saved like this: its name, password or grants break a rule',
  },
  'user.exists': {
    retry: 'never',
    exception: 'UserAlreadyExistsException',
    says: 'a user of that name exists',
  },
  'user.missing': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'no such user',
  },
  'token.exists': {
    retry: 'never',
    exception: 'AlreadyExistsException',
    says: 'an API token of that name exists',
  },
  'token.transport': {
    retry: 'never',
    exception: 'ServerSecurityException',
    says: 'others could read the new API token on its way, and the setting forbids that',
  },

  // Limits.
  'admission.full': {
    retry: 'retryable',
    exception: 'QueryAdmissionException',
    says: 'too many statements run and wait',
  },
  'limit.body': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the body of the request is larger than allowed',
  },
  'limit.record': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'a record is larger than allowed',
  },
  'limit.entry': {
    retry: 'never',
    exception: 'ReplicatedEntryTooLargeException',
    says: 'a commit does not fit into one entry of the log',
  },
  'limit.index-key': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'a value is too large to be the key of an index',
  },
  'limit.depth': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the value or statement is nested deeper than allowed',
  },
  'json.invalid': {
    retry: 'never',
    exception: 'JSONException',
    says: 'the JSON cannot be read',
  },
  'request.field': {
    retry: 'never',
    exception: 'RequestRefusedBeforeExecutionException',
    says: 'a field of the request is missing or unusable, so nothing was executed',
  },
  'batch.record': {
    retry: 'never',
    exception: 'MalformedBatchRecordException',
    says: 'a line of a batch cannot be read',
  },
  'batch.truncated': {
    retry: 'never',
    exception: 'MalformedBatchRecordException',
    says: 'the batch ended in the middle',
  },

  // The server itself.
  'setting.unknown': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'no such setting',
  },
  'number.format': {
    retry: 'never',
    exception: 'NumberFormatException',
    says: 'a text that should be a number is none',
  },
  'setting.value': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the value of a setting has the wrong type or is out of range',
  },
  'start.refused': {
    retry: 'never',
    exception: 'ConfigurationException',
    says: 'the server cannot start this way',
  },
  'server.stopping': {
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'the server is starting or stopping',
  },
  'storage.full': {
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'the disk has no room for another commit',
  },

  // The cluster.
  'cluster.not-leader': {
    retry: 'retryable',
    exception: 'ServerIsNotTheLeaderException',
    says: 'only the leader takes this, and this server does not lead',
  },
  'changes.lost': {
    retry: 'never',
    exception: 'CommandExecutionException',
    says: 'changes that a reader has not read are not kept any more',
  },
  'cluster.no-leader': {
    retry: 'retryable',
    exception: 'ServerIsNotTheLeaderException',
    says: 'nobody leads the cluster now, so nothing was carried out',
  },
  'cluster.no-quorum': {
    retry: 'retryable',
    exception: 'QuorumNotReachedException',
    says: 'too few members answer; nothing was changed',
  },
  'cluster.absent': {
    retry: 'never',
    exception: 'OperationNotAvailableException',
    says: 'the server runs alone, so there is no cluster to ask',
  },
  'cluster.peer': {
    retry: 'never',
    exception: 'IllegalArgumentException',
    says: 'the request names a peer that cannot be meant',
  },
  'cluster.membership': {
    retry: 'never',
    exception: 'ConfigurationException',
    says: 'the members of the cluster do not allow the change',
  },
  'cluster.snapshot-busy': {
    retry: 'retryable',
    exception: 'NeedRetryException',
    says: 'as many snapshots are being given out as may be; ask again later',
  },
  'cluster.snapshot-pending': {
    retry: 'never',
    exception: 'DatabaseNotAvailableException',
    says: 'the database is not available: interrupted snapshot install',
  },
  'commit.applied-remotely': {
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
