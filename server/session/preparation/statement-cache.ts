/**
 * Prepared statements by text, for one database in one generation of what they were made with.
 *
 * Least recently used goes first; bounded by count and by the text's length, so that a client
 * that never repeats itself costs a bounded amount. A new generation empties it: what was bound
 * against an old catalog may name things that are gone, and other statistics make other plans.
 */
export class StatementCache<T> {
  readonly #entriesMax: number;
  readonly #textLengthMax: number;
  readonly #entries = new Map<string, T>();
  #generation = -1;

  constructor(options: {readonly entriesMax: number; readonly textLengthMax: number}) {
    this.#entriesMax = options.entriesMax;
    this.#textLengthMax = options.textLengthMax;
  }

  /** The value for `text` under `generation`, made when it is not there and kept if it may be. */
  get(
    generation: number,
    text: string,
    prepare: () => T,
    keeps: (made: T) => boolean = () => true,
  ): T {
    if (generation !== this.#generation) {
      this.#entries.clear();
      this.#generation = generation;
    }
    const known = this.#entries.get(text);
    if (known !== undefined) {
      // Moving an entry costs more than finding it: only a full cache needs the order.
      if (this.#entries.size * 2 > this.#entriesMax) this.#touch(text, known);
      return known;
    }
    const made = prepare();
    if (text.length <= this.#textLengthMax && keeps(made)) this.#add(text, made);
    return made;
  }

  get size(): number {
    return this.#entries.size;
  }

  #touch(text: string, value: T): void {
    this.#entries.delete(text);
    this.#entries.set(text, value);
  }

  #add(text: string, value: T): void {
    this.#entries.set(text, value);
    if (this.#entries.size <= this.#entriesMax) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
