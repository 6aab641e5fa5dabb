/**
 * Detects a single closed-loop client: it sends its next commit only after the answer to the one
 * before, and no other client sends anything in between. For it an fsync on the network thread is
 * cheaper than a hand-off to the log thread, because nobody else waits meanwhile. With two clients
 * the hand-off wins: the network thread works for one while the disk works for the other.
 *
 * Example: requests of connections A A A ... A, each committing, count up to `commitsInRowMin`;
 * one request of B starts the count anew.
 */

/** Commits in a row before we believe it. */
const commitsInRowMin = 16;

export class SingleClientDetector {
  /** Who asked last. */
  #client: unknown;
  /** Whether it has asked since the commit before. */
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
    return this.#inRow > commitsInRowMin;
  }
}
