/**
 * The suite `lucene`: generated full-text queries of all forms, each asked of Lucene 9.12.3 and of
 * the server, which have to give the same ten best documents with the same scores.
 *
 * Lucene comes from Maven's packages by the ordinary client; the program that asks it stands beside
 * the recorded answers (session/behaviour/search/testdata). `SEED` gives another corpus and other
 * queries. A machine needs `mvn` and `javac`.
 */
import {execFileSync} from 'node:child_process';
import {copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Client} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {type FullTextAnswer, luceneAnswer, luceneDifference} from '../property/lucene-answers.ts';
import {LuceneCorpus} from '../property/lucene-corpus.ts';
import type {Difference, SuiteOutcome, SuiteSource} from './suite.ts';

const version = '9.12.3';
const artifacts = ['lucene-core', 'lucene-queryparser', 'lucene-queries', 'lucene-analysis-common'];
const oracle = join(
  import.meta.dirname,
  '../../session/behaviour/search/testdata/LuceneOracle.java.txt',
);
/** Each of the kinds is asked so many. */
const queryCount = 340;
const kinds = [
  ['BM25', 'standard'],
  ['CLASSIC', 'standard'],
  ['BM25', 'english'],
] as const;

export async function runLucene({url, password}: SuiteSource): Promise<SuiteOutcome> {
  const corpus = new LuceneCorpus(Number(process.env['SEED'] || 11), queryCount);
  const folder = mkdtempSync(join(tmpdir(), 'svc-lucene-'));
  const client = new Client({url, credentials: {kind: 'basic', user: 'root', password}});
  try {
    buildOracle(folder);
    writeFileSync(join(folder, 'documents.txt'), `${corpus.documents.join('\n')}\n`);
    writeFileSync(join(folder, 'queries.txt'), `${corpus.queries.join('\n')}\n`);
    const [cases, differences]: [string[], Difference[]] = [[], []];
    for (const [at, [similarity, analyzer]] of kinds.entries()) {
      const expected = askLucene(folder, similarity, analyzer);
      const database = `lucene${at}`;
      await fill(client, {database, similarity, analyzer, documents: corpus.documents});
      for (const [place, query] of corpus.queries.entries()) {
        const name = `${similarity} ${analyzer} ${place}: ${query}`;
        const found = await answerOf(client, database, query);
        const difference = luceneDifference(found, expected[place] ?? 'refused');
        cases.push(name);
        if (difference !== undefined) differences.push({name, lines: [difference]});
      }
    }
    return {cases, differences};
  } finally {
    client.close();
    rmSync(folder, {recursive: true, force: true});
  }
}

function buildOracle(folder: string): void {
  const dependencies = artifacts.map(
    artifact =>
      `<dependency><groupId>org.apache.lucene</groupId><artifactId>${artifact}</artifactId>` +
      `<version>${version}</version></dependency>`,
  );
  writeFileSync(
    join(folder, 'pom.xml'),
    '<project><modelVersion>4.0.0</modelVersion><groupId>svc</groupId>' +
      '<artifactId>oracle</artifactId><version>1</version>' +
      `<dependencies>${dependencies.join('')}</dependencies></project>`,
  );
  const copied = join(folder, 'lib');
  const copy = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${copied}`];
  execFileSync('mvn', copy, {cwd: folder, stdio: ['ignore', 'inherit', 'inherit']});
  mkdirSync(join(folder, 'classes'));
  copyFileSync(oracle, join(folder, 'Oracle.java'));
  execFileSync('javac', ['-cp', `${copied}/*`, '-d', join(folder, 'classes'), 'Oracle.java'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

function askLucene(
  folder: string,
  similarity: string,
  analyzer: string,
): readonly FullTextAnswer[] {
  const words = ['-cp', 'classes:lib/*', 'Oracle', 'documents.txt', 'queries.txt'];
  const printed = execFileSync('java', [...words, similarity, analyzer], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return printed.split('\n').map(line => {
    const [, hits = ''] = line.split('\t');
    return line === 'ERR' ? 'refused' : luceneAnswer(hits.trim());
  });
}

async function fill(
  client: Client,
  {
    database,
    similarity,
    analyzer,
    documents,
  }: {
    readonly database: string;
    readonly similarity: string;
    readonly analyzer: string;
    readonly documents: readonly string[];
  },
): Promise<void> {
  await client.createDatabase(database);
  for (const statement of [
    'CREATE DOCUMENT TYPE D',
    'CREATE PROPERTY D.t STRING',
    'CREATE INDEX ON D (t) FULL_TEXT METADATA {"positions": true, "allowLeadingWildcard": true, ' +
      `"similarity": "${similarity}", "analyzer": "${analyzer}"}`,
  ]) {
    await client.command(database, statement);
  }
  const rows = documents.map((t, n) => ({t, n}));
  await client.command(database, 'INSERT INTO D CONTENT :rows', {params: {rows}});
}

async function answerOf(client: Client, database: string, query: string): Promise<FullTextAnswer> {
  try {
    const {result} = await client.query(
      database,
      'SELECT n AS document, $score AS score FROM D ' +
        "WHERE SEARCH_INDEX('D[t]', :q) = true ORDER BY $score DESC LIMIT 10",
      {params: {q: query}},
    );
    return result.map(row => ({document: Number(row['document']), score: Number(row['score'])}));
  } catch (error) {
    if (error instanceof ServerError && /Invalid search query/.test(JSON.stringify(error))) {
      return 'refused';
    }
    throw error;
  }
}
