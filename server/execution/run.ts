/**
 * The outermost driver: pulls batches and gives the thread away between slices.
 *
 * A run ends by being drained, by `close`, or by an error; each closes every scanner below it.
 */
import type {Timers} from '#server/platform/clock.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, unitBatch} from './batch.ts';
import type {ExecutionContext} from './context.ts';
import type {FunctionRegistry} from './functions/registry.ts';
import {type Batches, type Operator, pause} from './operator.ts';
import {PlanPreparation} from './prepare.ts';

/** A plan ready to run, as often as wanted. */
export interface PreparedPlan {
  readonly plan: PlanNode;
  readonly operator: Operator;
}

/** @throws {Refusal} `query.unknown-function` and what constant patterns are refused for. */
export function preparePlan(plan: PlanNode, functions: FunctionRegistry): PreparedPlan {
  return {plan, operator: new PlanPreparation(plan, functions).prepare(plan)};
}

export class PlanRun {
  readonly #batches: Batches;
  readonly #context: ExecutionContext;
  readonly #timers: Timers;

  constructor(prepared: PreparedPlan, context: ExecutionContext, timers: Timers) {
    this.#batches = prepared.operator(context, unitBatch);
    this.#context = context;
    this.#timers = timers;
  }

  /**
   * The next batch without giving the thread away, as long as the slice lasts; `pause` when it
   * is used up, undefined at the end. Short plans need nothing else.
   */
  pull(): Batch | typeof pause | undefined {
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

  /** Lets everything that is ready have its turn, then begins a new slice. */
  async rest(): Promise<void> {
    await this.#timers.yield();
    this.#context.budget.resume();
  }

  close(): void {
    this.#batches.return();
  }
}

/** Runs a plan to its end on this thread, pauses passed over; for tests and short plans. */
export function* runAtOnce(prepared: PreparedPlan, context: ExecutionContext): Generator<Batch> {
  for (const batch of prepared.operator(context, unitBatch)) {
    if (batch !== pause) yield batch;
  }
}
