/**
 * W10 and W11: the ten nearest of clustered vectors, one client over HTTP, against usearch in the
 * process that asks it; recall beside each rate. Then the same with records that may be answered:
 * half, a tenth, a hundredth, a thousandth of them.
 */
import {nearestOf, clusteredVectors} from '#server/indexes/vector/testing-vectors.ts';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {buildUsearch, type Usearch} from '../peers/usearch.ts';
import {memoryOf, pinned, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../run.ts';

const dimensions = 128;
const k = 10;
const vectorBytes = 4 * dimensions;
const vectorsMax = 50_000;
const recallQueries = 200;
const database = 'bench';

interface Data {
  readonly rows: Float32Array;
  readonly count: number;
  readonly vectorAt: (at: number) => Float32Array;
  /** Questions that are no vector of the data. */
  readonly questions: readonly Float32Array[];
}

function makeData(megabytes: number): Data {
  const count = Math.min(vectorsMax, Math.floor((megabytes * 1e6) / vectorBytes));
  const {next} = clusteredVectors(10, {dimensions, clusters: 500, spread: 0.8});
  const rows = new Float32Array(count * dimensions);
  for (let at = 0; at < count; at += 1) rows.set(next(), at * dimensions);
  return {
    rows,
    count,
    vectorAt: at => rows.slice(at * dimensions, (at + 1) * dimensions),
    questions: Array.from({length: recallQueries}, next),
  };
}

export async function denseSearch(report: Report, options: BenchOptions): Promise<void> {
  await withData(report, options, async (ours, data) => {
    const usearch = await buildUsearch(data.rows, {dimensions, expansion: 64});
    await compareRates(report, options, {ours, data, usearch});
  });
}

export async function filteredSearch(report: Report, options: BenchOptions): Promise<void> {
  await withData(report, options, async (ours, data) => {
    await filtered(report, options, {ours, data});
  });
}

async function withData(
  report: Report,
  {megabytes}: BenchOptions,
  run: (ours: Target, data: Data) => Promise<void>,
): Promise<void> {
  const data = makeData(megabytes);
  const ours = await startSvc();
  try {
    await prepare(ours, database, [
      'CREATE VERTEX TYPE P',
      'CREATE PROPERTY P.n LONG',
      'CREATE PROPERTY P.v ARRAY_OF_FLOATS',
      'CREATE INDEX ON P (n) UNIQUE',
      'CREATE INDEX ON P (v) LSM_VECTOR METADATA ' +
        `{"dimensions": ${dimensions}, "idPropertyName": "n"}`,
    ]);
    const startedAt = performance.now();
    await ours.client.batch(database, lines(data), {query: {idMapping: false}});
    const loadedAt = performance.now();
    await linked(ours, data);
    const load = Math.round((loadedAt - startedAt) / 1_000);
    const link = performance.now() - loadedAt;
    report.say(
      `${data.count} vectors of ${dimensions} dimensions: loaded in ${load} s, ` +
        `linked ${Math.round((data.count * 1_000) / link)} a second, ` +
        `resident ${Math.round(memoryOf(ours.pid).resident / 1e6)} MB`,
    );
    await run(ours, data);
  } finally {
    await ours.dispose();
  }
}

async function* lines({count, vectorAt}: Data): AsyncIterable<string> {
  for (let n = 0; n < count; n += 1) {
    const v = Array.from(vectorAt(n));
    yield `${JSON.stringify({'@type': 'v', '@class': 'P', '@id': `${n}`, n, v})}\n`;
  }
}

/** The graph is made in the background, from the first search on. */
async function linked({client}: Target, {count, vectorAt}: Data): Promise<void> {
  for (;;) {
    const params = {v: Array.from(vectorAt(0))};
    await client.query(database, "SELECT vector.neighbors('P[v]', :v, 1).n AS n", {params});
    const {metrics} = (await client.serverInfo('default')) as {
      readonly metrics: {
        readonly searchIndexes: Record<
          string,
          {readonly vectors: number; readonly waiting: number}
        >;
      };
    };
    const figures = metrics.searchIndexes[`${database}.P[v]`];
    if (figures?.vectors === count && figures.waiting === 0) return;
    await new Promise(resolve => setTimeout(resolve, 200));
  }
}

function bruteForce({count, vectorAt}: Data, isIn: (at: number) => boolean) {
  const among = new Map<number, Float32Array>();
  for (let at = 0; at < count; at += 1) if (isIn(at)) among.set(at, vectorAt(at));
  return (question: Float32Array): readonly number[] => nearestOf(question, among, k, 'COSINE');
}

/** The share of the nearest that are answered. */
async function recallOf(
  questions: readonly Float32Array[],
  truth: (question: Float32Array) => readonly number[],
  answer: (question: Float32Array) => Promise<readonly number[]> | readonly number[],
): Promise<number> {
  let [found, wanted] = [0, 0];
  for (const question of questions) {
    const nearest = truth(question);
    const answered = await answer(question);
    wanted += nearest.length;
    found += nearest.filter(at => answered.includes(at)).length;
  }
  return found / wanted;
}

/** A search by the key of a record: what is sent is short, and each differs. */
function asking(
  ours: Target,
  options: string,
  {count, seconds, seed}: {readonly count: number; readonly seconds: number; readonly seed: number},
): Promise<Measured> {
  const command = `SELECT expand(vector.neighbors('P[v]', :n, ${k}${options}).n)`;
  return measure(ours, {
    path: `/api/v1/query/${database}`,
    before: `{"language":"sql","command":${JSON.stringify(command)},"params":{"n":`,
    after: '}}',
    numbers: {kind: 'random', count, seed},
    clients: 1,
    millis: seconds * 1_000,
  });
}

async function answersOf(
  {client}: Target,
  question: Float32Array,
  options: string,
): Promise<readonly number[]> {
  const {result} = await client.query(
    database,
    `SELECT vector.neighbors('P[v]', :v, ${k}${options}).n AS n`,
    {params: {v: Array.from(question)}},
  );
  return (result[0]?.['n'] ?? []) as readonly number[];
}

async function compareRates(
  report: Report,
  {rounds, seconds}: BenchOptions,
  {ours, data, usearch}: {readonly ours: Target; readonly data: Data; readonly usearch: Usearch},
): Promise<void> {
  const truth = bruteForce(data, () => true);
  const recall = await recallOf(data.questions, truth, one => answersOf(ours, one, ''));
  const theirRecall = await recallOf(data.questions, truth, one => usearch.search(one, k));
  await warmUp(() => asking(ours, '', {count: data.count, seconds, seed: 0}), {
    secondsMin: 4,
    secondsMax: 12,
  });
  const measured: Measured[] = [];
  const theirs: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    measured.push(await asking(ours, '', {count: data.count, seconds, seed: round}));
    theirs.push(rateOf(seconds, at => usearch.search(data.vectorAt(at % data.count), k)));
  }
  report.add({
    class: 'W10',
    point: 'ten nearest',
    unit: 'queries/s',
    ours: measured.map(({perSecond}) => perSecond),
    peer: usearch.label,
    theirs,
    durability: 'reads',
    cpuMicrosPerOpOurs: measured.map(({cpuMicrosPerOp}) => cpuMicrosPerOp),
    gate: {at: 'least', bound: 0.3},
    notes: {recall, theirRecall, theirBuildPerSecond: usearch.buildPerSecond, pinned: pinned()},
  });
  report.add({
    class: 'W10',
    point: 'recall of ten',
    unit: 'share',
    ours: [recall],
    peer: usearch.label,
    theirs: [theirRecall],
    durability: 'reads',
    gate: {at: 'least', bound: 0.95},
  });
}

function rateOf(seconds: number, ask: (at: number) => unknown): number {
  const startedAt = performance.now();
  let asked = 0;
  for (; performance.now() - startedAt < seconds * 1_000; asked += 1) ask(asked * 7_919);
  return (asked * 1_000) / (performance.now() - startedAt);
}

async function filtered(
  report: Report,
  {rounds, seconds}: BenchOptions,
  {ours, data}: {readonly ours: Target; readonly data: Data},
): Promise<void> {
  const rates = async (options: string): Promise<readonly number[]> => {
    await asking(ours, options, {count: data.count, seconds: 2 * seconds, seed: 0});
    const measured: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const {perSecond} = await asking(ours, options, {count: data.count, seconds, seed: round});
      measured.push(perSecond);
    }
    return measured;
  };
  const whole = await rates('');
  for (const share of [0.5, 0.1, 0.01, 0.001]) {
    const most = Math.floor(data.count * share);
    const options = `, {filter: (SELECT @rid FROM P WHERE n < ${most})}`;
    const truth = bruteForce(data, at => at < most);
    const questions = data.questions.slice(0, recallQueries / 4);
    const recall = await recallOf(questions, truth, one => answersOf(ours, one, options));
    report.add({
      class: 'W11',
      point: `${share * 100} % may be answered`,
      unit: 'queries/s',
      ours: await rates(options),
      peer: 'the same without a filter',
      theirs: whole,
      durability: 'reads',
      notes: {recall, pinned: pinned()},
    });
    report.add({
      class: 'W11',
      point: `recall at ${share * 100} %`,
      unit: 'share',
      ours: [recall],
      peer: 'comparing all',
      theirs: [1],
      durability: 'reads',
      gate: {at: 'least', bound: 0.95},
    });
  }
}
