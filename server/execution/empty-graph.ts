/** A graph without records and a run without data: where no statement is around an expression. */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Clock, Random} from '#server/platform/clock.ts';
import {Budget, type BudgetLimits} from './budget.ts';
import {type ExecutionContext, newWriteCounts, SubplanMemo} from './context.ts';
import type {Graph, Source} from './graph.ts';

const nothing: Source<never> = {next: () => undefined, close: () => {}};

export const emptyGraph: Graph = {
  scanType: () => nothing,
  scanColumns: () => undefined,
  scanBuckets: () => nothing,
  record: () => undefined,
  records: rids => rids.map(() => undefined),
  edgeTypes: () => undefined,
  hops: () => nothing,
  hopsBetween: () => nothing,
  hopEdges: hops => hops.map(() => undefined),
  packedEdges: () => undefined,
  degrees: vertices => ({counts: vertices.map(() => 0), next: () => false, close: () => {}}),
  typesByBucket: () => undefined,
  indexPoint: () => [],
  indexRange: () => nothing,
  indexEntries: () => nothing,
  ranked: () => [],
  countType: () => 0,
  isSubtype: () => false,
  typeExists: () => false,
  isShown: () => true,
};

export interface Outside {
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: BudgetLimits;
}

/** What an expression runs in that sees neither data nor parameters. */
export function contextOutside(
  catalog: Catalog,
  {clock, random, limits}: Outside,
): ExecutionContext {
  return {
    catalog,
    graph: emptyGraph,
    writes: undefined,
    parameters: new Map(),
    clock,
    random,
    budget: new Budget(clock, limits),
    startedAt: clock.now(),
    format: {},
    batchRows: 1,
    memo: new SubplanMemo(),
    counts: newWriteCounts(),
  };
}
