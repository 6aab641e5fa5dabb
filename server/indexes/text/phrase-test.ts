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

  #sloppy(places: readonly (readonly number[])[]): number {
    const {terms, at, slop} = this.#phrase;
    const walk = new SloppyWalk(terms, at, places);
    let frequency = 0;
    for (let moves = walk.next(); moves !== undefined; moves = walk.next()) {
      if (moves <= slop) frequency += 1 / (1 + moves);
    }
    return frequency;
  }
}

/**
 * Goes through the places where all terms stand near each other, the one furthest back moving on.
 *
 * A term that the phrase has twice takes two places of the text, never one twice. The steps are
 * those of Lucene's SloppyPhraseMatcher, since its count of places follows from them.
 */
class SloppyWalk {
  readonly #at: readonly number[];
  readonly #places: readonly (readonly number[])[];
  readonly #cursors: number[];
  /** The terms of the phrase that are the same as each term, in the phrase's order. */
  readonly #twins: readonly (readonly number[])[];
  #end = Number.NEGATIVE_INFINITY;
  #isOver = false;

  constructor(
    terms: readonly string[],
    at: readonly number[],
    places: readonly (readonly number[])[],
  ) {
    this.#at = at;
    this.#places = places;
    this.#twins = terms.map(term => [...terms.keys()].filter(other => terms[other] === term));
    // The second of two equal terms begins at the second place, and so on.
    this.#cursors = terms.map((_term, one) => (this.#twins[one] ?? []).indexOf(one));
    for (const one of terms.keys()) {
      if (this.#place(one) === undefined) this.#isOver = true;
      else this.#end = Math.max(this.#end, this.#shifted(one));
    }
  }

  /** Moves between the terms at the next place; undefined: there is none any more. */
  next(): number | undefined {
    if (this.#isOver) return undefined;
    const last = this.#furthestBack(undefined);
    const bound = this.#shifted(this.#furthestBack(last));
    let moves = this.#end - this.#shifted(last);
    while (this.#advance(last) && this.#part(last)) {
      if (this.#shifted(last) > bound) return moves;
      moves = Math.min(moves, this.#end - this.#shifted(last));
    }
    this.#isOver = true;
    return moves;
  }

  #place(term: number): number | undefined {
    return this.#places[term]?.[this.#cursors[term] as number];
  }

  /** The place less the term's place in the phrase: equal for all where the phrase stands. */
  #shifted(term: number): number {
    return (this.#place(term) ?? Number.POSITIVE_INFINITY) - (this.#at[term] ?? 0);
  }

  #furthestBack(but: number | undefined): number {
    let found: number | undefined;
    for (const term of this.#cursors.keys()) {
      if (term === but) continue;
      if (found === undefined || this.#isBefore(term, found)) found = term;
    }
    return found ?? 0;
  }

  #isBefore(one: number, other: number): boolean {
    const difference = this.#shifted(one) - this.#shifted(other);
    return difference < 0 || (difference === 0 && one < other);
  }

  /** False: the term has no more places. */
  #advance(term: number): boolean {
    this.#cursors[term] = (this.#cursors[term] as number) + 1;
    if (this.#place(term) === undefined) return false;
    this.#end = Math.max(this.#end, this.#shifted(term));
    return true;
  }

  /** Moves equal terms apart that stand at one place; false: one has no more places. */
  #part(moved: number): boolean {
    let term = moved;
    for (;;) {
      const twin = this.#twins[term]?.find(
        other => other !== term && this.#place(other) === this.#place(term),
      );
      if (twin === undefined) return true;
      term = this.#isBefore(term, twin) ? term : twin;
      if (!this.#advance(term)) return false;
    }
  }
}
