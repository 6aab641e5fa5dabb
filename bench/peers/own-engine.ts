/**
 * The engine without a language: a plan that was built by hand, prepared once and run in this
 * process, beside the statement that means the same and answers the same bytes. What the statement
 * takes longer is what parsing, optimizing, rights and admission cost together.
 *
 * Measured is the processor time of the thread, which a busy machine does not stretch.
 */
import {indexFamilies} from '#server/caches/index-families.ts';
import assert from 'node:assert/strict';
import {batchRowsDefault, pause} from '#server/execution/batch.ts';
import {Budget} from '#server/execution/budget.ts';
import {type ExecutionContext, newWriteCounts, SubplanMemo} from '#server/execution/context.ts';
import {GraphReader} from '#server/execution/graph-reader.ts';
import {outputOf, prepareOutput} from '#server/execution/output.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import {QueryResult, type ResultOptions} from '#server/execution/query-result.ts';
import {RecordJson} from '#server/layout/record-json.ts';
import {PlanRun} from '#server/execution/run.ts';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import type {Parameters, RunRequest} from '#server/session/session.ts';
import {root, type ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {DatabaseSchema} from '#server/records/database-schema.ts';
import {AdjacencyCache} from '#server/caches/adjacency-cache.ts';
import {ColumnCache} from '#server/caches/column-cache.ts';
import {IndexPageCache} from '#server/caches/index-page-cache.ts';
import type {DerivedCaches} from '#server/caches/derived-caches.ts';
import {CacheMemory} from '#server/caches/cache-memory.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const memoryBytesMax = 1 << 30;
const turnsPerRound = 20;
const resultOptions: ResultOptions = {
  format: 'record',
  typeHints: false,
  loneRecords: false,
  rowsMax: undefined,
  ceilingRows: 1_000_000,
  beyondCeiling: 'truncate',
  writes: false,
};

/** Runs the plan once, to its end; answers the rows as the statement does. */
type EngineRun = (parameters: Parameters) => string;

function engineRun(
  world: ServiceWorld,
  database: TestDatabase,
  {plan, keeps = true}: OwnPoint,
): EngineRun {
  const stored = world.stored(database);
  const {context: read} = new DatabaseSchema(stored, {
    families: indexFamilies,
    recordBytesMax: 1 << 20,
    indexKeyBytesMax: 1 << 10,
    staleReadCheck: false,
    defaultsOf: () => () => null,
  });
  const {catalog, schema} = read;
  const [clock, random, timers] = [createClock(), createRandom(), createTimers()];
  const memory = new CacheMemory(() => (keeps ? memoryBytesMax : 0));
  const kept: DerivedCaches = {
    adjacency: new AdjacencyCache({database: stored, clock, timers, memory}),
    columns: new ColumnCache(stored, memory, () => 1),
    indexes: new IndexPageCache(stored, memory, () => 1),
    search: undefined,
    searches: undefined,
  };
  const preparation = new PlanPreparation(plan, createFunctionRegistry());
  const operator = preparation.prepare(plan);
  const output = prepareOutput(outputOf(plan) ?? {kind: 'columns', columns: []}, preparation);
  const json = new RecordJson(schema);
  return parameters => {
    const reader = stored.read();
    const context: ExecutionContext = {
      graph: new GraphReader(reader, read, kept),
      catalog,
      parameters,
      clock,
      random,
      budget: new Budget(clock, {}),
      startedAt: 0,
      format: {},
      writes: undefined,
      counts: newWriteCounts(),
      batchRows: batchRowsDefault,
      memo: new SubplanMemo(),
    };
    const run = new PlanRun({plan, operator}, context, timers);
    const result = new QueryResult({run, context, output, json, options: resultOptions});
    let text = '';
    for (let piece = result.pull(); piece !== undefined; piece = result.pull()) {
      if (piece === pause) context.budget.resume();
      else text += piece.toString('latin1');
    }
    result.close();
    reader.close();
    return text;
  };
}

/** Runs the statement once, to its end. */
function statementRun(
  {service}: TestDatabase,
  request: RunRequest,
): (parameters: Parameters) => Promise<string> {
  return async parameters => {
    const running = service.run(root, {...request, parameters});
    const cursor = running instanceof Promise ? await running : running;
    let text = '';
    for (let piece = await cursor.next(); piece !== undefined; piece = await cursor.next()) {
      text += piece.toString('latin1');
    }
    cursor.close();
    return text;
  };
}

export interface OwnPoint {
  readonly class: string;
  readonly point: string;
  readonly statement: string;
  /** What the statement means, with the columns of its answer. */
  readonly plan: PlanNode;
  /** Each run takes the next element. Default: no parameters. */
  readonly parameters?: readonly Parameters[];
  /** False where the service keeps nothing in memory either: the store is read. Default: true. */
  readonly keeps?: boolean;
  /** Runs of each in a round: a multiple of the turns. */
  readonly repetitions: number;
}

/** The rows of a plan as columns of the answer. */
export function answering(
  input: PlanNode,
  columns: Readonly<Record<string, Expression>>,
): PlanNode {
  const named = Object.entries(columns).map(([name, value]) => ({name, value}));
  return {kind: 'project', input, output: {kind: 'columns', columns: named}};
}

/** Times statement and plan in turns; the bound is five percent. Both must answer the same. */
export async function besideEngine(
  report: Report,
  options: BenchOptions,
  {world, database}: {readonly world: ServiceWorld; readonly database: TestDatabase},
  own: OwnPoint,
): Promise<void> {
  const {parameters = [new Map()]} = own;
  const engine = engineRun(world, database, own);
  const statement = statementRun(database, {...database.request(own.statement), limit: -1});
  for (const each of parameters) assert.equal(engine(each), await statement(each), own.point);
  const of = (at: number): Parameters => parameters[at % parameters.length] ?? new Map();
  const ours: number[] = [];
  const theirs: number[] = [];
  const timers = createTimers();
  // What both keep in memory is made between the runs.
  for (let at = 0; at < own.repetitions; at += 1) {
    await statement(of(at));
    engine(of(at));
    await timers.yield();
  }
  // Round 0 warms up.
  for (let round = 0; round <= options.rounds; round += 1) {
    const micros = {statement: 0, engine: 0};
    // In short turns, so that what slows the machine down slows both; who is first, changes.
    const runs = own.repetitions / turnsPerRound;
    for (let turn = 0; turn < turnsPerRound; turn += 1) {
      const sides = ['statement', 'engine'] as const;
      for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
        const startedAt = threadMicros();
        for (let at = turn * runs; at < (turn + 1) * runs; at += 1) {
          if (side === 'statement') await statement(of(at));
          else engine(of(at));
        }
        micros[side] += threadMicros() - startedAt;
      }
    }
    if (round === 0) continue;
    ours.push(micros.statement / own.repetitions);
    theirs.push(micros.engine / own.repetitions);
  }
  report.add({
    class: own.class,
    point: own.point,
    unit: 'us of processor',
    ours,
    peer: 'the same plan by hand',
    theirs,
    durability: 'reads',
    gate: {at: 'most', bound: 1.05},
  });
}

const nobody = new Int32Array(new SharedArrayBuffer(4));

/**
 * Processor time of this thread. The system brings it up to date at a tick, which is longer than
 * some turns, or when the thread rests: so it rests for a moment.
 */
function threadMicros(): number {
  Atomics.wait(nobody, 0, 0, 0.1);
  const {user, system} = process.threadCpuUsage();
  return user + system;
}
