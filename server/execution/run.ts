/**
 * The outermost driver: pulls batches and gives the thread away between slices.
 *
 * A run ends by being drained, by `close`, or by an error; each closes every scanner below it.
 */
import type {Timers} from '#server/platform/clock.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, unitBatch} from './batch.ts';
import type {ExecutionContext} from './context.ts';
import {type Batches, type Operator, pause} from './operator.ts';

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
