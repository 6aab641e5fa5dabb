/** What is told of a request that is traced. */

/** One request that was answered; times of the monotonic clock, in milliseconds. */
export interface RequestSpan {
  readonly method: string;
  /** The path of the route, with names in braces. */
  readonly path: string;
  readonly status: number;
  readonly database: string;
  readonly begunAt: number;
  readonly endedAt: number;
}

/** Who the client says it belongs to (W3C Trace Context). */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** A span with its place in a trace: ids as hexadecimal digits, milliseconds since 1970. */
export interface TracedRequest extends RequestSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parent: TraceParent | undefined;
  readonly begunAtMs: number;
  readonly endedAtMs: number;
}
