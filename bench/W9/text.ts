/**
 * W9: the ten best of an OR of two words, one client over HTTP, against SQLite's FTS5 in the
 * process that asks it. Words are frequent as in natural texts (Zipf); one of a query's words is
 * frequent, the other seldom so.
 */
import {DatabaseSync} from 'node:sqlite';
import {randomNumbers} from '#server/indexes/vector/testing-vectors.ts';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const words = 60;
const vocabulary = 50_000;
const [frequent, other] = [300, 7_919];
/** Numbers below it are the queries. */
export const textQueries = frequent * other;
const database = 'bench';
/** A document takes about so many bytes; SIZE bounds how many there are. */
const documentBytes = 360;
const documentsMax = 200_000;

export async function textSearch(report: Report, options: BenchOptions): Promise<void> {
  const count = Math.min(documentsMax, Math.floor((options.megabytes * 1e6) / documentBytes));
  report.say(`W9: ${count} documents of ${words} words, one client`);
  const sqlite = new DatabaseSync(':memory:');
  const ours = await startSvc();
  try {
    fillSqlite(sqlite, count);
    const seconds = await fill(ours, count);
    report.say(`loaded and indexed in ${seconds.toFixed(0)} s`);
    await rounds(report, options, {ours, sqlite, count});
  } finally {
    await ours.dispose();
    sqlite.close();
  }
}

/** The same texts for both. */
function* texts(count: number): Iterable<string> {
  const {share} = randomNumbers(9);
  const scale = Math.log(vocabulary);
  for (let document = 0; document < count; document += 1) {
    // Ranks whose logarithms are even are as frequent as their inverse: Zipf's law.
    yield Array.from({length: words}, () => `w${Math.floor(Math.exp(share() * scale))}`).join(' ');
  }
}

function fillSqlite(sqlite: DatabaseSync, count: number): void {
  sqlite.exec('CREATE VIRTUAL TABLE d USING fts5(t); BEGIN');
  const insert = sqlite.prepare('INSERT INTO d (t) VALUES (?)');
  for (const text of texts(count)) insert.run(text);
  sqlite.exec("COMMIT; INSERT INTO d (d) VALUES ('optimize')");
}

export const textSchema = [
  'CREATE VERTEX TYPE D',
  'CREATE PROPERTY D.t STRING',
  'CREATE INDEX ON D (t) FULL_TEXT',
];

async function fill(target: Target, count: number): Promise<number> {
  await prepare(target, database, textSchema);
  const startedAt = performance.now();
  await target.client.batch(database, lines(count), {query: {idMapping: false}});
  return (performance.now() - startedAt) / 1_000;
}

/** The documents from `first` up to `count` of them, as lines of a bulk load. */
export async function* lines(count: number, first = 0): AsyncIterable<string> {
  let at = 0;
  for (const t of texts(count)) {
    if (at++ < first) continue;
    yield `${JSON.stringify({'@type': 'v', '@class': 'D', '@id': `${at}`, t})}\n`;
  }
}

export const textQuery =
  "SELECT @rid FROM D WHERE SEARCH_INDEX('D[t]', " +
  `'w' + (:q % ${frequent}) + ' w' + (:q % ${other})) = true ORDER BY $score DESC LIMIT 10`;

async function rounds(
  report: Report,
  {rounds: count, seconds}: BenchOptions,
  {ours, sqlite, count: documents}: {ours: Target; sqlite: DatabaseSync; count: number},
): Promise<void> {
  const ask = (seed: number): Promise<Measured> =>
    measure(ours, {
      path: `/api/v1/query/${database}`,
      before: `{"language":"sql","command":${JSON.stringify(textQuery)},"params":{"q":`,
      after: '}}',
      numbers: {kind: 'random', count: textQueries, seed},
      clients: 1,
      millis: seconds * 1_000,
    });
  await warmUp(() => ask(0), {secondsMin: 4, secondsMax: 15});
  const measured: Measured[] = [];
  const theirs: number[] = [];
  for (let round = 1; round <= count; round += 1) {
    measured.push(await ask(round));
    theirs.push(askSqlite(sqlite, round, seconds));
  }
  report.add({
    class: 'W9',
    point: 'top 10 of an OR',
    unit: 'queries/s',
    ours: measured.map(({perSecond}) => perSecond),
    peer: 'SQLite FTS5 in process',
    theirs,
    durability: 'reads',
    cpuMicrosPerOpOurs: measured.map(({cpuMicrosPerOp}) => cpuMicrosPerOp),
    gate: {at: 'least', bound: 10},
    notes: {documents, pinned: pinned(), p99Millis: measured.map(({p99Millis}) => p99Millis)},
  });
}

function askSqlite(sqlite: DatabaseSync, seed: number, seconds: number): number {
  const {share} = randomNumbers(seed);
  const best = sqlite.prepare('SELECT rowid FROM d WHERE d MATCH ? ORDER BY rank LIMIT 10');
  const startedAt = performance.now();
  let asked = 0;
  for (; performance.now() - startedAt < seconds * 1_000; asked += 1) {
    const q = Math.floor(share() * frequent * other);
    best.all(`w${q % frequent} OR w${q % other}`);
  }
  return (asked * 1_000) / (performance.now() - startedAt);
}
