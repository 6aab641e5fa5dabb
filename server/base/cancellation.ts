/** Told from outside that nobody wants the rest of some work; `AbortSignal` is one. */
export interface Cancellation {
  readonly aborted: boolean;
}

/** Told to stop when one of the two is. */
export function eitherOf(left: Cancellation, right: Cancellation): Cancellation {
  return {
    get aborted() {
      return left.aborted || right.aborted;
    },
  };
}
