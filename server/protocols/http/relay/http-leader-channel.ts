/**
 * The way of calls to the leader (forwarding/leader-call.ts) over its HTTP listener: a POST of the
 * call, answered with frames as they are made. One hop, since whoever gets it carries it out by its
 * own service.
 */
import {clientGone} from '../message/failure.ts';
import {basePath} from '../protocol-names.ts';
import type {IncomingMessage} from 'node:http';
import {PassThrough} from 'node:stream';
import {hostAndPort} from '#server/base/addresses.ts';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {requiresLeader} from '#server/cluster/leadership.ts';
import {type Attempted, LeaderAttempts, noLeaderNow} from '#server/forwarding/leader-attempts.ts';
import {
  encodeCall,
  errorIn,
  frame,
  type Frame,
  FrameReader,
  type LeaderCall,
} from '#server/forwarding/leader-call.ts';
import type {
  CallAnswer,
  CallOptions,
  CallStream,
  LeaderChannel,
} from '#server/forwarding/leader-channel.ts';

import {memberHeaders} from './forwarded-headers.ts';
import type {HttpTarget} from './idle-connections.ts';
import {LeaderAddress} from './leader-address.ts';
import type {RelayContext} from './relayed-exchange.ts';
import {LeaderSender} from './leader-sender.ts';

export const callPath = '/cluster/call';
/** Where calls go whose values follow them. */
export const streamPath = '/cluster/stream';

/** What an answer may take beyond the time of its request, which the leader keeps itself. */
const graceMs = 1_000;

export class HttpLeaderChannel implements LeaderChannel {
  readonly #context: RelayContext;
  readonly #cluster: Cluster;
  readonly #sender: LeaderSender;
  readonly #attempts: LeaderAttempts<HttpTarget>;

  constructor(context: RelayContext, cluster: Cluster) {
    this.#context = context;
    this.#cluster = cluster;
    this.#sender = new LeaderSender(context, cluster);
    const leader = new LeaderAddress(context, cluster);
    const {clock, timers} = context.options;
    const target = (): HttpTarget | undefined => leader.target();
    this.#attempts = new LeaderAttempts({cluster, clock, timers, target});
  }

  close(): void {
    this.#sender.close();
  }

  async ask(
    callIn: (restMs: number | undefined) => LeaderCall,
    options: CallOptions,
  ): Promise<CallAnswer | undefined> {
    return await this.#answer(options, (target, restMs) => {
      const body = encodeCall(callIn(restMs));
      const bytesMax = this.#context.settings.get('svc.ha.proxyMaxBodySize');
      if (body.length > bytesMax) throw tooLarge(body.length, bytesMax);
      const headers = ['Content-Length', String(body.length)];
      const patienceMs = this.#context.settings.get('svc.ha.proxyCommandTimeout');
      return this.#attempt(target, {path: callPath, headers, body, restMs, patienceMs}, options);
    });
  }

  async open(
    callIn: (restMs: number | undefined) => LeaderCall,
    options: Omit<CallOptions, 'isRepeatable'>,
  ): Promise<CallStream | undefined> {
    return await this.#answer({...options, isRepeatable: false}, async (target, restMs) => {
      const body = new PassThrough();
      body.on('error', () => {});
      body.write(frame('head', encodeCall(callIn(restMs))));
      const headers = ['Transfer-Encoding', 'chunked'];
      const patienceMs = this.#context.settings.get('svc.ha.proxyBatchReadTimeout');
      const asked = {path: streamPath, headers, body, restMs, patienceMs, goesOn: true};
      const attempted = await this.#attempt(target, asked, options);
      if (attempted.kind === 'answered') return streamOver(attempted.answer, body);
      // Nothing was sent that could have been carried out.
      return attempted.kind === 'broken' ? {...attempted, kind: 'unsent'} : attempted;
    });
  }

  async #answer<T>(
    {timeoutMs, signal, isRepeatable}: CallOptions,
    attempt: (target: HttpTarget, restMs: number | undefined) => Promise<Attempted<T>>,
  ): Promise<T | undefined> {
    if (!this.#cluster.isLeader) await this.#cluster.whenSettled(this.#waitMs);
    const {clock} = this.#context.options;
    const begunAt = clock.monotonic();
    const restMs = (): number | undefined =>
      timeoutMs && Math.max(1, Math.ceil(timeoutMs - (clock.monotonic() - begunAt)));
    return await this.#attempts.answer({
      attempt: async target => await attempt(target, restMs()),
      isRepeatable,
      gone: () => signal?.aborted === true,
      clientGone,
      waitMs: Math.min(this.#waitMs, timeoutMs ?? this.#waitMs),
    });
  }

  get #waitMs(): number {
    return this.#context.settings.get('svc.ha.forwardLeaderWaitTimeoutMs');
  }

  async #attempt(
    target: HttpTarget,
    {path, headers, body, restMs, patienceMs, goesOn = false}: AskedCall,
    {principal, signal}: Pick<CallOptions, 'principal' | 'signal'>,
  ): Promise<Attempted<CallAnswer>> {
    // The leader itself says that its time is over, unless it is silent.
    const mostMs = (restMs ?? Number.POSITIVE_INFINITY) + graceMs;
    const beginsMs = this.#context.settings.get('svc.ha.proxyCommandTimeout');
    const beginsWithinMs = Math.min(beginsMs, mostMs);
    const {answer: answering} = this.#sender.send(target, {
      method: 'POST',
      path: `${basePath}${path.slice(1)}`,
      headers: [
        'Host',
        hostAndPort(target.host, target.port),
        ...headers,
        ...memberHeaders(
          {token: this.#cluster.token, user: principal.name},
          this.#context.options.peerClient.traceParent,
        ),
      ],
      body,
      patienceMs: beginsWithinMs,
      signal,
      goesOn,
    });
    const answer = await answering;
    if (!('headers' in answer)) return answer;
    const {statusCode = 0} = answer;
    if (statusCode !== 200) {
      answer.resume();
      return notTaken(statusCode, target);
    }
    return await this.#begun(answer, Math.min(patienceMs, mostMs), beginsWithinMs);
  }

  async #begun(
    answer: IncomingMessage,
    patienceMs: number,
    beginsWithinMs: number,
  ): Promise<Attempted<CallAnswer>> {
    const frames = new Frames(answer, delay => this.#silence(answer, delay), patienceMs);
    let first: Frame | undefined;
    try {
      first = await frames.next(beginsWithinMs);
    } catch (error) {
      return {kind: 'broken', reason: String(error)};
    }
    if (first === undefined) return {kind: 'broken', reason: 'its answer is empty'};
    if (first.kind !== 'error') {
      const next = (): Promise<Frame | undefined> => frames.nextOrRefusal();
      return {kind: 'answered', answer: {first, next, close: () => frames.close()}};
    }
    frames.close();
    const error = errorIn(first);
    if (requiresLeader(error)) return {kind: 'not-leader', reason: error.message};
    throw error;
  }

  #silence(answer: IncomingMessage, delayMs: number): () => void {
    const {timers} = this.#context.options;
    return timers.after(delayMs, () => answer.destroy(new Error('the leader is silent')));
  }
}

/** A call as it is sent to one leader. */
interface AskedCall {
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Buffer | PassThrough;
  /** What is left of its time. */
  readonly restMs: number | undefined;
  /** How long the leader may be silent once it has begun to answer. */
  readonly patienceMs: number;
  readonly goesOn?: boolean;
}

function streamOver(answer: CallAnswer, body: PassThrough): Attempted<CallStream> {
  const stream: CallStream = {
    send: sent => void body.write(sent),
    end: sent => void body.end(sent),
    next: () => answer.next(),
    close: () => {
      answer.close();
      body.destroy();
    },
  };
  return {kind: 'answered', answer: stream};
}

/** A listener that is starting answers 503; the rest is a matter of settings and releases. */
function notTaken(status: number, {host, port}: HttpTarget): Attempted<CallAnswer> {
  const address = hostAndPort(host, port);
  if (status === 503) return {kind: 'unsent', reason: `${address} is starting`};
  if (status === 401) {
    throw noLeaderNow(`${address} leads and does not take this server's cluster token, or has no \
such user: nothing was carried out`);
  }
  throw new Refusal(
    'not-available',
    `${address} leads and answered a call of this server with ${status}: upgrade it`,
  );
}

function tooLarge(length: number, bytesMax: number): Refusal {
  return new Refusal(
    'limit.body',
    `A request of ${length} bytes exceeds the ${bytesMax} bytes that a replica relays: send it ` +
      "to the leader, or raise 'svc.ha.proxyMaxBodySize'",
  );
}

/** The frames of an answer, read no faster than they are taken. */
class Frames {
  readonly #answer: IncomingMessage;
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #reader = new FrameReader();
  readonly #silence: (delayMs: number) => () => void;
  readonly #patienceMs: number;
  #hasEnded = false;

  constructor(
    answer: IncomingMessage,
    silence: (delayMs: number) => () => void,
    patienceMs: number,
  ) {
    this.#answer = answer;
    this.#pieces = (answer as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    this.#silence = silence;
    this.#patienceMs = patienceMs;
  }

  async next(patienceMs = this.#patienceMs): Promise<Frame | undefined> {
    for (;;) {
      const frame = this.#reader.next();
      if (frame !== undefined || this.#hasEnded) {
        this.#hasEnded ||= frame?.kind === 'end' || frame?.kind === 'value';
        // What is read to its end leaves its connection for the next one.
        if (this.#hasEnded) this.#answer.resume();
        return frame;
      }
      const cancel = this.#silence(patienceMs);
      try {
        const {done, value} = await this.#pieces.next();
        if (done === true) throw new Error('its answer broke off');
        this.#reader.add(value);
      } finally {
        cancel();
      }
    }
  }

  async nextOrRefusal(): Promise<Frame | undefined> {
    let frame: Frame | undefined;
    try {
      frame = await this.next();
    } catch (error) {
      const message = `the rest of the rows did not come from the leader (${reasonOf(error)})`;
      throw new Refusal('cluster.no-leader', `${message}: ask again`, {cause: error});
    }
    if (frame?.kind === 'error') throw errorIn(frame);
    return frame;
  }

  close(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#answer.destroy();
  }
}
