/**
 * The trace that whatever runs now belongs to: for lines of the log, and for what other members are
 * asked on its behalf.
 */

/** Ids as hexadecimal digits (W3C Trace Context). */
export interface TraceIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** A place in a trace, as it is told to whoever works on its behalf. */
export interface TracePlace extends TraceIds {
  /** Its span is told, and so are those below it. */
  readonly isSampled: boolean;
}

/** Follows asynchronous work, as an `AsyncLocalStorage` does. */
export interface TraceScope {
  /** Undefined outside of every trace. */
  getStore(): TracePlace | undefined;
  run<R>(place: TracePlace, work: () => R): R;
}
