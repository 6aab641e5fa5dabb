/**
 * How often a phrase stands in a record, from the positions of its terms there.
 *
 * Without slop: the number of places where every term stands at its distance from the first. With
 * slop: each place where the terms stand within so many moves of that counts 1 / (1 + moves), as
 * Lucene's sloppy phrases count; the place of the first term is taken once, with its best others.
 */

export interface PhraseRequest {
  readonly terms: readonly string[];
  /** The position of each term in the phrase. */
  readonly at: readonly number[];
  readonly slop: number;
}

export class PhraseTest {
  readonly #phrase: PhraseRequest;

  constructor(phrase: PhraseRequest) {
    this.#phrase = phrase;
  }

  /** @param places - Of each term its positions, ascending. */
  frequency(places: readonly (readonly number[])[]): number {
    return this.#phrase.slop === 0 ? this.#exact(places) : this.#sloppy(places);
  }

  #exact(places: readonly (readonly number[])[]): number {
    const {at} = this.#phrase;
    const start = at[0] ?? 0;
    const sets = places.slice(1).map(place => new Set(place));
    let count = 0;
    for (const position of places[0] ?? []) {
      const isThere = sets.every((set, other) =>
        set.has(position + ((at[other + 1] ?? 0) - start)),
      );
      if (isThere) count += 1;
    }
    return count;
  }

  /**
   * Moves the term that stands furthest back, relative to its place in the phrase, until none is
   * left; each narrowest window of a start counts.
   */
  #sloppy(places: readonly (readonly number[])[]): number {
    const {at, slop} = this.#phrase;
    const cursors = places.map(() => 0);
    const shifted = (term: number): number =>
      ((places[term] as readonly number[])[cursors[term] as number] ?? Number.POSITIVE_INFINITY) -
      (at[term] ?? 0);
    let frequency = 0;
    if (places.some(place => place.length === 0)) return 0;
    let furthest = Math.max(...places.map((_place, term) => shifted(term)));
    let pending: number | undefined;
    for (;;) {
      let last = 0;
      for (let term = 1; term < places.length; term += 1) {
        if (shifted(term) < shifted(last)) last = term;
      }
      const width = furthest - shifted(last);
      pending = pending === undefined ? width : Math.min(pending, width);
      cursors[last] = (cursors[last] as number) + 1;
      const moved = shifted(last);
      if (moved === Number.POSITIVE_INFINITY) break;
      if (moved > furthest) {
        if (pending <= slop) frequency += 1 / (1 + pending);
        pending = undefined;
        furthest = moved;
      }
    }
    if (pending !== undefined && pending <= slop) frequency += 1 / (1 + pending);
    return frequency;
  }
}
