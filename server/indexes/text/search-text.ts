/**
 * Carries out a full-text query: the best `k` records of the given buckets, or all of them.
 *
 * Bucket by bucket, since a list has a run a bucket. Where only words are looked for, of which any
 * will do, their scores are summed in windows and what cannot win is left out (windowed-sum.ts);
 * any other query walks over its matches (matcher.ts). Both give the same answer. Why it is built
 * so: docs/design/0037-search-indexes.md.
 */
import {BestRecords, type ScoredRid} from '../ranked/best-records.ts';
import type {Effort} from '../ranked/effort.ts';
import {sumWindows} from '../ranked/windowed-sum.ts';
import {
  AllMatcher,
  AnyMatcher,
  ConstantMatcher,
  type Matcher,
  noPosition,
  NothingMatcher,
  TermMatcher,
  TestedMatcher,
} from './matcher.ts';
import {PhraseTest} from './phrase-test.ts';
import type {PostingList} from './posting-list.ts';
import type {Resolved, ResolvedPhrase} from './resolved-query.ts';
import {TextRun} from './text-run.ts';
import type {TextSource} from './text-source.ts';

export interface TextSearch {
  readonly query: Resolved;
  readonly source: TextSource;
  /** Infinity: all matches. */
  readonly k: number;
  readonly effort: Effort;
  readonly accept?: ((bucket: number, position: number) => boolean) | undefined;
}

const windowRows = 16_384;

/** Best first; of equal scores the lesser record id. */
export function searchText(search: TextSearch): readonly ScoredRid[] {
  const best = new BestRecords(search.k);
  if (search.k < 1) return [];
  const words = lookedForWords(search.query);
  for (const bucket of bucketsOf(search.query)) {
    if (words === undefined || search.k === Number.POSITIVE_INFINITY) walk(search, bucket, best);
    else sum(search, words, bucket, best);
  }
  return best.sorted();
}

/** Where its records lie, ascending: also in buckets that are not their types' own. */
function bucketsOf(query: Resolved): readonly number[] {
  const buckets = new Set<number>();
  const visit = (part: Resolved): void => {
    for (const list of listsOf(part)) for (const {bucket} of list.runs) buckets.add(bucket);
    if (part.kind !== 'boolean') return;
    for (const inner of [...part.must, ...part.should]) visit(inner);
  };
  visit(query);
  return [...buckets].sort((one, other) => one - other);
}

function listsOf(part: Resolved): readonly PostingList[] {
  if (part.kind === 'term') return [part.list];
  if (part.kind === 'constant') return part.lists;
  return part.kind === 'phrase' ? part.phrase.lists : [];
}

type Word = Resolved & {readonly kind: 'term'};

/** The words, where a query is nothing else than any of them. */
function lookedForWords(query: Resolved): readonly Word[] | undefined {
  if (query.kind === 'term') return [query];
  if (query.kind === 'nothing') return [];
  if (query.kind !== 'boolean' || query.must.length > 0 || query.mustNot.length > 0) {
    return undefined;
  }
  const words: Word[] = [];
  for (const part of query.should) {
    const inner = lookedForWords(part);
    if (inner === undefined) return undefined;
    words.push(...inner);
  }
  return words;
}

function sum(
  {effort, accept}: TextSearch,
  words: readonly Word[],
  bucket: number,
  best: BestRecords,
): void {
  const runs: TextRun[] = [];
  for (const {list, scorer} of words) {
    const run = list.runOf(bucket);
    if (run !== undefined) runs.push(new TextRun(run, scorer));
  }
  const accepted = accept && ((position: number) => accept(bucket, position));
  sumWindows({bucket, runs, best, effort, windowRows, accept: accepted});
}

function walk(search: TextSearch, bucket: number, best: BestRecords): void {
  const {effort, accept} = search;
  const matcher = matcherOf(search.query, search, bucket);
  for (let at = matcher.advance(0); at < noPosition; at = matcher.advance(at + 1)) {
    effort.spend(1);
    const score = Math.fround(matcher.score());
    if (!best.takes(score, bucket, at)) continue;
    if (accept?.(bucket, at) === false) continue;
    best.offer(score, bucket, at);
    // All score the same, and lesser ids came first.
    if (search.query.kind === 'constant' && best.isFull) return;
  }
}

function matcherOf(query: Resolved, search: TextSearch, bucket: number): Matcher {
  const inner = (part: Resolved): Matcher => matcherOf(part, search, bucket);
  switch (query.kind) {
    case 'nothing':
      return new NothingMatcher();
    case 'term': {
      const run = query.list.runOf(bucket);
      return run === undefined ? new NothingMatcher() : new TermMatcher(run, query.scorer);
    }
    case 'constant':
      return new ConstantMatcher(union(query.lists, bucket), query.boost);
    case 'phrase':
      return phraseMatcher(query.phrase, search, bucket);
    case 'boolean': {
      const excluded = query.mustNot.map(inner);
      const optional = query.should.map(inner);
      if (query.must.length > 0) return new AllMatcher(query.must.map(inner), optional, excluded);
      return new AnyMatcher(optional, excluded);
    }
  }
}

function phraseMatcher(
  phrase: ResolvedPhrase,
  {source, effort}: TextSearch,
  bucket: number,
): Matcher {
  const terms: TermMatcher[] = [];
  for (const list of phrase.lists) {
    const run = list.runOf(bucket);
    if (run === undefined) return new NothingMatcher();
    terms.push(new TermMatcher(run, phrase.scorer));
  }
  const test = new PhraseTest(phrase);
  const [first] = terms;
  return new TestedMatcher(new AllMatcher(terms, [], []), position => {
    const places = phrase.terms.map(text =>
      source.positions(phrase.field, text, {bucket, position}),
    );
    effort.spend(places.reduce((units, place) => units + place.length, 4));
    const frequency = test.frequency(places);
    return frequency === 0 || first === undefined
      ? undefined
      : phrase.scorer.score(frequency, first.norm);
  });
}

/** Positions of any of the lists, ascending, each once. */
function union(lists: readonly PostingList[], bucket: number): Uint32Array {
  const runs = lists.map(list => list.runOf(bucket)?.positions ?? new Uint32Array(0));
  const [only] = runs;
  if (runs.length === 1 && only !== undefined) return only;
  const all = new Uint32Array(runs.reduce((count, run) => count + run.length, 0));
  let to = 0;
  for (const run of runs) {
    all.set(run, to);
    to += run.length;
  }
  all.sort();
  let kept = 0;
  for (let at = 0; at < all.length; at += 1) {
    if (at === 0 || all[at] !== all[at - 1]) all[kept++] = all[at] as number;
  }
  return all.subarray(0, kept);
}
