/**
 * Walks over the records of one bucket that match a part of a query, in order of positions, with
 * the score of each.
 *
 * Invariant: `position` only grows; after `advance(target)` it is the first match at or behind
 * `target`, or `noPosition`. `score()` may be asked of the current match, more than once.
 */
import {indexAtOrBehind} from '../ranked/scored-run.ts';
import type {PostingRun} from './posting-list.ts';
import type {TermScorer} from './similarity.ts';

/** A position greater than every real one. */
export const noPosition = 0xffff_ffff;

export abstract class Matcher {
  position = -1;
  /** An upper bound of the number of matches. */
  abstract readonly cost: number;
  abstract advance(target: number): number;
  abstract score(): number;
}

export class NothingMatcher extends Matcher {
  override position = noPosition;
  readonly cost = 0;
  advance(): number {
    return noPosition;
  }
  score(): number {
    return 0;
  }
}

export class TermMatcher extends Matcher {
  readonly cost: number;
  readonly #run: PostingRun;
  readonly #scorer: TermScorer;
  #at = 0;

  constructor(run: PostingRun, scorer: TermScorer) {
    super();
    this.#run = run;
    this.#scorer = scorer;
    this.cost = run.positions.length;
  }

  advance(target: number): number {
    const {positions} = this.#run;
    this.#at = indexAtOrBehind(positions, this.#at, target);
    this.position = positions[this.#at] ?? noPosition;
    return this.position;
  }

  score(): number {
    const {frequencies, norms} = this.#run;
    return this.#scorer.score(frequencies[this.#at] as number, norms[this.#at] as number);
  }

  get norm(): number {
    return this.#run.norms[this.#at] as number;
  }
}

/** Records of any of several lists, all with one score. */
export class ConstantMatcher extends Matcher {
  readonly cost: number;
  readonly #positions: Uint32Array;
  readonly #boost: number;
  #at = 0;

  /** @param positions - Ascending, each once. */
  constructor(positions: Uint32Array, boost: number) {
    super();
    this.#positions = positions;
    this.#boost = boost;
    this.cost = positions.length;
  }

  advance(target: number): number {
    this.#at = indexAtOrBehind(this.#positions, this.#at, target);
    this.position = this.#positions[this.#at] ?? noPosition;
    return this.position;
  }

  score(): number {
    return this.#boost;
  }
}

/** All of `required`; of `optional` and of nothing in `excluded` what is there. */
export class AllMatcher extends Matcher {
  readonly cost: number;
  readonly #required: readonly Matcher[];
  readonly #optional: readonly Matcher[];
  readonly #excluded: readonly Matcher[];

  /** @param required - Not empty. */
  constructor(
    required: readonly Matcher[],
    optional: readonly Matcher[],
    excluded: readonly Matcher[],
  ) {
    super();
    this.#required = required.toSorted((one, other) => one.cost - other.cost);
    this.#optional = optional;
    this.#excluded = excluded;
    this.cost = this.#required[0]?.cost ?? 0;
  }

  advance(target: number): number {
    let wanted = target;
    while (wanted < noPosition) {
      const met = this.#meeting(wanted);
      if (met === noPosition || !isMet(this.#excluded, met)) return (this.position = met);
      wanted = met + 1;
    }
    return (this.position = noPosition);
  }

  #meeting(target: number): number {
    let wanted = target;
    for (;;) {
      let furthest = wanted;
      for (const matcher of this.#required) {
        const {position} = matcher;
        furthest = position >= furthest ? position : matcher.advance(furthest);
        if (furthest > wanted) break;
      }
      if (furthest === wanted) return wanted;
      if (furthest === noPosition) return noPosition;
      wanted = furthest;
    }
  }

  score(): number {
    let sum = 0;
    for (const matcher of this.#required) sum += matcher.score();
    return sum + sumOfMet(this.#optional, this.position);
  }
}

/** Any of `matchers`, and nothing of `excluded`. */
export class AnyMatcher extends Matcher {
  readonly cost: number;
  readonly #matchers: readonly Matcher[];
  readonly #excluded: readonly Matcher[];

  constructor(matchers: readonly Matcher[], excluded: readonly Matcher[]) {
    super();
    this.#matchers = matchers;
    this.#excluded = excluded;
    this.cost = matchers.reduce((sum, {cost}) => sum + cost, 0);
  }

  advance(target: number): number {
    let wanted = target;
    while (wanted < noPosition) {
      let least = noPosition;
      for (const matcher of this.#matchers) {
        const {position} = matcher;
        least = Math.min(least, position >= wanted ? position : matcher.advance(wanted));
      }
      if (least === noPosition || !isMet(this.#excluded, least)) return (this.position = least);
      wanted = least + 1;
    }
    return (this.position = noPosition);
  }

  score(): number {
    return sumOfMet(this.#matchers, this.position);
  }
}

/** Passes the records of `input` that satisfy the test, which also computes their scores. */
export class TestedMatcher extends Matcher {
  readonly cost: number;
  readonly #input: Matcher;
  readonly #test: (position: number) => number | undefined;
  #score = 0;

  constructor(input: Matcher, test: (position: number) => number | undefined) {
    super();
    this.#input = input;
    this.#test = test;
    this.cost = input.cost;
  }

  advance(target: number): number {
    let met = this.#input.advance(target);
    while (met < noPosition) {
      const score = this.#test(met);
      if (score !== undefined) {
        this.#score = score;
        break;
      }
      met = this.#input.advance(met + 1);
    }
    return (this.position = met);
  }

  score(): number {
    return this.#score;
  }
}

function isMet(matchers: readonly Matcher[], position: number): boolean {
  for (const matcher of matchers) {
    if (matcher.position < position) matcher.advance(position);
    if (matcher.position === position) return true;
  }
  return false;
}

function sumOfMet(matchers: readonly Matcher[], position: number): number {
  let sum = 0;
  for (const matcher of matchers) {
    if (matcher.position < position) matcher.advance(position);
    if (matcher.position === position) sum += matcher.score();
  }
  return sum;
}
