/**
 * How long requests took, as histograms for GET `/prometheus`: `svc_http_requests_seconds` by
 * method, path of the route, status and database.
 *
 * Counting is some additions in arrays that are there already: whoever answers the same request
 * again and again keeps the histogram (`of`), and looks it up no more. The number of series is
 * bounded: names of databases are taken from requests that succeeded, so that nobody makes series
 * up, and left out when there are too many. Source: docs/http.md.
 */
import type {ServerResponse} from 'node:http';
import type {Exchange} from './message/exchange.ts';

/** Seconds; an answer from memory takes a tenth of a millisecond. */
const boundsSeconds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
const boundsMs = Float64Array.from(boundsSeconds, seconds => seconds * 1_000);
const seriesMax = 1_000;
const metric = 'svc_http_requests_seconds';
/** The status of a request whose client was gone before the answer began. */
const goneStatus = 499;
const firstFailure = 400;

interface TimedRequest {
  readonly method: string;
  /** The path of the route, with names in braces; `unmatched` for everything else. */
  readonly path: string;
  readonly status: number;
  /** The database of the request; empty where it has none. */
  readonly database: string;
}

/** Durations of one kind of request with one status. */
export class DurationHistogram {
  readonly status: number;
  /** How many were at most as long as the bound, and longer than the one before it. */
  readonly #counts = new Float64Array(boundsMs.length + 1);
  #sumMs = 0;
  #maxMs = 0;

  constructor(status: number) {
    this.status = status;
  }

  add(ms: number): void {
    let at = 0;
    while (at < boundsMs.length && ms > (boundsMs[at] as number)) at++;
    (this.#counts[at] as number)++;
    this.#sumMs += ms;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  get maxSeconds(): number {
    return seconds(this.#maxMs);
  }

  /** The lines of a scrape, of which every bucket holds those before it. */
  lines(labels: string): string[] {
    let count = 0;
    const lines = boundsSeconds.map((bound, at) => {
      count += this.#counts[at] ?? 0;
      return `${metric}_bucket{${labels},le="${bound}"} ${count}`;
    });
    count += this.#counts[boundsSeconds.length] ?? 0;
    return [
      ...lines,
      `${metric}_bucket{${labels},le="+Inf"} ${count}`,
      `${metric}_sum{${labels}} ${seconds(this.#sumMs)}`,
      `${metric}_count{${labels}} ${count}`,
    ];
  }
}

export class RequestTimings {
  readonly #series = new Map<string, DurationHistogram>();
  readonly #now: () => number;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Where durations of such requests are added; the same one every time. */
  of({method, path, status, database}: TimedRequest): DurationHistogram {
    const kind = `method="${method}",path="${path}",status="${status}"`;
    const isNamed = status < firstFailure && this.#series.size < seriesMax;
    const named = `${kind},db="${database}"`;
    const known = this.#series.get(named);
    if (known !== undefined) return known;
    const labels = isNamed ? named : `${kind},db=""`;
    const found = this.#series.get(labels) ?? new DurationHistogram(status);
    this.#series.set(labels, found);
    return found;
  }

  /** Times the request of an exchange that has just begun, until its answer is out. */
  watch(exchange: Exchange): void {
    const {request, response} = exchange;
    const begun = this.#now();
    response.once('close', () => {
      const histogram = this.of({
        method: known.has(request.method ?? '') ? (request.method ?? '') : 'other',
        path: exchange.routePath,
        status: statusOf(response),
        database: exchange.database,
      });
      histogram.add(this.#now() - begun);
    });
  }

  /** All of it in the format of a scrape; empty before the first request. */
  text(): string {
    if (this.#series.size === 0) return '';
    const series = [...this.#series].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [
      `# TYPE ${metric} histogram`,
      ...series.flatMap(([labels, histogram]) => histogram.lines(labels)),
      `# TYPE ${metric}_max gauge`,
      ...series.map(([labels, {maxSeconds}]) => `${metric}_max{${labels}} ${maxSeconds}`),
      '',
    ].join('\n');
  }
}

/** Any other word is a client's own. */
const known: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']);

function statusOf({headersSent, statusCode}: ServerResponse): number {
  return headersSent ? statusCode : goneStatus;
}

function seconds(ms: number): number {
  return Number((ms / 1_000).toFixed(6));
}
