/**
 * A query with everything looked up that holds for all buckets: postings, scorers, the terms that
 * patterns stand for.
 *
 * Prefixes, wildcards and ranges score their boost, whatever term a record has. A fuzzy word stands
 * for the `fuzzyTermsMax` nearest terms, scored as if all were as frequent as the most frequent of
 * them, each by its nearness: Lucene's rewriting of such queries.
 */
import type {Effort} from '../ranked/effort.ts';
import {FuzzyWord} from './fuzzy-word.ts';
import {noPostings, type PostingList} from './posting-list.ts';
import type {TermBound, TextQuery} from './query.ts';
import {phraseScorer, type Similarity, type TermScorer, termScorer} from './similarity.ts';
import {patternHead, wildcardTest} from './term-patterns.ts';
import type {TextSource} from './text-source.ts';

export type Resolved =
  | {readonly kind: 'nothing'}
  | {readonly kind: 'term'; readonly list: PostingList; readonly scorer: TermScorer}
  | {readonly kind: 'constant'; readonly lists: readonly PostingList[]; readonly boost: number}
  | {readonly kind: 'phrase'; readonly phrase: ResolvedPhrase}
  | {
      readonly kind: 'boolean';
      readonly must: readonly Resolved[];
      readonly should: readonly Resolved[];
      readonly mustNot: readonly Resolved[];
    };

export interface ResolvedPhrase {
  readonly field: number;
  readonly terms: readonly string[];
  readonly at: readonly number[];
  readonly slop: number;
  readonly lists: readonly PostingList[];
  readonly scorer: TermScorer;
}

export interface ResolveOptions {
  readonly source: TextSource;
  readonly similarity: Similarity;
  readonly effort: Effort;
  readonly fieldCount: number;
  /** Whether the index has positions: a phrase then asks for its order. */
  readonly positions: boolean;
}

const fuzzyTermsMax = 50;
/** Units of effort for a term that is tested. */
const testUnits = 4;

const nothing: Resolved = {kind: 'nothing'};

export function resolveQuery(query: TextQuery, options: ResolveOptions, boost = 1): Resolved {
  const own = boost * query.boost;
  switch (query.kind) {
    case 'term':
      return term(fieldOf(query), query.term, own, options);
    case 'phrase':
      return phrase(query, own, options);
    case 'prefix': {
      const {source} = options;
      return constant(fieldOf(query), source.terms(fieldOf(query), query.prefix), own, options);
    }
    case 'wildcard':
      return wildcard(query, own, options);
    case 'range':
      return range(query, own, options);
    case 'fuzzy':
      return fuzzy(query, own, options);
    case 'all': {
      const fields = Array.from({length: options.fieldCount}, (_field, at) => at);
      const lists = fields.map(field => options.source.postings(field, ''));
      return {kind: 'constant', lists, boost: own};
    }
    case 'boolean': {
      const of = (occurrence: string): readonly Resolved[] =>
        query.clauses
          .filter(clause => clause.occurrence === occurrence)
          .map(clause => resolveQuery(clause.query, options, own));
      return {kind: 'boolean', must: of('must'), should: of('should'), mustNot: of('must-not')};
    }
  }
}

/** The parser asks in each field by itself. */
function fieldOf({field}: {readonly field: number | undefined}): number {
  return field ?? 0;
}

function term(field: number, text: string, boost: number, options: ResolveOptions): Resolved {
  const list = options.source.postings(field, text);
  options.effort.spend(1);
  if (list.count === 0) return nothing;
  const statistics = options.source.statistics(field);
  return {
    kind: 'term',
    list,
    scorer: termScorer(options.similarity, statistics, list.count, boost),
  };
}

function phrase(
  query: TextQuery & {readonly kind: 'phrase'},
  boost: number,
  options: ResolveOptions,
): Resolved {
  const field = fieldOf(query);
  if (!options.positions) {
    const must = query.terms.map(text => term(field, text, boost, options));
    return {kind: 'boolean', must, should: [], mustNot: []};
  }
  const lists = query.terms.map(text => options.source.postings(field, text));
  if (lists.some(({count}) => count === 0)) return nothing;
  const counts = lists.map(({count}) => count);
  const statistics = options.source.statistics(field);
  const scorer = phraseScorer(options.similarity, statistics, counts, boost);
  return {kind: 'phrase', phrase: {...query, field, lists, scorer}};
}

function wildcard(
  query: TextQuery & {readonly kind: 'wildcard'},
  boost: number,
  options: ResolveOptions,
): Resolved {
  const field = fieldOf(query);
  const test = wildcardTest(query.pattern);
  const candidates = options.source.terms(field, patternHead(query.pattern));
  return constant(field, passing(candidates, test, options.effort), boost, options);
}

function range(
  query: TextQuery & {readonly kind: 'range'},
  boost: number,
  options: ResolveOptions,
): Resolved {
  const field = fieldOf(query);
  const {from, to} = query;
  const candidates = options.source.terms(field, '');
  const inside = passing(candidates, text => isInside(text, from, to), options.effort);
  return constant(field, inside, boost, options);
}

function isInside(text: string, from: TermBound | undefined, to: TermBound | undefined): boolean {
  const above = from === undefined ? 1 : compareCodePoints(text, from.term);
  const below = to === undefined ? -1 : compareCodePoints(text, to.term);
  return (
    (above > 0 || (above === 0 && from?.inclusive === true)) &&
    (below < 0 || (below === 0 && to?.inclusive === true))
  );
}

/** Orders texts as their UTF-8 bytes compare. */
function compareCodePoints(one: string, other: string): number {
  const [left, right] = [[...one], [...other]];
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at += 1) {
    const difference =
      ((left[at] as string).codePointAt(0) ?? 0) - ((right[at] as string).codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function* passing(
  candidates: Iterable<string>,
  test: (term: string) => boolean,
  effort: Effort,
): Iterable<string> {
  for (const candidate of candidates) {
    effort.spend(testUnits);
    if (test(candidate)) yield candidate;
  }
}

function constant(
  field: number,
  terms: Iterable<string>,
  boost: number,
  {source, effort}: ResolveOptions,
): Resolved {
  const lists: PostingList[] = [];
  for (const text of terms) {
    const list = source.postings(field, text);
    effort.spend(1 + list.count);
    if (list.count > 0) lists.push(list);
  }
  return lists.length === 0 ? nothing : {kind: 'constant', lists, boost};
}

interface NearTerm {
  readonly text: string;
  readonly list: PostingList;
  readonly nearness: number;
}

function fuzzy(
  query: TextQuery & {readonly kind: 'fuzzy'},
  boost: number,
  options: ResolveOptions,
): Resolved {
  const field = fieldOf(query);
  const nearest = nearestTerms(query, field, options);
  const count = nearest.reduce((most, {list}) => Math.max(most, list.count), 0);
  const statistics = options.source.statistics(field);
  const should = nearest.map(({list, nearness}): Resolved => {
    const scorer = termScorer(options.similarity, statistics, count, boost * nearness);
    return {kind: 'term', list, scorer};
  });
  return should.length === 0 ? nothing : {kind: 'boolean', must: [], should, mustNot: []};
}

function nearestTerms(
  {term: word, edits: editsMax}: TextQuery & {readonly kind: 'fuzzy'},
  field: number,
  {source, effort}: ResolveOptions,
): readonly NearTerm[] {
  const fuzzy = new FuzzyWord(word, editsMax);
  const length = [...word].length;
  const found: {text: string; nearness: number}[] = [];
  for (let from: string | undefined = ''; from !== undefined; from = fuzzy.next()) {
    effort.spend(testUnits);
    const text = source.termFrom(field, from);
    if (text === undefined) break;
    const edits = fuzzy.edits(text);
    if (edits === undefined) continue;
    const nearness = edits === 0 ? 1 : 1 - edits / Math.min([...text].length, length);
    found.push({text, nearness: Math.max(0, nearness)});
  }
  // Of terms that are as near the lesser ones: they come in order, and sorting keeps it.
  found.sort((one, other) => other.nearness - one.nearness);
  const terms: NearTerm[] = [];
  for (const {text, nearness} of found) {
    const list = source.postings(field, text);
    if (list === noPostings || list.count === 0) continue;
    terms.push({text, list, nearness});
    if (terms.length === fuzzyTermsMax) break;
  }
  return terms;
}
