/**
 * The raw HTTP path: simple requests of the routes that matter, answered straight on their sockets.
 *
 * Every connection begins here. A request that is complete, small and in the one form of
 * request-head.ts is answered here; the first one that is not takes its connection, with every
 * byte not yet answered, to node's server for good. So node's parser judges whatever is odd, and
 * its clocks judge whoever is slow: a request that is not whole within a tick or two goes there
 * as well. One coarse timer serves all connections, and none runs without connections.
 * Why: docs/design/0005-raw-http-path.md.
 */
import {basePath} from '../protocol-names.ts';
import type {Socket} from 'node:net';
import {ResponseBuffer} from './response-buffer.ts';
import type {HttpContext} from '../context.ts';
import {ResponseHeaders} from './response-headers.ts';
import {RawHttpConnection} from './raw-http-connection.ts';
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

export class RawHttpListener {
  readonly context: HttpContext;
  readonly handOver: NodeHttpFallback;
  readonly answers: ResponseHeaders;
  readonly tickMs: number;
  readonly keepAliveTicks: number;
  readonly silentTicks: number;
  readonly stallTicks: number;
  /** Moves on by itself while there are connections. */
  tick = 0;
  /** Requests answered here. */
  answered = 0;
  readonly #connections = new Set<RawHttpConnection>();
  /** Heads repeat from request to request, so each is read once. */
  readonly #heads = new Map<string, CachedRequestHead>();
  readonly #spares: ResponseBuffer[] = [];
  #ticks = false;

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

  accept(socket: Socket): void {
    this.#connections.add(new RawHttpConnection(this, socket));
    this.#tickLater();
  }

  remove(connection: RawHttpConnection): void {
    this.#connections.delete(connection);
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
    // Sessions and bookmarks come and go: theirs are remembered by their connections only.
    if (parsed.sessionId !== undefined || parsed.requested?.after !== undefined) return head;
    if (this.#heads.size >= headsMax) this.#heads.clear();
    this.#heads.set(text, head);
    return head;
  }

  /** Counts an answer to a request that had come wholly at `begunAt`. */
  count(known: CachedRequestHead, status: number, begunAt: number): void {
    this.answered++;
    const {timings, options} = this.context;
    if (options.traces !== undefined) this.#trace(known, status, begunAt);
    if (timings === undefined) return;
    if (known.timed?.status !== status) {
      const {database} = known.head;
      const path = pathOf(known);
      const histogram = timings.of({method: 'POST', path, status, database});
      known.timed = {status, histogram};
    }
    known.timed.histogram.add(options.clock.monotonic() - begunAt);
  }

  #trace(known: CachedRequestHead, status: number, begunAt: number): void {
    const {traces, clock} = this.context.options;
    const {database} = known.head;
    const span = {method: 'POST', path: pathOf(known), status, database};
    traces?.add({...span, begunAt, endedAt: clock.monotonic()}, undefined);
  }

  bytes(): ResponseBuffer {
    return this.#spares.pop() ?? new ResponseBuffer(this.context, answerHeadBytes);
  }

  /** Takes back bytes that nobody looks at any more. */
  takeBack(bytes: ResponseBuffer): void {
    if (bytes.reset() && this.#spares.length < sparesMax) this.#spares.push(bytes);
  }

  /** Ends connections without a request under way; the others end with their answer. */
  closeIdle(): void {
    for (const connection of this.#connections) connection.closeIfIdle();
  }

  closeAll(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  #tickLater(): void {
    if (this.#ticks) return;
    this.#ticks = true;
    this.context.options.timers.after(this.tickMs, () => {
      this.#ticks = false;
      this.tick++;
      for (const connection of this.#connections) connection.onTick();
      if (this.#connections.size > 0) this.#tickLater();
    });
  }
}

/** The path of the route, with names in braces. */
function pathOf({head: {route}}: CachedRequestHead): string {
  return route === 'mcp' ? `${basePath}mcp` : `${basePath}${route}/{database}`;
}
