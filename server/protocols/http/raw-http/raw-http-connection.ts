/**
 * One connection in the raw HTTP path: bytes in, one request at a time, one write an answer.
 *
 * Until a statement begins, any doubt gives the connection to node's server with all bytes that
 * are not answered, and there the request starts from the beginning. From then on the answer is
 * written here, whatever it is. Bytes that come meanwhile wait. Invariant H3: no byte of a
 * request is acted upon twice, and none is lost on the way to node's server.
 */
import {clientGone} from '../message/failure.ts';
import type {Socket} from 'node:net';
import {AssertionFailure} from '#server/base/assert.ts';
import {isLocalCopyDamaged} from '#server/cluster/leadership.ts';
import type {Principal} from '#server/security/principal.ts';
import type {ResultCursor, RunRequest} from '#server/session/session.ts';
import type {ResponseBuffer, ResponseWriter} from './response-buffer.ts';
import {authenticateSocket, requireUsers} from '../message/authentication.ts';
import type {HttpContext, KnownCredentials} from '../context.ts';
import {
  codedBody,
  codingHeaders,
  type Coding,
  CompressedPieces,
  isCompressed,
} from '../message/compression.ts';
import {endsSession, jsonType, loggedFailure} from '../message/exchange.ts';
import type {RawHttpListener} from './raw-http-listener.ts';
import {invalidToken} from '../relay/forwarded-headers.ts';
import {headBytesMax, type RequestHead} from './request-head.ts';
import type {CachedRequestHead} from './request-head-cache.ts';
import {parseBody} from '../message/json-body.ts';
import {heldBack, lateHeader, lateRefusal} from '../message/late-refusal.ts';
import type {ResponseSink, ResponseHead} from '../relay/leader-connection.ts';
import type {LeaderGateway} from '../relay/leader-gateway.ts';
import {answerResult} from '../message/result.ts';
import {conversationHeaders} from '../routes/agents.ts';
import {type StatementHead, statementOfBody} from '../routes/statement.ts';
import {alreadyStarted, isolationOf} from '../routes/transactions.ts';

const headEnd = Buffer.from('\r\n\r\n', 'latin1');
const opening = Buffer.from('POST /api/v1/', 'latin1');
const lineEnd = Buffer.from('\r\n', 'latin1');
const lastChunk = Buffer.from('0\r\n\r\n', 'latin1');
const none = Buffer.alloc(0);
const ok = 200;
const isDone = (): true => true;
/** After this many changes of the leadership a statement takes the path through node:http. */
const attemptsMax = 3;
/** A request in more pieces than this is sent by somebody who is in no hurry. */
const piecesMax = 8;
/** Ticks for which part of a request may stay part of one. */
const beganTicks = 2;
const waitingBytesMax = 64 * 1024;

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
}

export class RawHttpConnection implements ResponseWriter, ResponseSink, StatementHead {
  readonly context: HttpContext;
  readonly isStream = false;
  readonly tag = undefined;
  database = '';
  transactionId: string | undefined;
  consistency: RequestHead['requested'];
  readonly #listener: RawHttpListener;
  readonly #socket: Socket;
  /** Bytes that are not answered: part of a request, or what came during one. */
  #waiting: Buffer = none;
  #pieces = 0;
  #isBusy = false;
  #drains = false;
  #isChunked = false;
  #isUsed = false;
  /** The session to name in the answer. */
  #sessionId: string | undefined;
  /** When the request had come that is answered now. */
  #begunAt = 0;
  #lastHead: CachedRequestHead | undefined;
  #credentials: KnownCredentials | undefined;
  /** Whose work was begun. */
  #caller: Principal | undefined;
  /** A relayed refusal that is told late. */
  #held: Promise<void> | undefined;
  #signal: AbortSignal | undefined;
  /** Whoever waits for the reader. */
  #resume: (() => void) | undefined;
  #since: number;
  /** The status of the response that was begun last. */
  #status = ok;
  #unsentBytes = 0;
  /** How the answer of the request under way is compressed, if it is large. */
  #coding: Coding | undefined;
  #compressor: CompressedPieces | undefined;

  constructor(rawHttp: RawHttpListener, socket: Socket) {
    this.context = rawHttp.context;
    this.#listener = rawHttp;
    this.#socket = socket;
    this.#since = rawHttp.tick;
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
    if (this.#isBusy || this.#drains) return;
    if (this.#waiting.length > 0) this.#handOffToNode(this.#waiting);
    else this.#socket.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Called about once a second. */
  onTick(): void {
    const ticks = this.#listener.tick - this.#since;
    if (this.#drains) return this.#watchReader(ticks);
    if (this.#isBusy) return;
    if (this.#waiting.length > 0) {
      // Node's server has clocks for those who take their time to ask.
      if (ticks >= beganTicks) this.#handOffToNode(this.#waiting);
      return;
    }
    const patience = this.#isUsed ? this.#listener.keepAliveTicks : this.#listener.silentTicks;
    if (ticks >= patience) this.#socket.destroy();
  }

  #watchReader(ticks: number): void {
    const unsent = this.#socket.writableLength;
    if (unsent !== this.#unsentBytes) {
      this.#unsentBytes = unsent;
      this.#since = this.#listener.tick;
    } else if (ticks >= this.#listener.stallTicks) this.#socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    const waiting = this.#waiting;
    const bytes = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    if (this.#isBusy || this.#drains) {
      this.#waiting = bytes;
      if (bytes.length > waitingBytesMax) this.#socket.pause();
    } else this.#take(bytes);
  };

  readonly #onEnd = (): void => {
    this.#socket.end();
  };

  readonly #onDrain = (): void => {
    this.#drains = false;
    this.#resume?.();
    this.#resume = undefined;
    if (!this.#isBusy) this.#next();
  };

  readonly #onError = (): void => {
    this.#socket.destroy();
  };

  readonly #onClose = (): void => {
    this.#resume?.();
    this.#compressor?.destroy();
    this.#listener.remove(this);
  };

  /** Looks at all bytes that are not answered, when nothing is under way. */
  #take(bytes: Buffer): void {
    if (this.#lastHead?.begins(bytes) !== true) {
      const at = bytes.indexOf(headEnd);
      if (at < 0 || at > headBytesMax) return this.#wait(bytes, at < 0 && mayBecomeHead(bytes));
      this.#lastHead = this.#listener.head(bytes, at);
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
    return sizeMax < 0 || bodyBytes <= sizeMax;
  }

  /** Keeps part of a request until more comes, if that is worth while. */
  #wait(bytes: Buffer, mayWait: boolean): void {
    if (!mayWait || ++this.#pieces > piecesMax) return this.#handOffToNode(bytes);
    if (this.#waiting.length === 0) this.#since = this.#listener.tick;
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
    this.#listener.remove(this);
    this.#waiting = none;
    this.#listener.handOver(socket, bytes);
  }

  #perform(known: CachedRequestHead, bytes: Buffer): void {
    const {head} = known;
    this.database = head.database;
    this.transactionId = head.sessionId;
    this.#coding = head.coding;
    this.consistency = head.requested;
    const begunAt = this.context.options.clock.monotonic();
    this.#begunAt = begunAt;
    this.#attempt({known, bytes, begunAt, attempts: 1});
  }

  #attempt(request: UnderWay): void {
    this.#sessionId = undefined;
    this.#caller = undefined;
    this.#held = undefined;
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

  #done({known, bytes, begunAt}: UnderWay, isAnswered: boolean): void {
    if (!isAnswered) return this.#closeWithError(bytes);
    this.#isBusy = false;
    this.#listener.count(known, this.#status, begunAt);
    if (!this.#drains) this.#next();
  }

  /** What becomes of a request that met an error: its answer, or another attempt. */
  async #retryOrFail(request: UnderWay, error: unknown): Promise<void> {
    const {gateway: membership} = this.context;
    if (this.#isChunked || membership?.placement.isMovable(error) !== true) {
      const isRelayed = typeof request.known.head.caller !== 'string';
      const caller = this.#isChunked || isRelayed ? undefined : this.#caller;
      await lateRefusal(this.context, caller, error);
      this.#fail(error, isRelayed);
      return this.#done(request, true);
    }
    // Nothing happened, and node's path knows how to bring it to whoever leads now.
    if (isLocalCopyDamaged(error)) return this.#closeWithError(request.bytes);
    const settled = membership.placement.settled();
    const {known, attempts} = request;
    const mayStay = known.head.sessionId === undefined && attempts < attemptsMax;
    if (!mayStay || (settled === undefined && membership.cluster.isLeader)) {
      return this.#closeWithError(request.bytes);
    }
    await settled;
    this.#attempt({...request, attempts: attempts + 1});
  }

  /**
   * False when node's path must take the request, of which nothing was done. A promise only where
   * something has to be waited for: for what is done already that would only cost time.
   */
  #answered(known: CachedRequestHead, bytes: Buffer): boolean | Promise<boolean> {
    const {gateway: membership} = this.context;
    if (known.head.route === 'mcp') return this.#answeredToAgent(known, bytes);
    const found = this.#principalOf(known.head.caller);
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
    const found = this.#principalOf(credentials);
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
      this.#answer(told.status, headers, Buffer.from(told.body), requestId);
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
    const forLeader = membership && isForLeader(membership, principal, work);
    if (membership !== undefined && (forLeader instanceof Promise ? await forLeader : forLeader)) {
      this.#caller = principal;
      const body = bytes.subarray(known.bytes.length);
      const request = {known, principal, body, taker: this, gone: this.signal};
      const relayed = membership.forwardBytes(request);
      if (relayed === undefined) return false;
      if (await relayed) {
        await this.#held;
        return true;
      }
    }
    return this.#execute(principal, work);
  }

  #execute(principal: Principal, work: RunRequest | TransactionChange): true | Promise<true> {
    this.#caller = principal;
    if (!('text' in work)) return this.#changeTransaction(principal, work).then(isDone);
    this.#sessionId = work.transactionId;
    const waiting = this.context.gateway?.placement.readable(principal, work);
    return waiting === undefined
      ? this.#run(principal, work)
      : waiting.then(() => this.#run(principal, work));
  }

  #run(principal: Principal, request: RunRequest): true | Promise<true> {
    const tell = (cursor: ResultCursor): true | Promise<true> => {
      const isDocument = request.format === 'graph' || request.format === 'studio';
      const rest = answerResult(this, cursor, {user: principal.name, isDocument});
      return rest === undefined || rest.then(isDone);
    };
    request.receivedAt = this.#begunAt;
    const started = this.context.service.run(principal, request);
    return started instanceof Promise ? started.then(tell) : tell(started);
  }

  /** Has node's server take the request that is under way, of which nothing was done. */
  #closeWithError(bytes: Buffer): void {
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
        this.#sessionId = id;
        throw alreadyStarted();
      }
      this.#sessionId = await service.begin(principal, database, {isolation: work.level});
    } else if (id !== undefined) {
      if (work.kind === 'commit') await service.commit(principal, database, id, undefined);
      else await service.rollback(principal, database, id);
    }
    this.#answer(204, [], none);
  }

  #fail(error: unknown, isRelayed: boolean): void {
    if (error instanceof AssertionFailure) throw error;
    const requestId = this.context.nextRequestId();
    const {status, body, headers} = loggedFailure(this.context, requestId, error);
    if (this.#isChunked) return this.destroy();
    if (endsSession(error)) this.#sessionId = undefined;
    const all = isRelayed ? [...headers, ...lateHeader(error)] : headers;
    this.#answer(status, all, Buffer.from(JSON.stringify(body)), requestId);
  }

  #answer(
    status: number,
    headers: readonly string[],
    body: Buffer,
    requestId = this.context.nextRequestId(),
  ): void {
    this.#status = status;
    const head = this.#listener.answers.any({
      status,
      contentType: jsonType,
      requestId,
      sessionId: this.#sessionId,
      headers,
      length: body.length,
    });
    this.#send(Buffer.concat([Buffer.from(head, 'latin1'), body]));
  }

  bytes(): ResponseBuffer {
    return this.#listener.bytes();
  }

  answerBytes(bytes: ResponseBuffer): Promise<void> | void {
    this.#status = ok;
    const coding = this.#coding;
    if (coding !== undefined && isCompressed(this.context.settings, bytes.length)) {
      return this.#answerCompressed(bytes.take(), coding);
    }
    this.#send(this.#listener.answers.whole(bytes, this.#sessionId));
    // What the kernel has taken may be written over.
    if (this.#socket.writableLength === 0) this.#listener.takeBack(bytes);
  }

  async #answerCompressed(body: Buffer, coding: Coding): Promise<void> {
    const coded = await codedBody(coding, body, error => {
      this.context.options.logger.log('warn', 'answer.not-compressed', {error});
    });
    this.#answer(ok, coded.headers, coded.bytes);
  }

  startRows(contentType: string): void {
    this.#isChunked = true;
    this.#status = ok;
    const isWanted = isCompressed(this.context.settings, Number.POSITIVE_INFINITY);
    const coding = isWanted ? this.#coding : undefined;
    this.#compressor = coding && new CompressedPieces(coding);
    const head = this.#listener.answers.any({
      status: ok,
      contentType,
      requestId: this.context.nextRequestId(),
      sessionId: this.#sessionId,
      headers: coding === undefined ? [] : codingHeaders(coding),
      length: undefined,
    });
    this.#send(Buffer.from(head, 'latin1'));
  }

  /** Writes a chunk and waits until the reader keeps up. */
  async write(piece: Buffer): Promise<void> {
    if (!this.#socket.writable) throw clientGone();
    const coded = this.#compressor === undefined ? piece : await this.#compressor.add(piece);
    if (coded.length > 0) this.#send(chunk(coded));
    if (!this.#drains) return;
    await new Promise<void>(resolve => {
      this.#resume = resolve;
    });
    if (!this.#socket.writable) throw clientGone();
  }

  endStream(lastPiece: Buffer): Promise<void> | void {
    const compressor = this.#compressor;
    if (compressor === undefined) return this.#endChunks(lastPiece);
    return compressor.end(lastPiece).then(bytes => this.#endChunks(bytes));
  }

  #endChunks(lastPiece: Buffer): void {
    const last = lastPiece.length === 0 ? none : chunk(lastPiece);
    this.#send(Buffer.concat([last, lastChunk]));
    this.#isChunked = false;
    this.#compressor = undefined;
  }

  full({status, text, isLate}: ResponseHead, body: Buffer): void {
    this.#status = status;
    const send = (): void => {
      const head = this.#listener.answers.relayed(text);
      this.#send(body.length === 0 ? head : Buffer.concat([head, body]));
    };
    this.#held = isLate ? heldBack(this.context, this.#caller)?.then(send) : undefined;
    if (this.#held === undefined) send();
  }

  start({status, text}: ResponseHead): void {
    this.#status = status;
    this.#send(this.#listener.answers.relayed(text));
  }

  chunk(bytes: Buffer): Promise<void> | undefined {
    this.#send(bytes);
    if (!this.#drains) return undefined;
    return new Promise<void>(resolve => {
      this.#resume = resolve;
    });
  }

  aborted(): void {
    this.destroy();
  }

  #send(bytes: Buffer): void {
    const socket = this.#socket;
    if (!socket.writable || socket.write(bytes)) return;
    this.#drains = true;
    this.#since = this.#listener.tick;
  }

  /** After an answer that is on its way: ends the connection, or looks at what waits. */
  #next(): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    if (this.context.isStopping) {
      socket.end();
      return;
    }
    this.#since = this.#listener.tick;
    if (socket.isPaused()) socket.resume();
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = none;
    this.#take(waiting);
  }
}

/** Whether the leader is to carry it out, which is another server. */
function isForLeader(
  {cluster, placement}: LeaderGateway,
  principal: Principal,
  work: RunRequest | TransactionChange,
): boolean | Promise<boolean> {
  return 'text' in work ? placement.isForLeader(principal, work) : !cluster.isLeader;
}

function chunk(piece: Buffer): Buffer {
  const size = Buffer.from(`${piece.length.toString(16)}\r\n`, 'latin1');
  return Buffer.concat([size, piece, lineEnd]);
}

/** Whether bytes without an end of head can still become one of ours. */
function mayBecomeHead(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, opening.length);
  return bytes.length <= headBytesMax && bytes.compare(opening, 0, length, 0, length) === 0;
}
