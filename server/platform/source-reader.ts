/**
 * Reading what statements load from outside: files of this machine, addresses of the web.
 *
 * Whoever calls decides whether a person may; the reader keeps the bounds that it is given. A file
 * is read as it is asked for, an address as a whole.
 */
export interface SourceReader {
  /**
   * A file's bytes in portions.
   *
   * @param root - The file must lie below it, links followed; undefined: anywhere.
   * @throws {Refusal} `source.refused` outside of the root, `source.unreadable` when there is none.
   */
  file(path: string, root: string | undefined): Iterable<Uint8Array>;
  /**
   * What an address of http or https answers.
   *
   * @throws {Refusal} `source.refused` when it leads, itself or by a redirect, to a blocked range;
   *   `source.unreadable` when it answers none, too much, or not in time.
   */
  fetch(address: URL, bounds: FetchBounds): Promise<Uint8Array>;
}

export interface FetchBounds {
  /** Ranges of IP addresses that are not asked, as `10.0.0.0/8`. */
  readonly blocked: readonly string[];
  readonly bytesMax: number;
  readonly timeoutMs: number;
}
