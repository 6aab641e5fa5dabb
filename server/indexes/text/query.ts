/**
 * A full-text query, as the parser makes it and the search carries it out.
 *
 * Words are analyzed already; `field` is a field's number, or undefined for every field of the
 * index. Boosts multiply downwards.
 */

export type Occurrence = 'must' | 'should' | 'must-not';

export interface Clause {
  readonly occurrence: Occurrence;
  readonly query: TextQuery;
}

export type TextQuery =
  /** `text` is a term of the index. */
  | {readonly kind: 'term'; readonly field: Field; readonly term: string; readonly boost: number}
  /**
   * All terms in one record; under `positions` in this order, at most `slop` moves apart. `at`:
   * the position of each.
   */
  | {
      readonly kind: 'phrase';
      readonly field: Field;
      readonly terms: readonly string[];
      readonly at: readonly number[];
      readonly slop: number;
      readonly boost: number;
    }
  /** Terms that begin so; each record that has one scores the boost. */
  | {
      readonly kind: 'prefix';
      readonly field: Field;
      readonly prefix: string;
      readonly boost: number;
    }
  /** `*` is any text, `?` any one character, a backslash takes the next as it is. */
  | {
      readonly kind: 'wildcard';
      readonly field: Field;
      readonly pattern: string;
      readonly boost: number;
    }
  /** Terms at most so many edits away; neighbouring letters that changed places are one edit. */
  | {
      readonly kind: 'fuzzy';
      readonly field: Field;
      readonly term: string;
      readonly edits: 0 | 1 | 2;
      readonly boost: number;
    }
  /** Terms between two, in the order of their UTF-8 bytes; undefined: no bound. */
  | {
      readonly kind: 'range';
      readonly field: Field;
      readonly from: TermBound | undefined;
      readonly to: TermBound | undefined;
      readonly boost: number;
    }
  /** Every record that the index knows. */
  | {readonly kind: 'all'; readonly boost: number}
  | {readonly kind: 'boolean'; readonly clauses: readonly Clause[]; readonly boost: number};

type Field = number | undefined;

export interface TermBound {
  readonly term: string;
  readonly inclusive: boolean;
}
