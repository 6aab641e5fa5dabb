/**
 * Full-text queries of all forms give the ten best documents that Lucene 9.12.3 gives, with its
 * scores: BM25, classic similarity, the English analyzer.
 *
 * Its answers lie in testdata/lucene.txt, a line a query of the corpus that the seed makes;
 * testdata/LuceneOracle.java.txt is the program that wrote them. Where scores are equal Lucene
 * takes the document that it has first, and so do we, but which of several ties is the tenth may
 * differ.
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import {
  type FullTextAnswer,
  luceneAnswer,
  luceneDifference,
  type LuceneHit,
} from '#server/testing/property/lucene-answers.ts';
import {LuceneCorpus} from '#server/testing/property/lucene-corpus.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const world = await ServiceWorld.open();
after(() => world.close());

const corpus = new LuceneCorpus(9, 240);
const recorded = readFileSync(join(import.meta.dirname, 'testdata/lucene.txt'), 'utf8');

for (const part of recorded.split('@ ').slice(1)) {
  const [head = '', ...lines] = part.split('\n');
  const [similarity = '', analyzer = ''] = head.split(' ');
  test(`${corpus.queries.length} queries, ${similarity}, ${analyzer}`, async () => {
    const database = await world.database([
      'CREATE DOCUMENT TYPE D',
      'CREATE PROPERTY D.t STRING',
      'CREATE INDEX ON D (t) FULL_TEXT METADATA ' +
        '{"positions": true, "allowLeadingWildcard": true, ' +
        `"similarity": "${similarity}", "analyzer": "${analyzer}"}`,
    ]);
    const rows = corpus.documents.map((t, n) => new Map<string, Value>(Object.entries({t, n})));
    await database.run('INSERT INTO D CONTENT :rows', {parameters: new Map([['rows', rows]])});
    for (const [at, query] of corpus.queries.entries()) {
      const expected = luceneAnswer(lines[at] ?? '');
      assert.equal(luceneDifference(await answerOf(database, query), expected), undefined, query);
    }
  });
}

async function answerOf(database: TestDatabase, query: string): Promise<FullTextAnswer> {
  try {
    const rows = await database.run(
      'SELECT n AS document, $score AS score FROM D ' +
        "WHERE SEARCH_INDEX('D[t]', :q) = true ORDER BY $score DESC LIMIT 10",
      {parameters: new Map([['q', query]])},
    );
    return rows as unknown as readonly LuceneHit[];
  } catch (error) {
    if (error instanceof Refusal && error.code === 'search.syntax') return 'refused';
    throw error;
  }
}
