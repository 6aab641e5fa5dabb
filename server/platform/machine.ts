/** What the process has of its machine, as values from outside. */
export interface Machine {
  readonly processors: number;
  /** Bytes of the heap in use, garbage that was not collected yet included. */
  readonly heapBytes: number;
  /** Bytes of heap at which the process would end. */
  readonly heapBytesMax: number;
  /** Whether the process has nearly all that its container may have: the kernel would end it. */
  readonly isNearLimit?: boolean;
  /** Memory that is read here and there has grown: the system may make that quick. */
  readonly askLargePages?: ((bytes: Uint8Array) => void) | undefined;
  /** Stops the thread for tens of milliseconds; does nothing when it did so a moment ago. */
  collectGarbage(): void;
}
