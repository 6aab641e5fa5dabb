/** What is told of a request that is traced. */
import type {TraceIds, TracePlace} from '#server/platform/trace-scope.ts';

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

/** Where a request that is under way stands in a trace. */
export interface RequestTrace extends TracePlace {
  /** Who the client says it belongs to. */
  readonly parent: TracePlace | undefined;
}

/** Gives requests their places in traces, and takes their spans. */
export interface Traces {
  /** Does the work of a request; whatever it logs carries the ids of its trace. */
  within<R>(parent: TracePlace | undefined, work: (trace: RequestTrace) => R): R;
  /** Takes a request that was answered. */
  add(request: RequestSpan, trace: RequestTrace): void;
}

/** A span with its place in a trace; milliseconds since 1970. */
export interface TracedRequest extends RequestSpan, TraceIds {
  readonly parent: TracePlace | undefined;
  readonly begunAtMs: number;
  readonly endedAtMs: number;
}
