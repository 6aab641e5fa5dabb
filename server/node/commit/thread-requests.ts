/** What the network thread has asked another one and was not answered yet. */
export class ThreadRequests {
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #next = 1;

  /** How many wait. */
  get count(): number {
    return this.#waiting.size;
  }

  open<Result>(): {readonly id: number; readonly answer: Promise<Result>} {
    const id = this.#next++;
    const {promise, resolve} = Promise.withResolvers<Result>();
    this.#waiting.set(id, result => resolve(result as Result));
    return {id, answer: promise};
  }

  answer(id: number, result?: unknown): void {
    this.#waiting.get(id)?.(result);
    this.#waiting.delete(id);
  }

  /** The thread is gone: all are answered with undefined. */
  abandon(): void {
    for (const resolve of this.#waiting.values()) resolve(undefined);
    this.#waiting.clear();
  }
}
