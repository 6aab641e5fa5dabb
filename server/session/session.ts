/**
 * What a client can do, in every protocol: the core interface between bytes on a wire and the
 * engine.
 *
 * A protocol authenticates (security/security.ts), then calls a `Service` on behalf of a principal.
 * Authorization is decided in here, by `access/`, never in a protocol. Results come as bytes
 * already in the format asked for, because plans may run on another thread.
 */
import type {Refusal} from '#server/base/errors.ts';
import type {SearchIndexFigures} from './search/search-figures.ts';
import type {ShownSchema} from '#server/catalog/shown-schema.ts';
import type {Principal} from '#server/security/principal.ts';
import type {KeptHolder} from './kept-memory.ts';
import type {JsonFormat} from '#server/model/json.ts';
import type {RowFormat} from '#server/execution/query-result.ts';
import type {MapValue, Rid, Value} from '#server/model/value.ts';
import type {RecordOperation} from '#server/plan/record-statements.ts';
import type {Isolation} from '#server/transactions/transaction-contract.ts';
import type {StatementTypes} from '#server/plan/statement-types.ts';
import type {ChangedRecords, ChangeKind} from '#server/records/change-stream.ts';
import type {AlignedMember} from '#server/cluster/align.ts';
import type {ReadConsistency} from '#server/cluster/read-consistency-gate.ts';
import type {WorkProgress} from './database/work-progress.ts';

export type {SearchIndexFigures};

/** Positional parameters are named "0", "1", ... */
export type Parameters = ReadonlyMap<string, Value>;

/** A shape of JSON (docs/http.md), or an encoding that the protocol brings. */
export type ResultFormat = RowFormat;

/**
 * What a statement does, whatever language says it: shows records, makes them, changes them,
 * deletes them, changes the schema, administers the database or the server.
 */
export type Effect = 'read' | 'insert' | 'update' | 'delete' | 'schema' | 'admin';

/**
 * What goes along with everything that a client asks for, whatever it is and however it came: its
 * protocol says it once, and the service, its forwarding and its limits go by it.
 */
export interface RequestContext {
  /** How it came in, as metrics name it; absent: over HTTP. */
  readonly protocol?: string | undefined;
  /** How long it may take at most; absent: as long as settings, user and statement allow. */
  readonly timeoutMs?: number | undefined;
  /** Free text by which queries and transactions are listed and terminated. */
  readonly tag?: string | undefined;
  /** What its client calls itself: queries and transactions are listed with it. */
  readonly clientName?: string | undefined;
  /** What stands for the connection of its client: the same object for all that comes by it. */
  readonly connection?: object | undefined;
  /** Aborts it: the client went away. */
  readonly signal?: AbortSignal | undefined;
  /** What writes is refused before anything runs: in a statement, or in all of a transaction. */
  readonly readOnly?: boolean | undefined;
}

export interface RunRequest extends RequestContext {
  readonly database: string;
  readonly language: string;
  readonly text: string;
  readonly parameters: Parameters;
  /** What is done with records in the place of a text, which only says so (record-calls.ts). */
  readonly operation?: RecordOperation | undefined;
  /** How new what it reads must be; absent: as the settings say. On a server alone it is. */
  readonly consistency?: ReadConsistency | undefined;
  /**
   * What the statement may do at most, whatever rights its user has; absent: all that they allow.
   * One that may do more is refused before it runs, with `security.denied` and the `effect`.
   */
  readonly permitted?: ReadonlySet<Effect> | undefined;
  /** The caller's own limit; undefined: default cap; <= 0: unlimited below the ceiling. */
  readonly limit: number | undefined;
  readonly format: ResultFormat;
  readonly typeHints: boolean;
  /** undefined: none; `plan` adds the plan; `detailed` adds the timing profile. */
  readonly profile: 'plan' | 'detailed' | undefined;
  /** Transaction session id, bound to its user and database. */
  readonly transactionId: string | undefined;
  readonly retries: number | undefined;
  /** Apply once however often it is sent (within its lifetime). */
  readonly requestId: string | undefined;
  // Both are said of every statement, also that there is none.
  readonly tag: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** When the request had come, of the monotonic clock; absent: when the run begins. */
  receivedAt?: number | undefined;
}

/** One statement's answer while it is produced. Always `close` it (idempotent). */
export interface ResultCursor {
  /**
   * The next piece of the result, or undefined at its end. `record`: all pieces one after the
   * other are JSON rows with commas between them (none at the ends); `ndjson`: whole lines;
   * `graph` and `studio`: one final piece, the whole value of `result`; an encoding: whole rows.
   * The buffer is the caller's until its next call.
   */
  next(): Promise<Buffer | undefined>;
  /**
   * All of the result, when it is at hand (empty when there is nothing): `summary` is complete
   * then and `next` need not be called. The caller's until it gives the thread away.
   */
  readonly whole?: Buffer | undefined;
  /** Complete after `next` answered undefined. */
  readonly summary: ResultSummary;
  close(): void;
}

/** Rows as values, in portions of the reader's size. Always `close` it (idempotent). */
export interface RowCursor {
  /** Names of the columns, from the start; undefined: a row is one value, a record or a map. */
  readonly columns: readonly string[] | undefined;
  /**
   * The next rows, a value for each column: `rowsMax`, or fewer at the end. They are the caller's.
   *
   * @throws {Refusal} what the statement fails with on the way.
   */
  next(rowsMax: number): Promise<readonly (readonly Value[])[]>;
  /** Complete when `next` has given fewer rows than it was asked for. */
  readonly summary: ResultSummary;
  close(): void;
}

/** A request whose rows are wanted as values. */
export type RowsRequest = Omit<RunRequest, 'format' | 'typeHints' | 'profile'>;

/** What is known of a statement before it runs (plan/statement-types.ts). */
export interface StatementDescription extends StatementTypes {
  /** It changes something, or cannot be proven not to. */
  readonly writes: boolean;
}

export interface ResultSummary {
  returned: number;
  truncated: boolean;
  /** Cap in force, -1 none. */
  limit: number;
  /** JSON text, when something of it applies. */
  stats: string | undefined;
  explain: string | undefined;
  explainPlan: string | undefined;
  profile: string | undefined;
  /** True for a statement that wrote. */
  wrote: boolean;
  /** Names of the columns, from the start; undefined where a row is one value. */
  columns: readonly string[] | undefined;
}

export interface RunningQuery {
  readonly id: string;
  readonly database: string;
  readonly language: string;
  readonly text: string;
  readonly user: string;
  readonly protocol: string;
  readonly clientName: string | undefined;
  readonly tag: string | undefined;
  readonly startedAt: number;
  readonly elapsedMs: number;
}

export interface RunningTransaction {
  readonly id: string;
  readonly database: string;
  readonly user: string;
  readonly isolation: string;
  readonly startedAt: number;
  readonly elapsedMs: number;
  readonly idleMs: number;
  /** What the client of the begin calls itself. */
  readonly clientName?: string | undefined;
  /** Free text that the begin carried. */
  readonly tag?: string | undefined;
  /** Whether a statement runs in it now, and the ids of those queries. */
  readonly busy: boolean;
  readonly queryIds: readonly string[];
}

export type {ChangedRecords, ChangeKind, RecordChange} from '#server/records/change-stream.ts';

/** Some of the changes of a database. */
export interface ChangeFilter {
  /** Exact name of a type; undefined: every type that may be read. */
  readonly type?: string | undefined;
  /** Undefined: all. */
  readonly kinds?: ReadonlySet<ChangeKind> | undefined;
}

/** Which committed changes somebody wants to be told of. */
export interface ChangesRequest extends RequestContext {
  readonly database: string;
  /** Changes that any of them lets through are told, once. */
  readonly filters: readonly ChangeFilter[];
  /** Goes on behind the transaction at this position; undefined: behind what is committed now. */
  readonly from?: number | undefined;
}

/**
 * Committed changes, a transaction after the other in commit order and each once, on every member
 * of a cluster. Always `close` it (idempotent).
 */
export interface ChangeSubscription {
  /** The last transaction that was looked at: `from` of whoever goes on here, on any member. */
  readonly position: number;
  /** How values of the database print at present. */
  readonly json: JsonFormat;
  /**
   * The next transaction with changes that were asked for and may be seen; it is told when it is
   * committed, never before. Ask one at a time.
   *
   * @throws {Refusal} what ended it: `changes.lost`, `security.denied`; `next` only repeats it.
   */
  next(): Promise<ChangedRecords>;
  /**
   * Other filters from the next transaction on.
   *
   * @throws {Refusal} `security.denied`; the filters stay as they were.
   */
  choose(filters: readonly ChangeFilter[]): void;
  close(): void;
}

/** A load of many records, which are committed in portions while more of them come. */
export interface LoadRequest extends RequestContext {
  readonly database: string;
  /**
   * No portion is applied twice, however often the load is sent under it (within its lifetime): the
   * same records in the same order, in portions of the same size.
   */
  readonly requestId?: string | undefined;
  /** Records of a portion at most; absent: a thousand. */
  readonly portionMax?: number | undefined;
}

export interface LoadedRecord {
  readonly type: string;
  readonly properties: MapValue;
  /** What edges of the same load may call it by. */
  readonly id?: string | undefined;
  /** Ends of an edge: record ids, or what vertices before it are called by. */
  readonly from?: Rid | string | undefined;
  readonly to?: Rid | string | undefined;
}

/** What is durable. */
export interface LoadCounts {
  /** Records without ends: documents among them. */
  vertices: number;
  edges: number;
  /** Log index of the newest commit; 0 before the first. */
  commitIndex: number;
}

/** A load that goes on: first what has no ends, then edges. Always `close` it (idempotent). */
export interface RecordLoad {
  /** What is known so far. */
  readonly counts: LoadCounts;
  /**
   * Takes the next record; a promise where the one behind it has to wait.
   *
   * @throws {Refusal} what this record or one before it is refused for, with its number (`line`),
   *   rejected: the load has ended, and what came before that record is stored.
   */
  add(record: LoadedRecord): Promise<void> | undefined;
  /**
   * Commits the rest.
   *
   * @throws {Refusal} `commit.unknown`: some portions may have been committed that are not counted.
   */
  finish(): Promise<LoadCounts>;
  /** Takes nothing more and gives back what it holds; what is committed stays. */
  close(): void;
}

/** A client with a connection of its own, as `Service.connect` knows it. */
export interface ClientConnection {
  /** Aborted when the connection has ended: the `signal` of its requests, beside `connection`. */
  readonly signal: AbortSignal;
  /** What goes along with each of its requests: what it told when it came, and that it is there. */
  readonly context: TransactionContext;
  /** Ends its transactions, rolled back, its statements and its subscriptions. Idempotent. */
  close(): void;
}

/** What goes along with a transaction. */
export interface TransactionContext extends RequestContext {
  /** Absent: READ_COMMITTED. A statement without a transaction is the same under both levels. */
  readonly isolation?: Isolation | undefined;
  readonly connection?: ClientConnection | undefined;
}

/** What a client says of itself when it comes: it goes along with all its requests. */
export type ClientContext = Omit<TransactionContext, 'connection' | 'signal'>;

/** Everything refuses with a `Refusal`; nothing here answers half a result as success. */
export interface Service {
  /**
   * Starts a statement; a promise only when something has to be waited for. Errors before the
   * first row are thrown or rejected here.
   */
  run(principal: Principal, request: RunRequest): Promise<ResultCursor> | ResultCursor;

  /** Works like `run`, for rows as values. */
  rows(principal: Principal, request: RowsRequest): Promise<RowCursor>;

  /**
   * Prepares a statement, so that running the same text later costs no more than running it, and
   * says what is known of its columns and parameters under the schema of now. Nothing is to be
   * closed: a prepared text is kept as long as others do not take its place.
   *
   * @throws {Refusal} what is wrong with the text, `security.denied`.
   */
  prepare(principal: Principal, request: RowsRequest): Promise<StatementDescription>;

  /**
   * Whether a statement changes something, or cannot be proven not to, so that only the leader of
   * a cluster may run it; a promise where the text is long, which is prepared in turns.
   *
   * @throws {Refusal} what stands in the way of preparing it here; thrown or rejected.
   */
  needsLeader(principal: Principal, request: RunRequest): boolean | Promise<boolean>;

  /**
   * Counts what a request brings, in the memory of the statements and in the share of its user;
   * strangers share one. To be closed.
   */
  keep(principal: Principal | undefined): KeptHolder;

  /**
   * Begins a load, which has a place among those that run until it is closed, and is closed when
   * the `signal` of the request says that its client went, or its time is over.
   *
   * @throws {Refusal} `admission.full`, `security.denied`, `query.memory`, `database.*`.
   */
  loadRecords(principal: Principal, request: LoadRequest): Promise<RecordLoad>;

  /**
   * Opens a subscription, which ends when the `signal` of the request says that its client went.
   *
   * @throws {Refusal} `security.denied`, `admission.full`, `changes.lost`, `database.*`.
   */
  changes(principal: Principal, request: ChangesRequest): Promise<ChangeSubscription>;

  /**
   * Says that a client is there: what it opens ends with its connection.
   *
   * @param context - Its name and its settings, of transactions their isolation too.
   */
  connect(context?: ClientContext): ClientConnection;

  /**
   * Begins a transaction, and answers its id.
   *
   * @param context - The transaction ends with its `connection`, which `connect` has made, and is
   *   not idle before; without one it ends when nobody uses it for
   *   `svc.server.httpSessionExpireTimeout`. With `readOnly` none of its statements may write.
   */
  begin(principal: Principal, database: string, context?: TransactionContext): Promise<string>;
  /**
   * Commits a transaction. Nobody waits for its outcome longer than `context` says; it is not taken
   * back then, nor when its client goes.
   *
   * @throws {Refusal} `commit.unknown` when the time is over first.
   */
  commit(
    principal: Principal,
    database: string,
    transactionId: string,
    requestId: string | undefined,
    context?: RequestContext,
  ): Promise<void>;
  /** Ending an unknown session is done already: no error. */
  rollback(
    principal: Principal,
    database: string,
    transactionId: string,
    context?: RequestContext,
  ): Promise<void>;
  transactionIsLive(principal: Principal, database: string, transactionId: string): boolean;

  /** Names that the principal may see, sorted. */
  databaseNames(principal: Principal): string[];
  databaseExists(principal: Principal, name: string): boolean;
  /** What this server knows of the search indexes of each database that was used, by its name. */
  searchFigures(principal: Principal): ReadonlyMap<string, readonly SearchIndexFigures[]>;
  createDatabase(principal: Principal, name: string, context?: RequestContext): Promise<void>;
  dropDatabase(principal: Principal, name: string, context?: RequestContext): Promise<void>;
  openDatabase(principal: Principal, name: string): Promise<void>;
  closeDatabase(principal: Principal, name: string): Promise<void>;
  /** Has all members hold the leader's copy, on the leader; a row each. */
  alignDatabase(
    principal: Principal,
    name: string,
    context?: RequestContext,
  ): Promise<readonly AlignedMember[]>;

  /**
   * The schema as applied on this server, as the caller may see it.
   *
   * @throws {Refusal} `database.not-found`.
   */
  schemaOf(principal: Principal, database: string): ShownSchema;

  /** Work on the database that takes long. @throws {Refusal} `database.not-found`. */
  progress(principal: Principal, database: string): readonly WorkProgress[];
  queries(principal: Principal): RunningQuery[];
  /** True when a running query of that id (visible to the principal) was told to stop. */
  terminateQuery(principal: Principal, id: string): boolean;
  terminateTagged(principal: Principal, tag: string): number;
  transactions(principal: Principal): RunningTransaction[];
  terminateTransaction(principal: Principal, id: string): Promise<boolean>;
  /** Ends every session of a user: dropped, its password changed, or (`reason`) rights taken. */
  endSessionsOf(user: string, reason?: Refusal): void;

  /** Last applied log index. */
  readonly appliedIndex: number;
  /**
   * The bookmark of every answer: whoever has applied everything up to here shows nothing older
   * than what was read before this was asked.
   */
  readonly readableIndex: number;
  readonly ready: boolean;
}
