/**
 * The service of a cluster, as a client of any of its members sees it: what only the leader may do
 * is done there, and the client is told the same as by the leader itself.
 *
 * Transactions of a connection live on the leader and end with the connection here; when this
 * server dies with it, the leader ends them when nobody uses them any more.
 * Why: docs/design/0056-one-place-for-every-request.md.
 */
import {assert} from '#server/base/assert.ts';
import type {ShownSchema} from '#server/catalog/shown-schema.ts';
import type {AlignedMember} from '#server/cluster/align.ts';
import type {Value} from '#server/model/value.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Principal} from '#server/security/principal.ts';
import type {KeptHolder} from '#server/session/kept-memory.ts';
import type * as session from '#server/session/session.ts';
import {rowsOver, typedRequest} from '#server/session/statement-request.ts';
import type {LeaderCall} from './leader-call.ts';
import {calledStatement, cursorOver} from './called-statement.ts';
import {LeaderLoad} from './loaded-records.ts';
import type {CallAnswer, CallOptions, LeaderChannel} from './leader-channel.ts';
import type {RequestPlacement} from './request-placement.ts';

export interface ClusterServiceOptions {
  /** This server's own. */
  readonly local: session.Service;
  readonly placement: RequestPlacement;
  readonly channel: LeaderChannel;
  readonly logger: Logger;
}

type Service = session.Service;

/** A connection of a client, and its transactions on the leader. */
interface Connection extends session.ClientConnection {
  /** What this server's own service knows. */
  readonly local: session.ClientConnection;
  /** How each of its transactions on the leader is rolled back, by id. */
  readonly remote: Map<string, () => void>;
}

export class ClusterService implements Service {
  readonly #local: Service;
  readonly #options: ClusterServiceOptions;
  readonly #connections = new WeakMap<session.ClientConnection, Connection>();
  /** Whose each open transaction on the leader is, by its id. */
  readonly #connectionOf = new Map<string, Connection>();
  /** Transactions on the leader in which nothing may write: it may be of a release that forgets. */
  readonly #readOnly = new Set<string>();

  constructor(options: ClusterServiceOptions) {
    this.#local = options.local;
    this.#options = options;
  }

  async run(principal: Principal, request: session.RunRequest): Promise<session.ResultCursor> {
    const {placement} = this.#options;
    const requiresLeader = placement.requiresLeader(principal, request);
    return await placement.carryOut({
      requiresLeader: requiresLeader instanceof Promise ? await requiresLeader : requiresLeader,
      here: async () => {
        await placement.readable(principal, request);
        return await this.#local.run(principal, this.#ownRequest(request));
      },
      atLeader: () => this.#runAtLeader(principal, request),
      mayMove: () => request.transactionId === undefined,
    });
  }

  /** The request as this server's own service knows its connection. */
  #ownRequest<T extends session.RequestContext>(request: T): T {
    const connection = request.connection as session.ClientConnection | undefined;
    const known = connection && this.#connections.get(connection);
    return known === undefined ? request : {...request, connection: known.local};
  }

  async rows(principal: Principal, request: session.RowsRequest): Promise<session.RowCursor> {
    return rowsOver(await this.run(principal, typedRequest(request)));
  }

  /** Prepares it here, where it may be about what has not arrived yet: then the leader knows. */
  async prepare(
    principal: Principal,
    request: session.RowsRequest,
  ): Promise<session.StatementDescription> {
    const {placement} = this.#options;
    const whole = typedRequest(request);
    const requiresLeader = await placement.requiresLeader(principal, whole);
    try {
      return await this.#local.prepare(principal, request);
    } catch (error) {
      if (!requiresLeader) throw error;
      const {signal, timeoutMs} = request;
      const asked = {principal, signal, timeoutMs, isRepeatable: true};
      const answer = await this.#value(
        restMs => ({kind: 'prepare', request: calledStatement(whole, restMs)}),
        asked,
      );
      if (answer === undefined) throw error;
      return answer.value as session.StatementDescription;
    }
  }

  async begin(...given: Parameters<Service['begin']>): Promise<string> {
    const [principal, database, context = {}] = given;
    const {isolation = 'READ_COMMITTED', tag, clientName, connection, readOnly} = context;
    const known = connection && this.#connections.get(connection);
    const call: LeaderCall = {kind: 'begin', database, isolation, tag, clientName, readOnly};
    const id = await this.#options.placement.carryOut<string | {readonly id: string}>({
      ...this.#leaders,
      here: () => {
        const own = {...context, connection: known?.local ?? connection};
        return this.#local.begin(principal, database, own);
      },
      atLeader: async () => {
        // An orphan ends by itself; whoever is gone meanwhile has it rolled back.
        const asked = untilDeadline(principal, context, true);
        const answer = await this.#value(() => call, asked);
        return answer && {id: String(answer.value)};
      },
    });
    if (typeof id === 'string') return id;
    if (readOnly === true) this.#noteReadOnly(id.id);
    const end = (): void => this.#rollBack(principal, database, id.id);
    if (known?.signal.aborted === true) end();
    else if (known !== undefined) {
      known.remote.set(id.id, end);
      this.#connectionOf.set(id.id, known);
    }
    return id.id;
  }

  async commit(
    principal: Principal,
    database: string,
    transactionId: string,
    requestId: string | undefined,
    context: session.RequestContext = {},
  ): Promise<void> {
    const asked = untilDeadline(principal, context, requestId !== undefined);
    const call = (timeoutMs: number | undefined): LeaderCall => {
      return {kind: 'commit', database, transactionId, requestId, timeoutMs};
    };
    await this.#options.placement.carryOut<true>({
      ...this.#leaders,
      here: () =>
        this.#local.commit(principal, database, transactionId, requestId, context).then(isDone),
      atLeader: async () => (await this.#value(call, asked)) && true,
      mayMove: () => false,
    });
    this.#forget(transactionId);
  }

  async rollback(
    principal: Principal,
    database: string,
    transactionId: string,
    context: session.RequestContext = {},
  ): Promise<void> {
    const call: LeaderCall = {kind: 'rollback', database, transactionId, requestId: undefined};
    const asked = untilDeadline(principal, context, true);
    await this.#options.placement.carryOut<true>({
      ...this.#leaders,
      here: () => this.#local.rollback(principal, database, transactionId, context).then(isDone),
      atLeader: async () => (await this.#value(() => call, asked)) && true,
    });
    this.#forget(transactionId);
  }

  /** Notes it; one that its client never ends is forgotten in time. */
  #noteReadOnly(transactionId: string): void {
    this.#readOnly.add(transactionId);
    if (this.#readOnly.size <= readOnlyMax) return;
    for (const oldest of this.#readOnly) {
      this.#readOnly.delete(oldest);
      return;
    }
  }

  /** Nothing of it is to be ended with its connection any more. */
  #forget(transactionId: string): void {
    this.#readOnly.delete(transactionId);
    this.#connectionOf.get(transactionId)?.remote.delete(transactionId);
    this.#connectionOf.delete(transactionId);
  }

  async loadRecords(
    principal: Principal,
    request: session.LoadRequest,
  ): Promise<session.RecordLoad> {
    const {placement, channel} = this.#options;
    const {connection: _connection, signal, timeoutMs, ...plain} = request;
    return await placement.carryOut<session.RecordLoad>({
      ...this.#leaders,
      here: () => this.#local.loadRecords(principal, this.#ownRequest(request)),
      atLeader: async () => {
        const stream = await channel.open(
          restMs => ({kind: 'load', request: {...plain, timeoutMs: restMs}}),
          {principal, signal, timeoutMs},
        );
        if (stream === undefined) return undefined;
        const memory = this.#local.keep(principal);
        const note = (index: number): void => placement.relayed(index);
        try {
          return new LeaderLoad({stream, memory, signal, note});
        } catch (error) {
          stream.close();
          throw error;
        }
      },
    });
  }

  connect(context?: session.ClientContext): session.ClientConnection {
    const local = this.#local.connect(context);
    const remote = new Map<string, () => void>();
    const connection: Connection = {
      local,
      remote,
      signal: local.signal,
      get context() {
        return {...local.context, connection};
      },
      close: () => {
        local.close();
        for (const [id, end] of remote) {
          this.#connectionOf.delete(id);
          this.#readOnly.delete(id);
          end();
        }
        remote.clear();
      },
    };
    this.#connections.set(connection, connection);
    return connection;
  }

  /**
   * Has the leader carry out a row of the administrative commands; undefined: this server leads.
   *
   * @throws {Refusal} what the leader refuses, `cluster.no-leader`, `commit.unknown`.
   */
  async administer(
    principal: Principal,
    command: string,
    given: ReadonlyMap<string, Value>,
    isPrivate: boolean,
    context: session.RequestContext = {},
  ): Promise<{readonly value: unknown} | undefined> {
    const call: LeaderCall = {kind: 'administer', command, given: new Map(given), isPrivate};
    return await this.#value(() => call, untilDeadline(principal, context, false));
  }

  createDatabase(...given: Parameters<Service['createDatabase']>): Promise<void> {
    return this.#administered('createDatabase', given);
  }

  dropDatabase(...given: Parameters<Service['dropDatabase']>): Promise<void> {
    return this.#administered('dropDatabase', given);
  }

  alignDatabase(...given: Parameters<Service['alignDatabase']>): Promise<readonly AlignedMember[]> {
    return this.#administered('alignDatabase', given);
  }

  async #administered<T>(
    command: 'createDatabase' | 'dropDatabase' | 'alignDatabase',
    given: Parameters<Service['alignDatabase']>,
  ): Promise<T> {
    const [principal, database, context] = given;
    const named = new Map([['database', database]]);
    const {value} = await this.#options.placement.carryOut<{readonly value: unknown}>({
      ...this.#leaders,
      here: async () => ({value: await this.#local[command](...given)}),
      atLeader: () => this.administer(principal, command, named, false, context),
    });
    return value as T;
  }

  /** The rule of whatever only the leader does. */
  get #leaders(): {readonly requiresLeader: boolean; readonly mayMove: () => boolean} {
    return {requiresLeader: !this.#options.placement.cluster.isLeader, mayMove: () => true};
  }

  async #runAtLeader(
    principal: Principal,
    asked: session.RunRequest,
  ): Promise<session.ResultCursor | undefined> {
    const isInside = asked.transactionId !== undefined && this.#readOnly.has(asked.transactionId);
    const request = isInside ? {...asked, readOnly: true} : asked;
    const {signal, timeoutMs, requestId, readOnly, transactionId} = request;
    // Inside a transaction an id says nothing: it is the commit that is done once.
    const isAlone = transactionId === undefined;
    const isRepeatable = isAlone && (requestId !== undefined || readOnly === true);
    const answer = await this.#ask(
      restMs => ({kind: 'run', request: calledStatement(request, restMs)}),
      {principal, signal, timeoutMs, isRepeatable},
    );
    const note = (index: number): void => this.#options.placement.relayed(index);
    return answer && cursorOver(answer, request.format, note);
  }

  async #value(
    callIn: (restMs: number | undefined) => LeaderCall,
    options: CallOptions,
  ): Promise<{readonly value: unknown} | undefined> {
    const answer = await this.#ask(callIn, options);
    if (answer === undefined) return undefined;
    answer.close();
    assert(answer.first.kind === 'value', 'what has no rows is answered with a value');
    const {value, index} = JSON.parse(answer.first.bytes.toString('utf8')) as {
      readonly value?: unknown;
      readonly index: number;
    };
    this.#options.placement.relayed(index);
    return {value};
  }

  #ask(
    callIn: (restMs: number | undefined) => LeaderCall,
    options: CallOptions,
  ): Promise<CallAnswer | undefined> {
    return this.#options.channel.ask(callIn, options);
  }

  /** Nobody waits for it: what cannot be brought to the leader ends there by itself. */
  #rollBack(principal: Principal, database: string, id: string): void {
    this.rollback(principal, database, id).catch((error: unknown) => {
      const {logger} = this.#options;
      logger.log('warn', 'transaction.left', {database, error: String(error)});
    });
  }

  needsLeader(
    principal: Principal,
    request: session.RunRequest,
  ): ReturnType<Service['needsLeader']> {
    return this.#local.needsLeader(principal, request);
  }

  keep(principal: Principal | undefined): KeptHolder {
    return this.#local.keep(principal);
  }

  changes(
    principal: Principal,
    request: session.ChangesRequest,
  ): Promise<session.ChangeSubscription> {
    return this.#local.changes(principal, request);
  }

  transactionIsLive(principal: Principal, database: string, id: string): boolean {
    return this.#local.transactionIsLive(principal, database, id);
  }

  databaseNames(principal: Principal): string[] {
    return this.#local.databaseNames(principal);
  }

  databaseExists(principal: Principal, name: string): boolean {
    return this.#local.databaseExists(principal, name);
  }

  searchFigures(principal: Principal): ReturnType<Service['searchFigures']> {
    return this.#local.searchFigures(principal);
  }

  openDatabase(principal: Principal, name: string): Promise<void> {
    return this.#local.openDatabase(principal, name);
  }

  closeDatabase(principal: Principal, name: string): Promise<void> {
    return this.#local.closeDatabase(principal, name);
  }

  schemaOf(principal: Principal, database: string): ShownSchema {
    return this.#local.schemaOf(principal, database);
  }

  progress(principal: Principal, database: string): ReturnType<Service['progress']> {
    return this.#local.progress(principal, database);
  }

  queries(principal: Principal): session.RunningQuery[] {
    return this.#local.queries(principal);
  }

  terminateQuery(principal: Principal, id: string): boolean {
    return this.#local.terminateQuery(principal, id);
  }

  terminateTagged(principal: Principal, tag: string): number {
    return this.#local.terminateTagged(principal, tag);
  }

  transactions(principal: Principal): session.RunningTransaction[] {
    return this.#local.transactions(principal);
  }

  terminateTransaction(principal: Principal, id: string): Promise<boolean> {
    return this.#local.terminateTransaction(principal, id);
  }

  endSessionsOf(...given: Parameters<Service['endSessionsOf']>): void {
    this.#local.endSessionsOf(...given);
  }

  get appliedIndex(): number {
    return this.#local.appliedIndex;
  }

  get readableIndex(): number {
    return this.#local.readableIndex;
  }

  get ready(): boolean {
    return this.#local.ready;
  }
}

/** A server has at most so many transactions open. */
const readOnlyMax = 10_000;
const isDone = (): true => true;

/** How something is asked that is not taken back when its client goes. */
function untilDeadline(
  principal: Principal,
  {timeoutMs}: session.RequestContext,
  isRepeatable: boolean,
): CallOptions {
  return {principal, signal: undefined, timeoutMs, isRepeatable};
}
