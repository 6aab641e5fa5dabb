/**
 * W13: a hybrid search over HTTP against its slowest leg alone: words and a vector, fused, with an
 * expansion over one hop, for ten answers.
 */
import {clusteredVectors, randomNumbers} from '#server/indexes/vector/testing-vectors.ts';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const dimensions = 64;
const words = 30;
const vocabulary = 20_000;
const database = 'bench';
const documentBytes = 512;
const documentsMax = 20_000;

export async function hybridSearch(report: Report, options: BenchOptions): Promise<void> {
  const count = Math.min(documentsMax, Math.floor((options.megabytes * 1e6) / documentBytes));
  report.say(`W13: ${count} documents with texts, vectors of ${dimensions} dimensions and edges`);
  const ours = await startSvc();
  try {
    await prepare(ours, database, [
      'CREATE VERTEX TYPE H',
      'CREATE EDGE TYPE E',
      'CREATE PROPERTY H.t STRING',
      'CREATE PROPERTY H.v ARRAY_OF_FLOATS',
      'CREATE INDEX ON H (t) FULL_TEXT',
      `CREATE INDEX ON H (v) LSM_VECTOR METADATA {"dimensions": ${dimensions}}`,
    ]);
    await ours.client.batch(database, lines(count), {query: {}});
    await rounds(report, options, ours);
  } finally {
    await ours.dispose();
  }
}

async function* lines(count: number): AsyncIterable<string> {
  const {share} = randomNumbers(13);
  const {next} = clusteredVectors(13, {dimensions});
  const scale = Math.log(vocabulary);
  for (let at = 0; at < count; at += 1) {
    const t = Array.from({length: words}, () => `w${Math.floor(Math.exp(share() * scale))}`);
    const vertex = {'@type': 'v', '@class': 'H', '@id': `${at}`};
    yield `${JSON.stringify({...vertex, t: t.join(' '), v: Array.from(next())})}\n`;
  }
  for (let at = 0; at < count; at += 1) {
    const to = Math.floor(share() * count);
    yield `{"@type":"e","@class":"E","@from":"${at}","@to":"${to}"}\n`;
  }
}

async function rounds(
  report: Report,
  {rounds: count, seconds}: BenchOptions,
  ours: Target,
): Promise<void> {
  const vector = Array.from(clusteredVectors(14, {dimensions}).next());
  const near = {queryVector: vector, k: 10};
  const fulltext = {fulltextIndexName: 'H[t]', fulltextQuery: 'w12 w345'};
  const ask = (kind: string, body: object, seed: number): Promise<Measured> =>
    measure(ours, {
      path: `/api/v1/vector/${database}/${kind}`,
      before: `${JSON.stringify(body).slice(0, -1)},"unused":`,
      after: '}',
      numbers: {kind: 'random', count: 1_000, seed},
      clients: 1,
      millis: seconds * 1_000,
    });
  const legs = {
    vector: (seed: number) => ask('search', {indexName: 'H[v]', ...near}, seed),
    fulltext: (seed: number) =>
      ask('fulltext', {indexName: 'H[t]', queryText: 'w12 w345', limit: 10}, seed),
    hybrid: (seed: number) =>
      ask('hybrid', {vectorIndexName: 'H[v]', ...near, ...fulltext, expand: {}}, seed),
  };
  for (const leg of Object.values(legs)) {
    await warmUp(() => leg(0), {secondsMin: 2, secondsMax: 8});
  }
  const [hybrid, slowest]: [number[], number[]] = [[], []];
  for (let round = 1; round <= count; round += 1) {
    const alone = [await legs.vector(round), await legs.fulltext(round)];
    slowest.push(Math.max(...alone.map(({p50Millis}) => p50Millis)));
    hybrid.push((await legs.hybrid(round)).p50Millis);
  }
  report.add({
    class: 'W13',
    point: 'hybrid with one hop',
    unit: 'ms at the median',
    ours: hybrid,
    peer: 'the slowest leg alone',
    theirs: slowest,
    durability: 'reads',
    notes: {pinned: pinned()},
  });
}
