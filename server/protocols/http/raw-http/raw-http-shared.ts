/**
 * What all connections of the raw HTTP path share: the heads of requests that were seen, buffers
 * for answers, the ticks by which connections are judged, and the counts of what was answered.
 */
import {basePath} from '../protocol-names.ts';
import type {Socket} from 'node:net';
import type {RequestTrace} from '#server/monitoring/request-span.ts';
import type {HttpContext} from '../context.ts';
import {ResponseBuffer} from './response-buffer.ts';
import {ResponseHeaders} from './response-headers.ts';
import {parseRequestHead} from './request-head.ts';
import {CachedRequestHead} from './request-head-cache.ts';

/** Gives a socket to node's server, `bytes` first. */
export type NodeHttpFallback = (socket: Socket, bytes: Buffer) => void;

const headsMax = 512;
const emptyLineBytes = 4;
const sparesMax = 64;
/** What the head of a usual answer takes, and some more. */
const answerHeadBytes = 448;
const tickMsMax = 1_000;
const tickMsMin = 25;

export class RawHttpShared {
  readonly context: HttpContext;
  readonly handOver: NodeHttpFallback;
  readonly answers: ResponseHeaders;
  readonly tickMs: number;
  readonly keepAliveTicks: number;
  readonly silentTicks: number;
  readonly stallTicks: number;
  /** Moves on while there are connections. */
  tick = 0;
  /** Requests answered here. */
  answered = 0;
  /** Heads repeat from request to request, so each is read once. */
  readonly #heads = new Map<string, CachedRequestHead>();
  readonly #spares: ResponseBuffer[] = [];

  constructor(context: HttpContext, handOver: NodeHttpFallback) {
    const {settings} = context;
    const socketMs = settings.get('svc.network.socketTimeout');
    const keepAliveMs = settings.get('svc.network.keepAliveTimeout');
    this.context = context;
    this.handOver = handOver;
    this.answers = new ResponseHeaders(context, keepAliveMs);
    const shortest = Math.min(socketMs, keepAliveMs > 0 ? keepAliveMs : socketMs);
    this.tickMs = Math.max(tickMsMin, Math.min(shortest / 4, tickMsMax));
    this.keepAliveTicks = keepAliveMs > 0 ? keepAliveMs / this.tickMs + 1 : Number.MAX_SAFE_INTEGER;
    this.silentTicks = socketMs / this.tickMs;
    this.stallTicks = (2 * socketMs) / this.tickMs;
  }

  /**
   * The head that `bytes` begin with; undefined when it is not for the raw HTTP path.
   *
   * @param end - Where the empty line behind it begins.
   */
  head(bytes: Buffer, end: number): CachedRequestHead | undefined {
    const text = bytes.toString('latin1', 0, end);
    const known = this.#heads.get(text);
    if (known !== undefined) return known;
    const parsed = parseRequestHead(text);
    if (parsed === undefined) return undefined;
    const head = new CachedRequestHead(
      parsed,
      Buffer.from(bytes.subarray(0, end + emptyLineBytes)),
    );
    // Sessions, bookmarks and traces come and go: theirs are remembered by their connections only.
    const {sessionId, requested, traceParent} = parsed;
    if ((sessionId ?? requested?.after ?? traceParent) !== undefined) return head;
    if (this.#heads.size >= headsMax) this.#heads.clear();
    this.#heads.set(text, head);
    return head;
  }

  /** Counts an answer to a request that had come wholly at `begunAt`. */
  count(
    known: CachedRequestHead,
    status: number,
    {begunAt, trace}: {readonly begunAt: number; readonly trace: RequestTrace | undefined},
  ): void {
    this.answered++;
    const {timings, options} = this.context;
    if (trace !== undefined) this.#giveSpan(known, status, {begunAt, trace});
    if (timings === undefined) return;
    if (known.timed?.status !== status) {
      const {database} = known.head;
      const path = pathOf(known);
      const histogram = timings.of({method: 'POST', path, status, database});
      known.timed = {status, histogram};
    }
    known.timed.histogram.add(options.clock.monotonic() - begunAt);
  }

  #giveSpan(
    known: CachedRequestHead,
    status: number,
    {begunAt, trace}: {readonly begunAt: number; readonly trace: RequestTrace},
  ): void {
    const {traces, clock} = this.context.options;
    const {database} = known.head;
    const span = {method: 'POST', path: pathOf(known), status, database};
    traces?.add({...span, begunAt, endedAt: clock.monotonic()}, trace);
  }

  bytes(): ResponseBuffer {
    return this.#spares.pop() ?? new ResponseBuffer(this.context, answerHeadBytes);
  }

  /** Takes back bytes that nobody looks at any more. */
  takeBack(bytes: ResponseBuffer): void {
    if (bytes.reset() && this.#spares.length < sparesMax) this.#spares.push(bytes);
  }
}

/** The path of the route, with names in braces. */
function pathOf({head: {route}}: CachedRequestHead): string {
  return route === 'mcp' ? `${basePath}mcp` : `${basePath}${route}/{database}`;
}
