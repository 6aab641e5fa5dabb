/**
 * Full-text queries find what a look at every document finds, with the same scores.
 *
 * The naive twin asks each document by itself and sums what Lucene's formulas give; windows, bounds
 * and merged lists are beside it. A table holds the scores that recorded exchanges show.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {ridText} from '#server/model/rid.ts';
import {unbounded} from '../ranked/effort.ts';
import {analyzerOf} from './analyzer.ts';
import {parseQuery, type QuerySyntax} from './query-parser.ts';
import type {TextQuery} from './query.ts';
import {resolveQuery} from './resolved-query.ts';
import {searchText} from './search-text.ts';
import {normOfLength, type Similarity, termScorer} from './similarity.ts';
import {editsTest, wildcardTest} from './term-patterns.ts';
import {type TestDocument, TestTextSource} from './testing-text-source.ts';

const bm25: Similarity = {name: 'BM25', k1: 1.2, b: 0.75};
const standard = analyzerOf('standard');
const oneField: QuerySyntax = {
  fields: [{name: 'title', analyzer: standard, boost: 1}],
  defaultOperator: 'OR',
  allowLeadingWildcard: true,
  positions: false,
};
const twoFields: QuerySyntax = {
  ...oneField,
  fields: [...oneField.fields, {name: 'body', analyzer: standard, boost: 2}],
};

function find(
  source: TestTextSource,
  text: string,
  {syntax = oneField, k = 10, similarity = bm25} = {},
): readonly (readonly [string, number])[] {
  const query = resolveQuery(parseQuery(text, syntax), {
    source,
    similarity,
    effort: unbounded,
    fieldCount: syntax.fields.length,
    positions: syntax.positions,
  });
  const found = searchText({query, source, k, effort: unbounded});
  return found.map(({rid, score}) => [ridText(rid), score]);
}

function documentsOf(...texts: readonly (string | readonly string[])[]): TestTextSource {
  const documents = texts.map((text, position): TestDocument => {
    return {bucket: 1, position, texts: typeof text === 'string' ? [text] : text};
  });
  return new TestTextSource(documents, [standard, standard]);
}

const titles = documentsOf(
  'Red apples and pears',
  'Green apple',
  'Blue whale song',
  'Apple pie with apple sauce',
  'Nothing here',
);

const recorded = [
  [
    'apple',
    [
      ['#1:3', 1.0393423],
      ['#1:1', 1.0341108],
    ],
  ],
  ['+apple -green', [['#1:3', 1.0393423]]],
  ['apple AND pie', ['#1:3']],
  ['whale OR pie', ['#1:2', '#1:3']],
  ['"apple sauce"', ['#1:3']],
  ['"sauce apple"', ['#1:3']],
  [
    'appl*',
    [
      ['#1:0', 1],
      ['#1:1', 1],
      ['#1:3', 1],
    ],
  ],
  ['wh?le', ['#1:2']],
  ['*ale', ['#1:2']],
  ['aple~1', ['#1:3', '#1:1']],
  ['apple^3 pears', ['#1:0', '#1:1', '#1:3']],
  ['apple NOT pie', ['#1:1']],
  ['(red OR green) AND appl*', ['#1:0', '#1:1']],
  ['-apple', []],
  ['zebra', []],
  ['title:whale', ['#1:2']],
  ['[a TO b]', ['#1:0', '#1:1', '#1:3']],
  ['[p TO s}', ['#1:0', '#1:3']],
  ['*:*', ['#1:0', '#1:1', '#1:2', '#1:3', '#1:4']],
  ['\\+apple', ['#1:1', '#1:3']],
] as const;

for (const [text, expected] of recorded) {
  test(`of five titles '${text}' finds ${JSON.stringify(expected)}`, () => {
    const found = find(titles, text);
    const withScores = expected.every(one => typeof one !== 'string');
    if (withScores && expected.length > 0) {
      assert.deepEqual(
        found,
        expected.map(([rid, score]) => [rid, Math.fround(Number(score))]),
      );
    } else assert.deepEqual(found.map(([rid]) => rid).toSorted(), expected.map(String).toSorted());
  });
}

test('words of a phrase may stand in any field of the record, a field asks for itself', () => {
  const source = documentsOf(['red apple', 'sauce'], ['green', 'apple sauce'], ['apple', 'pear']);
  const ids = (text: string) => find(source, text, {syntax: twoFields}).map(([rid]) => rid);
  assert.deepEqual(ids('"apple sauce"').toSorted(), ['#1:0', '#1:1']);
  assert.deepEqual(ids('body:"apple sauce"'), ['#1:1']);
  assert.deepEqual(ids('body:apple'), ['#1:1']);
});

test('with positions a phrase asks for its order, and slop for nearness', () => {
  const source = documentsOf('a b c', 'b a c', 'a x b', 'a x x b', 'a b a b');
  const syntax = {...oneField, positions: true};
  const ids = (text: string) => find(source, text, {syntax}).map(([rid]) => rid);
  assert.deepEqual(ids('"a b"'), ['#1:4', '#1:0']);
  assert.deepEqual(ids('"a b"~1').toSorted(), ['#1:0', '#1:2', '#1:4']);
  assert.deepEqual(ids('"a b"~2').toSorted(), ['#1:0', '#1:1', '#1:2', '#1:3', '#1:4']);
  assert.deepEqual(ids('"b c"'), ['#1:0']);
});

test('classic scores: root of frequency, times rarity, by root of length', () => {
  const classic: Similarity = {...bm25, name: 'CLASSIC'};
  const [[, score] = ['', 0]] = find(titles, 'sauce', {similarity: classic});
  assert.ok(Math.abs(score - (Math.log(6 / 2) + 1) / Math.sqrt(5)) < 1e-6);
});

const words = ['alpha', 'beta', 'gamma', 'delta', 'alphe', 'bet', 'x'];
const texts = fc
  .array(fc.constantFrom(...words), {maxLength: 12})
  .map(list => (list.length === 0 ? undefined : list.join(' ')));
const documents = fc.uniqueArray(
  fc.record({
    bucket: fc.integer({min: 1, max: 3}),
    position: fc.oneof(fc.nat(50), fc.nat(1_000_000)),
    texts: fc.tuple(texts, texts),
  }),
  {selector: ({bucket, position}) => `${bucket}:${position}`, maxLength: 60},
);
const leaf = fc.oneof(
  {weight: 6, arbitrary: fc.constantFrom(...words)},
  fc.constantFrom('al*', 'b?t', '*ta', 'alpha~1', 'beta~', 'delta^2.5', '"alpha beta"', 'body:x'),
);
const clause = fc
  .tuple(fc.constantFrom('', '', '', '+', '-'), leaf)
  .map(([modifier, text]) => `${modifier}${text}`);
const queries = fc
  .array(
    fc.oneof(
      {weight: 4, arbitrary: clause},
      fc.array(clause, {minLength: 1, maxLength: 3}).map(list => `+(${list.join(' ')})`),
    ),
    {minLength: 1, maxLength: 4},
  )
  .map(list => list.join(' '));

test('what is found, with scores, is what each document compared by itself gives', () => {
  const property = fc.property(documents, queries, fc.integer({min: 1, max: 8}), (all, text, k) => {
    const source = new TestTextSource(all, [standard, standard]);
    const found = find(source, text, {syntax: twoFields, k});
    const query = parseQuery(text, twoFields);
    const scored = source.documents.flatMap(document => {
      const score = naiveScore(query, source, document, 1);
      if (score === undefined) return [];
      return [{rid: `#${document.bucket}:${document.position}`, score}];
    });
    assert.equal(found.length, Math.min(k, scored.length), text);
    const ofRid = new Map(scored.map(({rid, score}) => [rid, score]));
    for (const [rid, score] of found) near(score, ofRid.get(rid) ?? Number.NaN, `${text} ${rid}`);
    const best = scored.map(({score}) => score).toSorted((a, b) => b - a);
    for (const [at, [, score]] of found.entries()) near(score, best[at] ?? Number.NaN, text);
  });
  fc.assert(property, {numRuns: 500});
});

function near(actual: number, expected: number, what: string): void {
  assert.ok(
    Math.abs(actual - expected) <= 1e-5 * Math.max(1, Math.abs(expected)),
    `${what}: ${actual} in place of ${expected}`,
  );
}

/** Undefined: the document does not match. */
function naiveScore(
  query: TextQuery,
  source: TestTextSource,
  document: TestDocument,
  boost: number,
): number | undefined {
  const own = boost * query.boost;
  if (query.kind === 'boolean') return naiveBoolean(query, source, document, own);
  if (query.kind === 'all') return own;
  const field = query.field ?? 0;
  const uses = source.usesOf(document, field);
  const has = (test: (term: string) => boolean) => uses.some(({term}) => test(term));
  const scoreOf = (term: string, count: number, by: number): number | undefined => {
    const frequency = uses.filter(use => use.term === term).length;
    if (frequency === 0) return undefined;
    const scorer = termScorer(bm25, source.statistics(field), count, by);
    return scorer.score(frequency, normOfLength(uses.length));
  };
  switch (query.kind) {
    case 'term':
      return scoreOf(query.term, source.postings(field, query.term).count, own);
    case 'phrase': {
      const scores = query.terms.map(term =>
        scoreOf(term, source.postings(field, term).count, own),
      );
      return scores.includes(undefined) ? undefined : sum(scores);
    }
    case 'prefix':
      return has(term => term.startsWith(query.prefix)) ? own : undefined;
    case 'wildcard':
      return has(wildcardTest(query.pattern)) ? own : undefined;
    case 'range':
      return undefined;
    case 'fuzzy': {
      const test = editsTest(query.term, query.edits);
      const near = [...source.terms(field, '')].filter(term => test(term) !== undefined);
      const most = Math.max(0, ...near.map(term => source.postings(field, term).count));
      const scores = near.map(term => {
        const edits = test(term) ?? 0;
        return scoreOf(term, most, own * (1 - edits / Math.min(term.length, query.term.length)));
      });
      return scores.some(score => score !== undefined) ? sum(scores) : undefined;
    }
  }
}

function naiveBoolean(
  {clauses}: TextQuery & {readonly kind: 'boolean'},
  source: TestTextSource,
  document: TestDocument,
  boost: number,
): number | undefined {
  const of = (occurrence: string) =>
    clauses
      .filter(one => one.occurrence === occurrence)
      .map(one => naiveScore(one.query, source, document, boost));
  const [must, should, mustNot] = [of('must'), of('should'), of('must-not')];
  if (must.includes(undefined) || mustNot.some(score => score !== undefined)) return undefined;
  const isMet = must.length > 0 || should.some(score => score !== undefined);
  return isMet ? sum(must) + sum(should) : undefined;
}

function sum(scores: readonly (number | undefined)[]): number {
  return scores.reduce<number>((total, score) => total + (score ?? 0), 0);
}
