/**
 * Turns: whoever asks for a key waits until all who asked for it before have ended.
 *
 * Several keys are asked for at once, so that nobody waits for somebody who came later, and there
 * is no circle. Cost: an entry for each key that somebody holds or waits for.
 */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` when it has all of the keys, and lets go of them when it has ended. */
  async with<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const wanted = [...new Set(keys)];
    const before = wanted.flatMap(key => this.#last.get(key) ?? []);
    const {promise: ended, resolve: end} = Promise.withResolvers<void>();
    for (const key of wanted) this.#last.set(key, ended);
    try {
      await Promise.all(before);
      return await work();
    } finally {
      end();
      for (const key of wanted) if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }
}
