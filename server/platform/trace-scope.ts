/** The trace that whatever runs now belongs to, for lines of the log. */

/** Ids as hexadecimal digits (W3C Trace Context). */
export interface TraceIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** Follows asynchronous work, as an `AsyncLocalStorage` does. */
export interface TraceScope {
  /** Undefined outside of every trace. */
  getStore(): TraceIds | undefined;
  run<R>(ids: TraceIds, work: () => R): R;
}
