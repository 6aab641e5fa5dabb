/**
 * How long requests took, as histograms for GET `/prometheus`: `svc_http_requests_seconds` by
 * method, path of the route, status and database.
 *
 * Whoever answers the same request again and again keeps the histogram (`of`), and looks it up no
 * more. The number of series is bounded: only names of databases that are there are taken, so that
 * nobody makes series up, and they are left out when there are too many.
 * Source: docs/monitoring.md.
 */
import {basePath} from './protocol-names.ts';
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {DurationHistogram} from '#server/monitoring/duration-histogram.ts';
import type {Figures} from '#server/monitoring/figures.ts';
import type {RequestTrace, Traces} from '#server/monitoring/request-span.ts';
import {Timings} from '#server/monitoring/timings.ts';

/** The status of a request whose client was gone before the answer began. */
const goneStatus = 499;
const firstFailure = 400;

/** What of a request and its answer is timed. */
interface TimedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** When its head had come, of the monotonic clock. */
  readonly begunAt: number;
  readonly routePath: string;
  readonly database: string;
  header(name: string): string | undefined;
}

interface TimedRequest {
  readonly method: string;
  /** The path of the route, with names in braces; `unmatched` for everything else. */
  readonly path: string;
  readonly status: number;
  /** The database of the request; empty where it has none. */
  readonly database: string;
}

export class RequestTimings {
  readonly #timings = new Timings();
  readonly #now: () => number;
  readonly #isDatabase: (name: string) => boolean;

  /**
   * @param now - Milliseconds of a clock that never goes back.
   * @param isDatabase - Whether there is one of a name.
   */
  constructor(now: () => number, isDatabase: (name: string) => boolean) {
    this.#now = now;
    this.#isDatabase = isDatabase;
  }

  /** Where durations of such requests are added; the same one every time. */
  of({method, path, status, database}: TimedRequest): DurationHistogram {
    const named = [method, path, String(status), database];
    const isNamed = this.#timings.has(named) || this.#mayName(database, status);
    return this.#timings.of(isNamed ? named : [method, path, String(status), '']);
  }

  /** Whether a new series may have the name: routes that succeed may be asked of no database. */
  #mayName(database: string, status: number): boolean {
    return status < firstFailure && !this.#timings.isFull && this.#isDatabase(database);
  }

  /** Times the request of an exchange that has just begun, until its answer is out. */
  watch(exchange: TimedExchange): void {
    const {request, response, begunAt} = exchange;
    response.once('close', () => {
      const histogram = this.of({
        method: methodOf(request),
        path: exchange.routePath,
        status: statusOf(response),
        database: exchange.database,
      });
      histogram.add(this.#now() - begunAt);
    });
  }

  /** How many requests each route has answered, by its first word: `http.query`. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const {labels, value} of this.#timings.samples()) {
      const [, path = ''] = labels;
      const word = path.startsWith(basePath) ? path.slice(basePath.length).split('/', 1)[0] : path;
      const name = `http.${word}`;
      counts.set(name, (counts.get(name) ?? 0) + value.count);
    }
    return counts;
  }

  figures(): Figures {
    return {
      svc_http_requests_seconds: this.#timings.samples(),
      svc_http_requests_seconds_max: this.#timings.maxima(),
    };
  }
}

/** Gives a span of the request of an exchange that has just begun, when its answer is out. */
export function giveSpan(
  exchange: TimedExchange,
  traces: Traces,
  {trace, now}: {readonly trace: RequestTrace; readonly now: () => number},
): void {
  const {request, response, begunAt} = exchange;
  response.once('close', () => {
    if (probes.has(exchange.routePath)) return;
    const span = {
      method: methodOf(request),
      path: exchange.routePath,
      status: statusOf(response),
      database: exchange.database,
      begunAt,
      endedAt: now(),
    };
    traces.add(span, trace);
  });
}

/** Asked every few seconds by whoever runs the server: their spans would bury all others. */
const probes: ReadonlySet<string> = new Set([`${basePath}health`, `${basePath}ready`]);

function methodOf({method = ''}: IncomingMessage): string {
  return known.has(method) ? method : 'other';
}

/** Any other word is a client's own. */
const known: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']);

function statusOf({headersSent, statusCode}: ServerResponse): number {
  return headersSent ? statusCode : goneStatus;
}
