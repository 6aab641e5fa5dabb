/**
 * What a statement reads from outside of the database, while it runs.
 *
 * Operators run without waiting, and an address of the web is answered only in time: what is not
 * there yet is said by `SourceNeeded`, which is no refusal. Whoever runs the statement takes back
 * what it wrote, fetches the address and runs it again.
 */
export interface Sources {
  /**
   * The bytes of a file or an address, in portions that may be overwritten by the next.
   *
   * @throws {Refusal} `source.refused`, `source.unreadable`.
   * @throws {SourceNeeded} When the address is to be fetched first.
   */
  open(source: string): Iterable<Uint8Array>;
}

export class SourceNeeded extends Error {
  readonly address: string;

  constructor(address: string) {
    super(`${address} is to be fetched first`);
    this.address = address;
  }
}
