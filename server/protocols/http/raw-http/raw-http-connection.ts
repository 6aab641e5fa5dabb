/**
 * One connection in the raw HTTP path: bytes in, one request at a time, one write an answer.
 *
 * Until a statement begins, any doubt gives the connection to node's server with all bytes that
 * are not answered, and there the request starts from the beginning. From then on the answer is
 * written here, whatever it is. Bytes that come meanwhile wait. Invariant H3: no byte of a
 * request is acted upon twice, and none is lost on the way to node's server.
 */
import type {Socket} from 'node:net';
import {AssertionFailure} from '#server/base/assert.ts';
import {isLocalCopyDamaged} from '#server/cluster/leadership.ts';
import {endIfSilent} from '#server/listeners/end-if-silent.ts';
import type {RequestTrace} from '#server/monitoring/request-span.ts';
import {traceParentOf} from '#server/monitoring/telemetry.ts';
import type {Principal} from '#server/security/principal.ts';
import type {ResultCursor, RunRequest} from '#server/session/session.ts';
import {authenticateSocket, requireUsers} from '../message/authentication.ts';
import type {HttpContext, KnownCredentials} from '../context.ts';
import {endsSession, loggedFailure} from '../message/exchange.ts';
import {RawHttpResponse} from './raw-http-response.ts';
import type {RawHttpShared} from './raw-http-shared.ts';
import {invalidToken} from '../relay/forwarded-headers.ts';
import {headBytesMax, type RequestHead} from './request-head.ts';
import type {CachedRequestHead} from './request-head-cache.ts';
import {parseBody} from '../message/json-body.ts';
import {lateHeader, lateRefusal} from '../message/late-refusal.ts';
import type {LeaderGateway} from '../relay/leader-gateway.ts';
import {answerResult} from '../message/result.ts';
import {conversationHeaders} from '../routes/agents.ts';
import {type StatementHead, statementOfBody} from '../routes/statement.ts';
import {alreadyStarted, isolationOf} from '../routes/transactions.ts';

const headEnd = Buffer.from('\r\n\r\n', 'latin1');
const opening = Buffer.from('POST /api/v1/', 'latin1');
const none = Buffer.alloc(0);
const isDone = (): true => true;
/** A statement takes the path through node:http after this many changes of the leadership. */
const attemptsMax = 3;
/** A request in more pieces than this is sent by somebody who is in no hurry. */
const piecesMax = 8;
/** Ticks for which part of a request may stay part of one. */
const beganTicks = 2;
const waitingBytesMax = 64 * 1024;
/** A larger body is read in pieces, which is not what the raw HTTP path is for. */
const bodyBytesMax = 256 * 1024;

type TransactionChange =
  | {readonly kind: 'begin'; readonly level: ReturnType<typeof isolationOf>}
  | {readonly kind: 'commit' | 'rollback'};

/** A request that is being carried out. */
interface UnderWay {
  readonly known: CachedRequestHead;
  readonly bytes: Buffer;
  /** When it had come wholly. */
  readonly begunAt: number;
  readonly attempts: number;
  /** Undefined where nothing is traced. */
  readonly trace: RequestTrace | undefined;
}

export class RawHttpConnection implements StatementHead {
  readonly context: HttpContext;
  readonly isStream = false;
  readonly tag = undefined;
  database = '';
  transactionId: string | undefined;
  consistency: RequestHead['requested'];
  readonly #shared: RawHttpShared;
  readonly #socket: Socket;
  readonly #response: RawHttpResponse;
  /** Called when the connection ends, or is node's. */
  readonly #leave: () => void;
  /** Bytes that are not answered: part of a request, or what came during one. */
  #waiting: Buffer = none;
  #pieces = 0;
  #isBusy = false;
  #isUsed = false;
  /** When the request had come that is answered now. */
  #begunAt = 0;
  #lastHead: CachedRequestHead | undefined;
  #credentials: KnownCredentials | undefined;
  #signal: AbortSignal | undefined;
  #since: number;

  constructor(shared: RawHttpShared, socket: Socket, leave: () => void) {
    this.context = shared.context;
    this.#shared = shared;
    this.#socket = socket;
    this.#response = new RawHttpResponse(shared, socket);
    this.#leave = leave;
    this.#since = shared.tick;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
  }

  get connection(): object {
    return this.#socket;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.context.connectionSignal(this.#socket);
    return this.#signal;
  }

  closeIfIdle(): void {
    if (this.#isBusy || this.#response.isBlocked) return;
    if (this.#waiting.length > 0) this.#handOffToNode(this.#waiting);
    else this.#socket.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Called about once a second. */
  onTick(): void {
    if (this.#response.isBlocked) return this.#response.watchReader();
    const ticks = this.#shared.tick - this.#since;
    if (this.#isBusy) return;
    if (this.#waiting.length > 0) {
      // Node's server has clocks for those who take their time to ask.
      if (ticks >= beganTicks) this.#handOffToNode(this.#waiting);
      return;
    }
    const patience = this.#isUsed ? this.#shared.keepAliveTicks : this.#shared.silentTicks;
    if (ticks >= patience) void endIfSilent(this.#socket, this.context.options.timers);
  }

  readonly #onData = (chunk: Buffer): void => {
    const waiting = this.#waiting;
    const bytes = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    if (this.#isBusy || this.#response.isBlocked) {
      this.#waiting = bytes;
      if (bytes.length > waitingBytesMax) this.#socket.pause();
    } else this.#take(bytes);
  };

  readonly #onEnd = (): void => {
    this.#socket.end();
  };

  readonly #onDrain = (): void => {
    this.#response.drained();
    if (!this.#isBusy) this.#next();
  };

  readonly #onError = (): void => {
    this.#socket.destroy();
  };

  readonly #onClose = (): void => {
    this.#response.closed();
    this.#leave();
  };

  /** Looks at all bytes that are not answered, when nothing is under way. */
  #take(bytes: Buffer): void {
    if (this.#lastHead?.begins(bytes) !== true) {
      const at = bytes.indexOf(headEnd);
      if (at < 0 || at > headBytesMax) return this.#wait(bytes, at < 0 && mayBecomeHead(bytes));
      this.#lastHead = this.#shared.head(bytes, at);
    }
    const known = this.#lastHead;
    if (known === undefined) return this.#handOffToNode(bytes);
    const {head} = known;
    const missing = known.bytes.length + head.bodyBytes - bytes.length;
    if (missing > 0) return this.#wait(bytes, this.#mayTake(head));
    // More than one request at once is not what the raw HTTP path is for.
    if (missing < 0 || !this.#mayTake(head)) return this.#handOffToNode(bytes);
    this.#waiting = none;
    this.#pieces = 0;
    this.#isBusy = true;
    this.#isUsed = true;
    this.#perform(known, bytes);
  }

  #mayTake({bodyBytes}: RequestHead): boolean {
    const sizeMax = this.context.bodyBytesMax;
    return bodyBytes <= (sizeMax < 0 ? bodyBytesMax : Math.min(sizeMax, bodyBytesMax));
  }

  /** Keeps part of a request until more comes, if that is worth while. */
  #wait(bytes: Buffer, mayWait: boolean): void {
    if (!mayWait || ++this.#pieces > piecesMax) return this.#handOffToNode(bytes);
    if (this.#waiting.length === 0) this.#since = this.#shared.tick;
    this.#waiting = bytes;
  }

  /** Gives the connection to node's server. */
  #handOffToNode(bytes: Buffer): void {
    const socket = this.#socket;
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
    this.#leave();
    this.#waiting = none;
    this.#shared.handOver(socket, bytes);
  }

  #perform(known: CachedRequestHead, bytes: Buffer): void {
    const {head} = known;
    this.database = head.database;
    this.transactionId = head.sessionId;
    this.#response.begin(head.coding);
    this.consistency = head.requested;
    const begunAt = this.context.options.clock.monotonic();
    this.#begunAt = begunAt;
    const {traces} = this.context.options;
    if (traces === undefined) {
      return this.#attempt({known, bytes, begunAt, attempts: 1, trace: undefined});
    }
    const parent = traceParentOf(head.traceParent);
    traces.within(parent, trace => this.#attempt({known, bytes, begunAt, attempts: 1, trace}));
  }

  #attempt(request: UnderWay): void {
    let answered: boolean | Promise<boolean>;
    try {
      answered = this.#answered(request.known, request.bytes);
    } catch (error) {
      void this.#retryOrFail(request, error);
      return;
    }
    if (!(answered instanceof Promise)) return this.#done(request, answered);
    void answered.then(
      isAnswered => this.#done(request, isAnswered),
      (error: unknown) => this.#retryOrFail(request, error),
    );
  }

  #done(request: UnderWay, isAnswered: boolean): void {
    if (!isAnswered) return this.#handOffRequest(request.bytes);
    this.#isBusy = false;
    this.#shared.count(request.known, this.#response.status, request);
    if (!this.#response.isBlocked) this.#next();
  }

  /** What becomes of a request that met an error: its answer, or another attempt. */
  async #retryOrFail(request: UnderWay, error: unknown): Promise<void> {
    const {gateway: membership} = this.context;
    if (this.#response.isChunked || membership?.placement.isMovable(error) !== true) {
      const isRelayed = typeof request.known.head.caller !== 'string';
      const caller = this.#response.isChunked || isRelayed ? undefined : this.#response.caller;
      await lateRefusal(this.context, caller, error);
      this.#fail(error, isRelayed);
      return this.#done(request, true);
    }
    // Nothing happened, and node's path knows how to bring it to whoever leads now.
    if (isLocalCopyDamaged(error)) return this.#handOffRequest(request.bytes);
    const settled = membership.placement.settled();
    const {known, attempts} = request;
    const mayStay = known.head.sessionId === undefined && attempts < attemptsMax;
    if (!mayStay || (settled === undefined && membership.cluster.isLeader)) {
      return this.#handOffRequest(request.bytes);
    }
    await settled;
    this.#response.retry();
    this.#attempt({...request, attempts: attempts + 1});
  }

  /**
   * False when node's path must take the request, of which nothing was done. A promise only where
   * something has to be waited for: for what is done already that would only cost time.
   */
  #answered(known: CachedRequestHead, bytes: Buffer): boolean | Promise<boolean> {
    const {gateway: membership} = this.context;
    if (known.head.route === 'mcp') return this.#answeredToAgent(known, bytes);
    const found = this.#inTurn(this.#principalOf(known.head.caller));
    if (found instanceof Promise || membership?.cluster.isLeader === false) {
      return this.#answeredLater(found, known, bytes);
    }
    const work = this.#parseStatement(known, bytes);
    return work !== undefined && this.#execute(found, work);
  }

  /**
   * Messages of an agent, which its tools bring to the leader themselves; those that another
   * member relayed take node's path.
   */
  #answeredToAgent(known: CachedRequestHead, bytes: Buffer): false | Promise<true> {
    const {options, gateway} = this.context;
    const {agents} = options;
    const {caller: credentials, requested} = known.head;
    const isRelayed = gateway !== undefined && typeof credentials !== 'string';
    if (agents === undefined || isRelayed) return false;
    const found = this.#inTurn(this.#principalOf(credentials));
    const context = {signal: this.signal, connection: this.connection};
    const {conversation} = known.head;
    const body = bytes.subarray(known.bytes.length);
    const answer = async (principal: Principal): Promise<true> => {
      await gateway?.placement.reached(requested);
      const requestId = this.context.nextRequestId();
      const late = (error: unknown) => lateRefusal(this.context, principal, error);
      const caller = {principal, requestId, context, conversation, late};
      const told = await agents.answer(body, caller);
      const headers = conversationHeaders(told.conversation);
      this.#response.answer(told.status, headers, Buffer.from(told.body), requestId);
      return true;
    };
    return found instanceof Promise ? found.then(answer) : answer(found);
  }

  async #answeredLater(
    found: Principal | Promise<Principal>,
    known: CachedRequestHead,
    bytes: Buffer,
  ): Promise<boolean> {
    const {gateway: membership} = this.context;
    const principal = found instanceof Promise ? await found : found;
    // One that was just elected is ready in a moment.
    const settled =
      membership?.cluster.isLeader === false ? membership.placement.settled() : undefined;
    if (settled !== undefined) await settled;
    const work = this.#parseStatement(known, bytes);
    if (work === undefined) return false;
    const forLeader = membership && requiresLeader(membership, principal, work);
    if (membership !== undefined && (forLeader instanceof Promise ? await forLeader : forLeader)) {
      this.#response.caller = principal;
      const body = bytes.subarray(known.bytes.length);
      const request = {known, principal, body, taker: this.#response, gone: this.signal};
      const relayed = membership.forwardBytes(request);
      if (relayed === undefined) return false;
      if (await relayed) {
        await this.#response.held;
        return true;
      }
    }
    return this.#execute(principal, work);
  }

  #execute(principal: Principal, work: RunRequest | TransactionChange): true | Promise<true> {
    this.#response.caller = principal;
    if (!('text' in work)) return this.#changeTransaction(principal, work).then(isDone);
    this.#response.sessionId = work.transactionId;
    const waiting = this.context.gateway?.placement.readable(principal, work);
    return waiting === undefined
      ? this.#run(principal, work)
      : waiting.then(() => this.#run(principal, work));
  }

  #run(principal: Principal, request: RunRequest): true | Promise<true> {
    const tell = (cursor: ResultCursor): true | Promise<true> => {
      const isDocument = request.format === 'graph' || request.format === 'studio';
      const rest = answerResult(this.#response, cursor, {user: principal.name, isDocument});
      return rest === undefined || rest.then(isDone);
    };
    request.receivedAt = this.#begunAt;
    const started = this.context.service.run(principal, request);
    return started instanceof Promise ? started.then(tell) : tell(started);
  }

  /** Has node's server take the request that is under way, of which nothing was done. */
  #handOffRequest(bytes: Buffer): void {
    this.#isBusy = false;
    if (this.#socket.destroyed || !this.#socket.readable) return this.destroy();
    const behind = this.#waiting;
    this.#handOffToNode(behind.length === 0 ? bytes : Buffer.concat([bytes, behind]));
  }

  /** Looks at credentials once, as long as they are the same and good. */
  #principalOf(caller: RequestHead['caller']): Principal | Promise<Principal> {
    const {context} = this;
    if (typeof caller !== 'string') {
      if (context.gateway === undefined) throw invalidToken();
      return context.gateway.principalOf(caller, this.#socket);
    }
    const known = this.#credentials;
    if (known?.value === caller && known.generation === context.security.generation) {
      return known.principal;
    }
    requireUsers(context);
    const found = authenticateSocket(context, this.#socket, caller);
    this.#credentials = context.credentials.get(this.#socket);
    return found;
  }

  /** Whose request it is, when his turn has come. */
  #inTurn(found: Principal | Promise<Principal>): Principal | Promise<Principal> {
    if (found instanceof Promise || found.root) return found;
    const turn = this.context.userTurns.next(found.name, this.#begunAt);
    return turn === undefined ? found : turn.then(() => found);
  }

  /** Undefined for whatever node's path shall refuse or do in its own way. */
  #parseStatement(
    known: CachedRequestHead,
    bytes: Buffer,
  ): RunRequest | TransactionChange | undefined {
    const {json} = this.context;
    const {route} = known.head;
    if (route === 'mcp') return undefined;
    const isStatement = route === 'query' || route === 'command';
    if (isStatement) {
      const request = known.statement(bytes, json, this);
      if (request !== undefined) return request;
    }
    const bodyAt = known.bytes.length;
    try {
      const body = bytes.length === bodyAt ? undefined : parseBody(json, bytes.subarray(bodyAt));
      if (isStatement) {
        const access = route === 'query' ? 'read-only' : 'read-write';
        const {request, awaitsResponse} = statementOfBody(this, body, access);
        if (!awaitsResponse && route === 'command') return undefined;
        known.learn(bytes, json, request);
        return request;
      }
      return route === 'begin' ? {kind: route, level: isolationOf(body)} : {kind: route};
    } catch (error) {
      if (error instanceof AssertionFailure) throw error;
      return undefined;
    }
  }

  async #changeTransaction(principal: Principal, work: TransactionChange): Promise<void> {
    const {service} = this.context;
    const {database, transactionId: id} = this;
    if (work.kind === 'begin') {
      if (id !== undefined && service.transactionIsLive(principal, database, id)) {
        this.#response.sessionId = id;
        throw alreadyStarted();
      }
      this.#response.sessionId = await service.begin(principal, database, {isolation: work.level});
    } else if (id !== undefined) {
      if (work.kind === 'commit') await service.commit(principal, database, id, undefined);
      else await service.rollback(principal, database, id);
    }
    this.#response.answer(204, [], none);
  }

  #fail(error: unknown, isRelayed: boolean): void {
    if (error instanceof AssertionFailure) throw error;
    const requestId = this.context.nextRequestId();
    const {database} = this;
    const failed = loggedFailure(this.context, {requestId, database}, error);
    const {status, body, headers} = failed;
    if (this.#response.isChunked) return this.destroy();
    if (endsSession(error)) this.#response.sessionId = undefined;
    const all = isRelayed ? [...headers, ...lateHeader(error)] : headers;
    this.#response.answer(status, all, Buffer.from(JSON.stringify(body)), requestId);
  }

  /** Ends the connection after an answer that is on its way, or looks at what waits. */
  #next(): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    if (this.context.isStopping) {
      socket.end();
      return;
    }
    this.#since = this.#shared.tick;
    if (socket.isPaused()) socket.resume();
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = none;
    this.#take(waiting);
  }
}

/** Whether the leader is to carry it out, which is another server. */
function requiresLeader(
  {cluster, placement}: LeaderGateway,
  principal: Principal,
  work: RunRequest | TransactionChange,
): boolean | Promise<boolean> {
  return 'text' in work ? placement.requiresLeader(principal, work) : !cluster.isLeader;
}

/** Whether bytes without an end of head can still become one of ours. */
function mayBecomeHead(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, opening.length);
  return bytes.length <= headBytesMax && bytes.compare(opening, 0, length, 0, length) === 0;
}
