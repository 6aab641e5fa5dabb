/**
 * What the server pushes to a collector: its metrics from time to time, and a span for each sampled
 * request (OTLP over HTTP, `svc.serverMetrics.otlp.*` and `svc.serverMetrics.tracing.*`).
 *
 * A span tells route, status and database of a request and how long it took, never its text, path
 * or user. Spans wait in a list of bounded length; what a collector does not take in time is
 * dropped and counted, so that a collector that is away costs nothing but its own data. The
 * exporters are loaded when something is pushed at all.
 */
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {TracePlace, TraceScope} from '#server/platform/trace-scope.ts';
import type {Figures} from './figures.ts';
import type {OtlpExport} from './otlp-export.ts';
import type {RequestSpan, RequestTrace, TracedRequest, Traces} from './request-span.ts';

export interface TelemetryOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Pick<Timers, 'after'>;
  readonly logger: Logger;
  /** What lines of the log are told of the request that they are about. */
  readonly scope: TraceScope;
  readonly version: string;
  /** The families of every part of the server at this moment. */
  readonly figures: () => Figures;
}

const spansMax = 4_096;
const spansEveryMs = 2_000;
const warningEveryMs = 60_000;
const traceIdBytes = 16;
const spanIdBytes = 8;

export class Telemetry implements Traces {
  readonly #options: TelemetryOptions;
  readonly #rate: number;
  readonly #pushesMetrics: boolean;
  #exporters: Promise<OtlpExport> | undefined;
  #spans: TracedRequest[] = [];
  #dropped = 0;
  #warnedAt = Number.NEGATIVE_INFINITY;
  readonly #cancels = new Set<() => void>();

  /** @throws {Refusal} `start.refused` for an endpoint or a rate that is none. */
  constructor(options: TelemetryOptions) {
    const {settings} = options;
    this.#options = options;
    this.#pushesMetrics = settings.get('svc.serverMetrics.otlp.enabled');
    const rate = samplingRate(settings);
    this.#rate = settings.get('svc.serverMetrics.tracing.enabled') ? rate : 0;
    checkEndpoint(settings);
    if (this.#pushesMetrics) {
      this.#every(settings.get('svc.serverMetrics.otlp.period'), () => this.#pushMetrics());
    }
    if (this.traces) this.#every(spansEveryMs, () => this.#pushSpans());
  }

  /** Whether any request is traced. */
  get traces(): boolean {
    return this.#options.settings.get('svc.serverMetrics.tracing.enabled');
  }

  /** A request is sampled as its client says, else by chance. */
  within<R>(parent: TracePlace | undefined, work: (trace: RequestTrace) => R): R {
    const isSampled = parent?.isSampled ?? this.#chance() < this.#rate;
    const traceId = parent?.traceId ?? this.#id(traceIdBytes);
    const place = {traceId, spanId: this.#id(spanIdBytes), isSampled};
    return this.#options.scope.run(place, () => work({...place, parent}));
  }

  add(request: RequestSpan, {traceId, spanId, parent, isSampled}: RequestTrace): void {
    if (!isSampled) return;
    if (this.#spans.length >= spansMax) {
      this.#dropped++;
      return;
    }
    const {clock} = this.#options;
    const offset = clock.now() - clock.monotonic();
    this.#spans.push({
      ...request,
      traceId,
      spanId,
      parent,
      begunAtMs: request.begunAt + offset,
      endedAtMs: request.endedAt + offset,
    });
  }

  /** Pushes once more what there is, and nothing afterwards. */
  async end(): Promise<void> {
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
    if (this.#pushesMetrics) await this.#pushMetrics();
    if (this.traces) await this.#pushSpans();
    if (this.#exporters !== undefined) await (await this.#exporters).close();
  }

  #every(periodMs: number, push: () => Promise<void>): void {
    const cancel = this.#options.timers.after(periodMs, () => {
      this.#cancels.delete(cancel);
      this.#every(periodMs, push);
      void push();
    });
    this.#cancels.add(cancel);
  }

  #pushMetrics(): Promise<void> {
    const {figures, clock} = this.#options;
    return this.#push(exporters => exporters.metrics(figures(), clock.now()));
  }

  async #pushSpans(): Promise<void> {
    const spans = this.#spans;
    this.#spans = [];
    if (spans.length > 0) await this.#push(exporters => exporters.spans(spans));
    if (this.#dropped === 0) return;
    this.#warn(`${this.#dropped} spans found no room in the list of ${spansMax} that wait`);
    this.#dropped = 0;
  }

  async #push(send: (exporters: OtlpExport) => Promise<void>): Promise<void> {
    try {
      this.#exporters ??= this.#load();
      await send(await this.#exporters);
    } catch (error) {
      this.#warn(reasonOf(error));
    }
  }

  async #load(): Promise<OtlpExport> {
    const {OtlpExport: Exporters} = await import('./otlp-export.ts');
    const {settings, version, clock} = this.#options;
    return new Exporters({
      endpoint: settings.get('svc.serverMetrics.otlp.endpoint'),
      headers: headersIn(settings.get('svc.serverMetrics.otlp.headers')),
      server: {
        'service.name': 'svc',
        'service.version': version,
        'service.instance.id': settings.get('svc.server.name'),
      },
      startedAt: clock.now(),
    });
  }

  #warn(reason: string): void {
    const {clock, logger, settings} = this.#options;
    const now = clock.monotonic();
    if (now - this.#warnedAt < warningEveryMs) return;
    this.#warnedAt = now;
    const {host} = new URL(settings.get('svc.serverMetrics.otlp.endpoint'));
    logger.log('warn', 'telemetry.not-sent', {host, reason});
  }

  #id(bytes: number): string {
    const id = Buffer.alloc(bytes);
    this.#options.random.fill(id);
    return id.toString('hex');
  }

  #chance(): number {
    if (this.#rate === 0 || this.#rate === 1) return 0.5;
    const drawn = Buffer.alloc(4);
    this.#options.random.fill(drawn);
    return drawn.readUInt32LE() / 2 ** 32;
  }
}

/** The header `traceparent` (W3C Trace Context) of what is asked from a place in a trace. */
export function traceParentText({traceId, spanId, isSampled}: TracePlace): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Reads a header `traceparent`; undefined for what is none. */
export function traceParentOf(header: string | undefined): TracePlace | undefined {
  if (header === undefined) return undefined;
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header.trim());
  const [, traceId = '', spanId = '', flags = ''] = match ?? [];
  if (match === null || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return {traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1};
}

function samplingRate(settings: Settings): number {
  const text = settings.get('svc.serverMetrics.tracing.samplingRate').trim();
  const rate = Number(text);
  if (text !== '' && rate >= 0 && rate <= 1) return rate;
  const message = `svc.serverMetrics.tracing.samplingRate is '${text}': give 0.0 to 1.0`;
  throw new Refusal('start.refused', message);
}

function checkEndpoint(settings: Settings): void {
  const endpoint = settings.get('svc.serverMetrics.otlp.endpoint');
  if (/^https?:/i.test(endpoint) && URL.canParse(endpoint)) return;
  const message =
    'svc.serverMetrics.otlp.endpoint is no address: give http:// or https://, host and port of ' +
    'a collector that takes OTLP over HTTP';
  throw new Refusal('start.refused', message);
}

/** Written `name=value,name=value`. */
function headersIn(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').filter(pair => pair.includes('='));
  return Object.fromEntries(
    pairs.map(pair => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    }),
  );
}
