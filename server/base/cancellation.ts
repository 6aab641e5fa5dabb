/** Told from outside that nobody wants the rest of some work; `AbortSignal` is one. */
export interface Cancellation {
  readonly aborted: boolean;
}
