/**
 * How the cost of a search grows with the collection: a tenth of it, then the whole, one server.
 *
 * What is compared is the server's processor time for a search, one client over HTTP: it holds on
 * a machine that others use as well. Each of the three kinds of index has a class of its own.
 * See docs/design/0058-searches-measured.md.
 */
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import {lines as sparseLines, jobs, sparseSchema} from '../W12/sparse.ts';
import {denseSchema, latentLines, linked} from '../W10/vectors.ts';
import {lines as textLines, textQueries, textQuery, textSchema} from '../W9/text.ts';
import type {BenchOptions} from '../bench-options.ts';

const database = 'bench';

interface Kind {
  readonly name: string;
  readonly schema: readonly string[];
  readonly documentBytes: number;
  readonly documentsMax: number;
  readonly bound: number;
  lines(count: number, first: number): AsyncIterable<string>;
  /** The text and the numbers of each question; the figure is of all of them together. */
  readonly questions: readonly string[];
  numbers(count: number): number;
  settled?(target: Target, count: number): Promise<void>;
}

const text: Kind = {
  name: 'text, top 10 of an OR',
  schema: textSchema,
  documentBytes: 360,
  documentsMax: 100_000,
  bound: 4,
  lines: textLines,
  questions: [JSON.stringify(textQuery).replaceAll(':q', ':n')],
  numbers: () => textQueries,
};

const dense: Kind = {
  name: 'dense, ten nearest at the defaults',
  schema: denseSchema,
  documentBytes: 512,
  documentsMax: 100_000,
  bound: 1.6,
  lines: latentLines,
  questions: [JSON.stringify("SELECT expand(vector.neighbors('P[v]', :n, 10).n)")],
  numbers: count => count,
  settled: linked,
};

const sparse: Kind = {
  name: 'sparse, ten greatest products',
  schema: sparseSchema,
  documentBytes: 320,
  documentsMax: 100_000,
  bound: 5,
  lines: sparseLines,
  questions: jobs().slice(0, 8),
  numbers: () => 1_000,
};

export const growthOfText = grows(text);
export const growthOfDense = grows(dense);
export const growthOfSparse = grows(sparse);

function grows(kind: Kind): (report: Report, options: BenchOptions) => Promise<void> {
  return async (report, options) => {
    const {name, documentBytes, documentsMax, bound} = kind;
    const most = Math.floor((options.megabytes * 1e6) / documentBytes);
    const tenth = Math.floor(Math.min(documentsMax, most) / 10);
    const ours = await startSvc();
    try {
      await prepare(ours, database, kind.schema);
      const small = await costs(ours, kind, options, {count: tenth, first: 0});
      const large = await costs(ours, kind, options, {count: 10 * tenth, first: tenth});
      report.add({
        class: 'growth',
        point: name,
        unit: 'us of the processor',
        ours: large,
        peer: `a tenth of ${10 * tenth} documents`,
        theirs: small,
        durability: 'reads',
        gate: {at: 'most', bound},
        notes: {pinned: pinned()},
      });
    } finally {
      await ours.dispose();
    }
  };
}

/** Loads documents behind those that are there; the cost of a search in each round. */
async function costs(
  target: Target,
  kind: Kind,
  {rounds, seconds}: BenchOptions,
  {count, first}: {readonly count: number; readonly first: number},
): Promise<readonly number[]> {
  await target.client.batch(database, kind.lines(count, first), {query: {idMapping: false}});
  await kind.settled?.(target, count);
  const ask = (question: string, seed: number): Promise<Measured> =>
    measure(target, {
      path: `/api/v1/query/${database}`,
      before: `{"language":"sql","command":${question},"params":{"n":`,
      after: '}}',
      numbers: {kind: 'random', count: kind.numbers(count), seed},
      clients: 1,
      millis: (seconds * 1_000) / kind.questions.length,
    });
  for (const question of kind.questions) {
    await warmUp(() => ask(question, 0), {secondsMin: 2, secondsMax: 6});
  }
  const measured: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    let sum = 0;
    for (const question of kind.questions) sum += (await ask(question, round)).cpuMicrosPerOp;
    measured.push(sum / kind.questions.length);
  }
  return measured;
}
