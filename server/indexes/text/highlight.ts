/**
 * Marks the words of a text that a query looks for.
 *
 * A word is marked where a clause that must or may hold names it: as a term, by a prefix, a
 * pattern, a range or its nearness. The words of a phrase are marked wherever they stand. What a
 * query rules out is not marked.
 */
import {compareText} from '#server/base/utf8.ts';
import type {Analyzer} from './analyzer.ts';
import type {TermBound, TextQuery} from './query.ts';
import {editsTest, wildcardTest} from './term-patterns.ts';

export type TermTest = (term: string) => boolean;

/** Whether a term of the field is looked for. */
export function lookedForTest(query: TextQuery, field: number): TermTest {
  const terms = new Set<string>();
  const tests: TermTest[] = [];
  const visit = (part: TextQuery): void => {
    if (part.kind === 'boolean') {
      for (const clause of part.clauses) {
        if (clause.occurrence !== 'must-not') visit(clause.query);
      }
      return;
    }
    if (part.kind === 'all' || (part.field ?? 0) !== field) return;
    if (part.kind === 'term') terms.add(part.term);
    else if (part.kind === 'phrase') for (const term of part.terms) terms.add(term);
    else tests.push(testOf(part));
  };
  visit(query);
  return term => terms.has(term) || tests.some(test => test(term));
}

function testOf(
  part: TextQuery & {readonly kind: 'prefix' | 'wildcard' | 'fuzzy' | 'range'},
): TermTest {
  switch (part.kind) {
    case 'prefix':
      return term => term.startsWith(part.prefix);
    case 'wildcard':
      return wildcardTest(part.pattern);
    case 'fuzzy': {
      const edits = editsTest(part.term, part.edits);
      return term => edits(term) !== undefined;
    }
    case 'range':
      return term => isBeyond(term, part.from, 1) && isBeyond(term, part.to, -1);
  }
}

function isBeyond(term: string, bound: TermBound | undefined, side: 1 | -1): boolean {
  if (bound === undefined) return true;
  const order = compareText(term, bound.term) * side;
  return order > 0 || (order === 0 && bound.inclusive);
}

/** Where the words that pass the test stand, ascending: start and end in UTF-16 units. */
export function markedPlaces(
  text: string,
  analyzer: Analyzer,
  test: TermTest,
): readonly (readonly [start: number, end: number])[] {
  const places: [number, number][] = [];
  analyzer.analyze(text, (term, _position, start, end) => {
    if (test(term)) places.push([start, end]);
  });
  return places;
}

export interface MarkOptions {
  readonly before: string;
  readonly after: string;
  /** UTF-16 units of the text that are shown, about; undefined: all. */
  readonly length: number | undefined;
}

const cut = '...';

/**
 * The text with its places marked; shortened, the part that has most of them (the first such), cut
 * between words, with `...` where text is left out.
 */
export function markedText(
  text: string,
  places: readonly (readonly [start: number, end: number])[],
  {before, after, length}: MarkOptions,
): string {
  const [from, to] =
    length === undefined || text.length <= length ? [0, text.length] : part(text, places, length);
  let marked = from > 0 ? cut : '';
  let at = from;
  for (const [start, end] of places) {
    if (start < from || end > to) continue;
    marked += text.slice(at, start) + before + text.slice(start, end) + after;
    at = end;
  }
  return marked + text.slice(at, to) + (to < text.length ? cut : '');
}

/** The stretch of about `length` units with most of the places, a little room on both sides. */
function part(
  text: string,
  places: readonly (readonly [start: number, end: number])[],
  length: number,
): readonly [from: number, to: number] {
  let best = {count: 0, first: 0, end: 0};
  let last = 0;
  for (const [first, [start]] of places.entries()) {
    while ((places[last + 1]?.[1] ?? Number.POSITIVE_INFINITY) - start <= length) last += 1;
    last = Math.max(last, first);
    const count = last - first + 1;
    if (count > best.count) best = {count, first: start, end: places[last]?.[1] ?? start};
  }
  const room = Math.max(0, length - (best.end - best.first)) >> 1;
  const begin = Math.max(0, Math.min(best.first - room, text.length - length));
  const from = Math.min(wordStart(text, begin), best.first);
  const to = Math.max(best.end, Math.min(text.length, from + length));
  return [from, wordEnd(text, to, best.end)];
}

const space = /\s/u;

/** The place behind the next space, unless a word begins here. */
function wordStart(text: string, at: number): number {
  if (at === 0 || space.test(text.charAt(at - 1))) return at;
  for (let next = at; next < text.length && next < at + 40; next += 1) {
    if (space.test(text.charAt(next))) return next + 1;
  }
  return isInsidePair(text, at) ? at + 1 : at;
}

/** The end before the last space, but not before `least`. */
function wordEnd(text: string, at: number, least: number): number {
  if (at >= text.length) return text.length;
  for (let end = at; end >= least && end > at - 40; end -= 1) {
    if (space.test(text.charAt(end))) return end;
  }
  return isInsidePair(text, at) ? at - 1 : at;
}

function isInsidePair(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
