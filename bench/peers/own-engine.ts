/**
 * The engine without a language: a plan that was built by hand, prepared once and run in this
 * process, beside the statement that means the same. What the statement takes longer is what
 * parsing, optimizing, rights, admission and printing cost together.
 *
 * Measured is the processor time of the thread, which a busy machine does not stretch.
 */
import {batchRowsDefault} from '#server/execution/batch.ts';
import {Budget} from '#server/execution/budget.ts';
import type {ExecutionContext} from '#server/execution/context.ts';
import {GraphReader} from '#server/execution/graph-reader.ts';
import {pause} from '#server/execution/operator.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import {PlanRun} from '#server/execution/run.ts';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';
import {newWriteCounts} from '#server/execution/write-counts.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {root, type ServiceWorld, type TestDatabase} from '#server/testing/service-world.ts';
import {DatabaseSchema} from '#server/transactions/database-schema.ts';
import {ColumnViews} from '#server/views/column-views.ts';
import {IndexViews} from '#server/views/index-views.ts';
import type {KeptViews} from '#server/views/kept-views.ts';
import {ViewMemory} from '#server/views/view-memory.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../run.ts';

const memoryBytesMax = 1 << 30;
const turnsPerRound = 20;

/** Runs the plan once, to its end. */
function engineRun(world: ServiceWorld, database: TestDatabase, plan: PlanNode): () => void {
  const stored = world.stored(database);
  const {catalog, schema} = new DatabaseSchema(stored, {
    recordBytesMax: 1 << 20,
    indexKeyBytesMax: 1 << 10,
    staleReadCheck: false,
    defaultsOf: () => () => null,
  }).context;
  const memory = new ViewMemory(() => memoryBytesMax);
  const kept: KeptViews = {
    adjacency: undefined,
    columns: new ColumnViews(stored, memory, () => 1),
    indexes: new IndexViews(stored, memory, () => 1),
  };
  const operator = new PlanPreparation(plan, createFunctionRegistry()).prepare(plan);
  const [clock, random, timers] = [createClock(), createRandom(), createTimers()];
  return () => {
    const reader = stored.read();
    const context: ExecutionContext = {
      graph: new GraphReader(reader, catalog, schema, kept),
      catalog,
      parameters: new Map(),
      clock,
      random,
      budget: new Budget(clock, {}),
      startedAt: 0,
      format: {},
      writes: undefined,
      counts: newWriteCounts(),
      batchRows: batchRowsDefault,
      memo: new Map(),
    };
    const run = new PlanRun({plan, operator}, context, timers);
    for (let step = run.pull(); step !== undefined; step = run.pull()) {
      if (step === pause) context.budget.resume();
    }
    run.close();
    reader.close();
  };
}

export interface OwnPoint {
  readonly class: string;
  readonly point: string;
  readonly statement: string;
  /** What the statement means. */
  readonly plan: PlanNode;
  /** Runs of each in a round: a multiple of the turns. */
  readonly repetitions: number;
}

/** Times statement and plan in turns; the bound is five percent. */
export async function besideEngine(
  report: Report,
  options: BenchOptions,
  {world, database}: {readonly world: ServiceWorld; readonly database: TestDatabase},
  own: OwnPoint,
): Promise<void> {
  const engine = engineRun(world, database, own.plan);
  const request = database.request(own.statement);
  const statement = async (): Promise<void> => {
    const running = database.service.run(root, request);
    const cursor = running instanceof Promise ? await running : running;
    while ((await cursor.next()) !== undefined);
    cursor.close();
  };
  const ours: number[] = [];
  const theirs: number[] = [];
  // Round 0 warms up.
  for (let round = 0; round <= options.rounds; round += 1) {
    let [statementMicros, engineMicros] = [0, 0];
    // In short turns, so that what slows the machine down slows both.
    const runs = own.repetitions / turnsPerRound;
    for (let turn = 0; turn < turnsPerRound; turn += 1) {
      const statementStarted = process.threadCpuUsage();
      for (let at = 0; at < runs; at += 1) await statement();
      statementMicros += microsSince(statementStarted);
      const engineStarted = process.threadCpuUsage();
      for (let at = 0; at < runs; at += 1) engine();
      engineMicros += microsSince(engineStarted);
    }
    if (round === 0) continue;
    ours.push(statementMicros / own.repetitions);
    theirs.push(engineMicros / own.repetitions);
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

function microsSince(start: NodeJS.CpuUsage): number {
  const {user, system} = process.threadCpuUsage(start);
  return user + system;
}
