/**
 * Whether one client commits while nobody else is there: each of its commits comes behind the
 * answer to the one before, and between two of them nobody else asks for anything. Then whoever
 * writes an entry keeps nobody waiting. With a second client one is worked for here while the disk
 * works for the other, which is more than either saves alone.
 */

/** So many in a row tell. */
const loneMin = 16;

export class SingleClientDetector {
  /** Who asked last. */
  #client: unknown;
  /** Since the commit before. */
  #hasAsked = false;
  #inRow = 0;

  /** A request begins; `client`: the same for all of one connection, undefined for no client. */
  onRequest(client: unknown): void {
    if (client !== this.#client) this.#inRow = 0;
    this.#client = client;
    this.#hasAsked = client !== undefined;
  }

  /** An entry comes; `isIdle`: nothing is under way. Answers whether its client is alone. */
  onCommit(isIdle: boolean): boolean {
    this.#inRow = isIdle && this.#hasAsked ? this.#inRow + 1 : 0;
    this.#hasAsked = false;
    return this.#inRow > loneMin;
  }
}
