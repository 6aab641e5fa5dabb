/**
 * W12: the ten greatest products of sparse vectors, one client over HTTP, against the reference
 * system where its tools are at hand. Dimensions are frequent as words are (Zipf).
 */
import {randomNumbers} from '#server/indexes/vector/testing-vectors.ts';
import {startReference} from '../peers/reference.ts';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const dimensionCount = 30_000;
const perDocument = 40;
const perQuery = 8;
const database = 'bench';
const documentBytes = 320;
const documentsMax = 100_000;
const queryCount = 64;
/** Questions whose answers are compared with brute force. */
const comparedCount = 16;

export async function sparseSearch(report: Report, options: BenchOptions): Promise<void> {
  const count = Math.min(documentsMax, Math.floor((options.megabytes * 1e6) / documentBytes));
  report.say(`W12: ${count} documents of ${perDocument} dimensions, one client`);
  const ours = await startSvc();
  const reference = await startReference();
  if (reference === undefined) report.say('the tools of the reference system are not at hand');
  try {
    await fill(ours, count);
    if (reference !== undefined) await fill(reference, count);
    report.add({
      class: 'W12',
      point: 'answers equal to brute force',
      unit: 'share',
      ours: [await equalToBruteForce(ours, count)],
      peer: 'comparing all',
      theirs: [1],
      durability: 'reads',
      gate: {at: 'least', bound: 1},
    });
    await rounds(report, options, {ours, reference, count});
  } finally {
    await reference?.dispose();
    await ours.dispose();
  }
}

interface Sparse {
  readonly ids: readonly number[];
  readonly weights: readonly number[];
}

function* vectors(seed: number, count: number, length: number): Iterable<Sparse> {
  const {share} = randomNumbers(seed);
  const scale = Math.log(dimensionCount);
  for (let at = 0; at < count; at += 1) {
    const ids = new Set<number>();
    while (ids.size < length) ids.add(Math.floor(Math.exp(share() * scale)) - 1);
    const sorted = [...ids].sort((one, other) => one - other);
    yield {ids: sorted, weights: sorted.map(() => Math.fround(0.1 + share()))};
  }
}

export const sparseSchema = [
  'CREATE VERTEX TYPE S',
  'CREATE PROPERTY S.n LONG',
  'CREATE PROPERTY S.ids ARRAY_OF_INTEGERS',
  'CREATE PROPERTY S.weights ARRAY_OF_FLOATS',
  'CREATE INDEX ON S (ids, weights) LSM_SPARSE_VECTOR METADATA ' +
    `{"dimensions": ${dimensionCount}}`,
];

async function fill(target: Target, count: number): Promise<void> {
  await prepare(target, database, sparseSchema);
  await target.client.batch(database, lines(count), {query: {idMapping: false}});
}

/** The documents from `first` up to `count` of them, as lines of a bulk load. */
export async function* lines(count: number, first = 0): AsyncIterable<string> {
  let n = -1;
  for (const vector of vectors(12, count, perDocument)) {
    n += 1;
    if (n < first) continue;
    yield `${JSON.stringify({'@type': 'v', '@class': 'S', '@id': `${n}`, n, ...vector})}\n`;
  }
}

/** How many of the first questions are answered with the products of comparing every document. */
async function equalToBruteForce({client}: Target, count: number): Promise<number> {
  const questions = [...vectors(13, comparedCount, perQuery)];
  const best = questions.map(() => [] as number[]);
  for (const {ids, weights} of vectors(12, count, perDocument)) {
    const weightOf = new Map(ids.map((id, at) => [id, weights[at] ?? 0]));
    for (const [question, {ids: asked, weights: by}] of questions.entries()) {
      let product = 0;
      for (const [at, id] of asked.entries()) product += (weightOf.get(id) ?? 0) * (by[at] ?? 0);
      if (product > 0) best[question]?.push(product);
    }
  }
  let equal = 0;
  for (const [question, products] of best.entries()) {
    const {result} = await client.query(database, statementOf(questions[question] as Sparse));
    const found = result.map(({value}) => Number(value));
    const truth = products.sort((one, other) => other - one).slice(0, 10);
    const isEqual =
      found.length === truth.length &&
      truth.every((product, at) => Math.abs(product - (found[at] ?? 0)) <= 1e-5 * product);
    if (isEqual) equal += 1;
  }
  return equal / questions.length;
}

/** Questions stand in the statement, each chosen by its number. */
export function jobs(): readonly string[] {
  return Array.from(vectors(13, queryCount, perQuery), one => JSON.stringify(statementOf(one)));
}

/** Reads the ten greatest products with the default quantization of weights: none. */
export function statementOf({ids, weights}: Sparse): string {
  return (
    'SELECT expand(vector.sparseNeighbors(' +
    `'S[ids,weights]', [${ids.join()}], [${weights.join()}], 10).score)`
  );
}

async function rounds(
  report: Report,
  {rounds: count, seconds}: BenchOptions,
  {
    ours,
    reference,
    count: documents,
  }: {readonly ours: Target; readonly reference: Target | undefined; readonly count: number},
): Promise<void> {
  const statements = jobs();
  const ask = async (target: Target, seed: number): Promise<readonly Measured[]> => {
    const measured: Measured[] = [];
    // Four questions a round, each for a part of its time.
    for (let at = 0; at < 4; at += 1) {
      const text = statements[(4 * seed + at) % statements.length] ?? '';
      measured.push(
        await measure(target, {
          path: `/api/v1/query/${database}`,
          before: `{"language":"sql","command":${text},"params":{"n":`,
          after: '}}',
          numbers: {kind: 'random', count: 1_000, seed},
          clients: 1,
          millis: seconds * 250,
        }),
      );
    }
    return measured;
  };
  const rateOf = (measured: readonly Measured[]): number =>
    measured.length / measured.reduce((sum, {perSecond}) => sum + 1 / perSecond, 0);
  for (const target of [ours, ...(reference === undefined ? [] : [reference])]) {
    await warmUp(async () => (await ask(target, 0))[0] as Measured, {
      secondsMin: 2,
      secondsMax: 8,
    });
  }
  const [mine, theirs]: [number[], number[]] = [[], []];
  for (let round = 1; round <= count; round += 1) {
    mine.push(rateOf(await ask(ours, round)));
    if (reference !== undefined) theirs.push(rateOf(await ask(reference, round)));
  }
  report.add({
    class: 'W12',
    point: 'ten greatest products',
    unit: 'queries/s',
    ours: mine,
    peer: reference?.label ?? 'none',
    theirs: reference === undefined ? mine.map(() => 0) : theirs,
    durability: 'reads',
    ...(reference !== undefined && {gate: {at: 'least', bound: 3} as const}),
    notes: {documents, pinned: pinned()},
  });
}
