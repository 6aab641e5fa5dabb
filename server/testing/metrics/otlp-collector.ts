/** A collector of metrics and spans: a small HTTP server that reads OTLP as JSON. */
import {once} from 'node:events';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';

interface Attribute {
  readonly key: string;
  readonly value: {readonly stringValue?: string; readonly intValue?: number};
}

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  /** The name of the server that has told it. */
  readonly server: string | undefined;
}

interface CollectedMetric {
  readonly name: string;
  readonly sum?: {
    readonly isMonotonic: boolean;
    readonly dataPoints: readonly {asDouble: number}[];
  };
  readonly histogram?: {readonly dataPoints: readonly {count: number}[]};
}

interface TracesBody {
  readonly resourceSpans: readonly {
    readonly resource: {readonly attributes: readonly Attribute[]};
    readonly scopeSpans: readonly {readonly spans: readonly Omit<CollectedSpan, 'server'>[]}[];
  }[];
}

interface MetricsBody {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly {readonly metrics: readonly CollectedMetric[]}[];
  }[];
}

export class OtlpCollector {
  readonly spans: CollectedSpan[] = [];
  /** The last of each name. */
  readonly metrics = new Map<string, CollectedMetric>();
  readonly bodies: string[] = [];
  /** What came in the header `X-Token`. */
  readonly tokens = new Set<string | undefined>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.tokens.add(request.headers['x-token'] as string | undefined);
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => void pieces.push(piece));
      request.on('end', () => {
        this.#take(request.url ?? '', Buffer.concat(pieces).toString());
        response.writeHead(200, {'Content-Type': 'application/json'}).end('{}');
      });
    });
  }

  static async open(): Promise<OtlpCollector> {
    const collector = new OtlpCollector();
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  /** The value of `svc.serverMetrics.otlp.endpoint`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  named(name: string): readonly CollectedSpan[] {
    return this.spans.filter(span => span.name === name);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take(path: string, body: string): void {
    this.bodies.push(body);
    if (path === '/v1/traces') {
      for (const {resource, scopeSpans} of (JSON.parse(body) as TracesBody).resourceSpans) {
        const server = attribute(resource.attributes, 'service.instance.id');
        for (const scope of scopeSpans) {
          this.spans.push(...scope.spans.map(span => ({...span, server: server?.toString()})));
        }
      }
      return;
    }
    for (const {scopeMetrics} of (JSON.parse(body) as MetricsBody).resourceMetrics) {
      for (const scope of scopeMetrics) {
        for (const metric of scope.metrics) this.metrics.set(metric.name, metric);
      }
    }
  }
}

/** What is said of a span by a name. */
export function attribute(
  attributes: readonly Attribute[],
  name: string,
): string | number | undefined {
  const value = attributes.find(({key}) => key === name)?.value;
  return value?.stringValue ?? value?.intValue;
}
