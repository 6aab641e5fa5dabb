/**
 * The drivers of plans. The outermost one pulls batches and gives the thread away between slices;
 * a plan inside of a run (a function's body, a trigger, a query in a query) passes over its pauses,
 * because whoever stands around it pauses soon.
 *
 * A run ends by being drained, by `close`, or by an error; each closes every scanner below it.
 */
import type {Timers} from '#server/platform/clock.ts';
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, pause, unitBatch} from './batch.ts';
import type {ExecutionContext} from './context.ts';
import type {Batches, Operator} from './operator.ts';
import {estimateValue} from './expressions/value-size.ts';
import {type PreparedOutput, rowValue} from './output.ts';

/** A plan ready to run, as often as wanted. */
export interface PreparedPlan {
  readonly plan: PlanNode;
  readonly operator: Operator;
}

export class PlanRun {
  readonly #batches: Batches;
  readonly #context: ExecutionContext;
  readonly #timers: Timers;

  /** @param argument - The rows that the plan's `argument` stands for. */
  constructor(
    prepared: PreparedPlan,
    context: ExecutionContext,
    timers: Timers,
    argument: Batch = unitBatch,
  ) {
    this.#batches = prepared.operator(context, argument);
    this.#context = context;
    this.#timers = timers;
  }

  /**
   * The next batch without giving the thread away, as long as the slice lasts; `pause` when it
   * is used up, undefined at the end. Short plans need nothing else.
   */
  pull(): Batch | typeof pause | undefined {
    this.#context.budget.spend(1);
    const step = this.#batches.next();
    return step.done === true ? undefined : step.value;
  }

  /** The next batch, or undefined at the end. */
  async next(): Promise<Batch | undefined> {
    for (;;) {
      const batch = this.pull();
      if (batch !== pause) return batch;
      await this.rest();
    }
  }

  /**
   * Lets everything that is ready have its turn, waits for as long as the statement asked to, then
   * begins a new slice. Does not refuse: the next `pull` does.
   */
  async rest(): Promise<void> {
    const {budget} = this.#context;
    await this.#timers.yield();
    for (let left = budget.restMs; left > 0; left = budget.restMs) {
      await new Promise<void>(resolve => this.#timers.after(left, resolve));
    }
    budget.resume();
  }

  close(): void {
    this.#batches.return();
  }
}

export interface InnerQuery {
  readonly plan: PreparedPlan;
  readonly output: PreparedOutput;
}

/** Its rows as values, those of columns as maps. */
export function* innerRows(
  {plan, output}: InnerQuery,
  context: ExecutionContext,
): Generator<Value, void, undefined> {
  for (const batch of plan.operator(context, unitBatch)) {
    if (batch === pause) continue;
    for (let row = 0; row < batch.rowCount; row += 1) yield rowValue(output, batch, row, context);
  }
}

/** Up to `rowsMax` rows, of one column its values; they count as kept while they are collected. */
export function innerValues(
  query: InnerQuery,
  context: ExecutionContext,
  rowsMax = Number.POSITIVE_INFINITY,
): readonly Value[] {
  const {budget} = context;
  const values: Value[] = [];
  let kept = 0;
  try {
    for (const row of innerRows(query, context)) {
      const value = query.output.kind === 'columns' ? alone(row) : row;
      const bytes = estimateValue(value);
      budget.keep(bytes);
      kept += bytes;
      values.push(value);
      if (values.length >= rowsMax) break;
    }
    return values;
  } finally {
    budget.release(kept);
  }
}

/** The value of a row's only column, else the row. */
function alone(row: Value): Value {
  if (!(row instanceof Map) || row.size !== 1) return row;
  for (const value of row.values()) return value as Value;
  return row;
}
