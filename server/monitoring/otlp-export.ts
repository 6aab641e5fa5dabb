/** Figures and spans in the shape of OpenTelemetry, sent by its exporters; see telemetry.ts. */
import {SpanKind, SpanStatusCode, TraceFlags} from '@opentelemetry/api';
import {OTLPMetricExporter} from '@opentelemetry/exporter-metrics-otlp-http';
import {OTLPTraceExporter} from '@opentelemetry/exporter-trace-otlp-http';
import {type Resource, resourceFromAttributes} from '@opentelemetry/resources';
import type {Figures} from './figures.ts';
import {metricData, timeOf} from './metric-data.ts';
import type {TracedRequest} from './request-span.ts';

type Span = Parameters<OTLPTraceExporter['export']>[0][number];

export interface OtlpExportOptions {
  /** Where the collector listens; the paths of its signals are put behind it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What the collector is told of this server. */
  readonly server: Readonly<Record<string, string>>;
  /** The moment since which counters count, in milliseconds since 1970. */
  readonly startedAt: number;
}

const scope = {name: 'svc'};
const timeoutMillis = 5_000;
const firstServerError = 500;

export class OtlpExport {
  readonly #resource: Resource;
  readonly #startedAt: number;
  readonly #metrics: OTLPMetricExporter;
  readonly #traces: OTLPTraceExporter;

  constructor({endpoint, headers, server, startedAt}: OtlpExportOptions) {
    const base = endpoint.replace(/\/+$/, '');
    const common = {headers: {...headers}, timeoutMillis};
    this.#resource = resourceFromAttributes({...server});
    this.#startedAt = startedAt;
    this.#metrics = new OTLPMetricExporter({...common, url: `${base}/v1/metrics`});
    this.#traces = new OTLPTraceExporter({...common, url: `${base}/v1/traces`});
  }

  /** Rejects when the collector does not take them. `now`: milliseconds since 1970. */
  metrics(figures: Figures, now: number): Promise<void> {
    const metrics = metricData(figures, {startedAt: this.#startedAt, now});
    const all = {resource: this.#resource, scopeMetrics: [{scope, metrics}]};
    return sent(done => this.#metrics.export(all, done));
  }

  /** Rejects when the collector does not take them. */
  spans(requests: readonly TracedRequest[]): Promise<void> {
    const spans = requests.map(request => spanOf(request, this.#resource));
    return sent(done => this.#traces.export(spans, done));
  }

  async close(): Promise<void> {
    await Promise.all([this.#metrics.shutdown(), this.#traces.shutdown()]);
  }
}

function sent(
  send: (done: (result: {readonly code: number; readonly error?: Error}) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    send(({code, error}) => {
      if (code === 0) resolve();
      else reject(error ?? new Error('the collector refused it'));
    });
  });
}

function spanOf(request: TracedRequest, resource: Resource): Span {
  const {method, path, status, database, traceId, spanId, parent} = request;
  const {begunAtMs, endedAtMs} = request;
  const context = {traceId, spanId, traceFlags: TraceFlags.SAMPLED};
  return {
    name: `${method} ${path}`,
    kind: SpanKind.SERVER,
    spanContext: () => context,
    ...(parent && {parentSpanContext: {...context, spanId: parent.spanId, isRemote: true}}),
    startTime: timeOf(begunAtMs),
    endTime: timeOf(endedAtMs),
    duration: timeOf(endedAtMs - begunAtMs),
    status: {code: status >= firstServerError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET},
    attributes: {
      'http.request.method': method,
      'http.route': path,
      'http.response.status_code': status,
      'db.system.name': 'svc',
      ...(database !== '' && {'db.namespace': database}),
    },
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}
