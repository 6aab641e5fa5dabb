/**
 * W10 and W11: the ten nearest of vectors near a plane of 24 dimensions, one client over HTTP,
 * against usearch in the process that asks it. Each side keeps as few candidates as find 95 % of
 * the nearest, measured in the same run; the defaults are measured beside it. W11: the same with
 * records that may be answered: half, a tenth, a hundredth, a thousandth of them.
 */
import {latentVectors, nearestOf} from '#server/indexes/vector/testing-vectors.ts';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {buildUsearch, type Usearch} from '../peers/usearch.ts';
import {cpuMicrosOf, memoryOf, pinned, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const dimensions = 128;
const k = 10;
const vectorBytes = 4 * dimensions;
const vectorsMax = 100_000;
const recallQueries = 200;
const recallLeast = 0.95;
/** Numbers of candidates, of which each side takes the least that finds enough. */
const expansions = [12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512];
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
  const {next} = latentVectors(10, {dimensions});
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
  await withData(report, options, async (ours, data, {linkedPerSecond, linkedPerCpuSecond}) => {
    const usearch = await buildUsearch(data.rows, {dimensions});
    try {
      report.add({
        class: 'W10',
        point: 'linked',
        unit: 'vectors/s of a processor',
        ours: [linkedPerCpuSecond],
        peer: usearch.label,
        theirs: [usearch.buildPerCpuSecond],
        durability: 'derived',
        gate: {at: 'least', bound: 0.5},
        notes: {perSecond: linkedPerSecond, theirsPerSecond: usearch.buildPerSecond},
      });
      await compareRates(report, options, {ours, data, usearch});
    } finally {
      usearch.dispose();
    }
  });
}

export async function filteredSearch(report: Report, options: BenchOptions): Promise<void> {
  await withData(report, options, async (ours, data) => {
    await filtered(report, options, {ours, data});
  });
}

interface Built {
  readonly linkedPerSecond: number;
  readonly linkedPerCpuSecond: number;
}

export const denseSchema = [
  'CREATE VERTEX TYPE P',
  'CREATE PROPERTY P.n LONG',
  'CREATE PROPERTY P.v ARRAY_OF_FLOATS',
  'CREATE INDEX ON P (n) UNIQUE',
  'CREATE INDEX ON P (v) LSM_VECTOR METADATA ' +
    `{"dimensions": ${dimensions}, "idPropertyName": "n"}`,
];

async function withData(
  report: Report,
  {megabytes}: BenchOptions,
  run: (ours: Target, data: Data, built: Built) => Promise<void>,
): Promise<void> {
  const data = makeData(megabytes);
  const ours = await startSvc();
  try {
    await prepare(ours, database, denseSchema);
    const startedAt = performance.now();
    await ours.client.batch(database, lines(data), {query: {idMapping: false}});
    const loadedAt = performance.now();
    const cpuBefore = cpuMicrosOf(ours.pid);
    await linked(ours, data.count);
    const load = Math.round((loadedAt - startedAt) / 1_000);
    const link = performance.now() - loadedAt;
    const linkCpu = cpuMicrosOf(ours.pid) - cpuBefore;
    report.say(
      `${data.count} vectors of ${dimensions} dimensions: loaded in ${load} s, ` +
        `linked ${Math.round((data.count * 1_000) / link)} a second, ` +
        `resident ${Math.round(memoryOf(ours.pid).resident / 1e6)} MB`,
    );
    await run(ours, data, {
      linkedPerSecond: (data.count * 1_000) / link,
      linkedPerCpuSecond: (data.count * 1e6) / linkCpu,
    });
  } finally {
    await ours.dispose();
  }
}

async function* lines({count, vectorAt}: Data): AsyncIterable<string> {
  for (let n = 0; n < count; n += 1) yield lineOf(n, vectorAt(n));
}

/** Vectors from `first` up to `count` of them, as lines of a bulk load. */
export async function* latentLines(count: number, first: number): AsyncIterable<string> {
  const {next} = latentVectors(10, {dimensions});
  for (let n = 0; n < count; n += 1) {
    const vector = next();
    if (n >= first) yield lineOf(n, vector);
  }
}

function lineOf(n: number, vector: Float32Array): string {
  const v = Array.from(vector);
  return `${JSON.stringify({'@type': 'v', '@class': 'P', '@id': `${n}`, n, v})}\n`;
}

/** Waits for the graph, which is made in the background, from the first search on. */
export async function linked({client}: Target, count: number): Promise<void> {
  for (;;) {
    await client.query(database, "SELECT vector.neighbors('P[v]', 0, 1).n AS n");
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

/** Answers each question once. */
function remembered(
  truth: (question: Float32Array) => readonly number[],
): (question: Float32Array) => readonly number[] {
  const known = new Map<Float32Array, readonly number[]>();
  return question => {
    const nearest = known.get(question) ?? truth(question);
    known.set(question, nearest);
    return nearest;
  };
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

/** The least number of candidates with which so many of the nearest are found. */
async function least(
  {questions}: Data,
  truth: (question: Float32Array) => readonly number[],
  search: (expansion: number) => (question: Float32Array) => Promise<readonly number[]>,
): Promise<{readonly expansion: number; readonly recall: number}> {
  let recall = 0;
  for (const expansion of expansions) {
    recall = await recallOf(questions, truth, search(expansion));
    if (recall >= recallLeast) return {expansion, recall};
  }
  return {expansion: expansions.at(-1) ?? 0, recall};
}

async function compareRates(
  report: Report,
  {rounds, seconds}: BenchOptions,
  {ours, data, usearch}: {readonly ours: Target; readonly data: Data; readonly usearch: Usearch},
): Promise<void> {
  const truth = remembered(bruteForce(data, () => true));
  const recall = await recallOf(data.questions, truth, one => answersOf(ours, one, ''));
  const option = (expansion: number): string => `, {efSearch: ${expansion}}`;
  const mine = await least(
    data,
    truth,
    expansion => one => answersOf(ours, one, option(expansion)),
  );
  const their = await least(data, truth, expansion => {
    const search = usearch.withExpansion(expansion);
    return one => Promise.resolve(search(one, k));
  });
  const search = usearch.withExpansion(their.expansion);
  const asked = option(mine.expansion);
  const job = {count: data.count, seconds};
  await warmUp(() => asking(ours, asked, {...job, seed: 0}), {secondsMin: 6, secondsMax: 15});
  const measured: Measured[] = [];
  const theirs: Rate[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    measured.push(await asking(ours, asked, {...job, seed: round}));
    theirs.push(rateOf(seconds, at => search(data.vectorAt(at % data.count), k)));
  }
  report.add({
    class: 'W10',
    point: `ten nearest at recall ${recallLeast}`,
    unit: 'queries/s',
    ours: measured.map(({perSecond}) => perSecond),
    peer: usearch.label,
    theirs: theirs.map(({perSecond}) => perSecond),
    durability: 'reads',
    cpuMicrosPerOpOurs: measured.map(({cpuMicrosPerOp}) => cpuMicrosPerOp),
    cpuMicrosPerOpTheirs: theirs.map(({cpuMicrosPerOp}) => cpuMicrosPerOp),
    gate: {at: 'least', bound: 0.3},
    notes: {candidates: mine, theirCandidates: their, pinned: pinned()},
  });
  report.add({
    class: 'W10',
    point: 'recall at the defaults',
    unit: 'share',
    ours: [recall],
    peer: 'comparing all',
    theirs: [1],
    durability: 'reads',
    gate: {at: 'least', bound: recallLeast},
  });
}

interface Rate {
  readonly perSecond: number;
  readonly cpuMicrosPerOp: number;
}

function rateOf(seconds: number, ask: (at: number) => unknown): Rate {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  let asked = 0;
  for (; performance.now() - startedAt < seconds * 1_000; asked += 1) ask(asked * 7_919);
  const {user, system} = process.cpuUsage(before);
  return {
    perSecond: (asked * 1_000) / (performance.now() - startedAt),
    cpuMicrosPerOp: (user + system) / asked,
  };
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
