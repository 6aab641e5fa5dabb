/**
 * The contract between operators.
 *
 * A plan is prepared once (`prepare`: expressions become closures) and run many times: an
 * `Operator` starts one run and answers its rows as a generator. The generator yields batches
 * of at least one row, and `pause` whenever its slice of time is used up; whoever pulls passes
 * `pause` on, and only the outermost driver (run.ts) gives the thread away. So all operators
 * are synchronous, which makes sub-plans inside expressions possible and a short plan cheap,
 * and a run still never holds the thread for more than a few milliseconds.
 *
 * Duties. The puller ends the generator early by `return()` (a `for..of` does) or drains it. The
 * operator closes its scanners in `finally`, keeps no batch that it handed on, changes none that
 * it was given, and reports its work to the budget.
 */
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Batch, Pause} from './batch.ts';
import type {ExecutionContext} from './context.ts';
import type {Compiler} from './closure.ts';

export type Batches = Generator<Batch | Pause, void, undefined>;

/** Starts a run. `argument`: the rows that the plan's `argument` sources stand for. */
export type Operator = (context: ExecutionContext, argument: Batch) => Batches;

/** What came of reading columns, told by the runs of a plan. */
export interface ColumnUse {
  took(rows: number): void;
  /** Their values are not such as columns hold: the next run may as well be elsewhere. */
  hadNoEffect(): void;
}

/** What an operator is prepared with. */
export interface Preparation extends Compiler {
  prepare(node: PlanNode): Operator;
  /**
   * Said by whoever takes the rows of `node` from columns that are kept: the run belongs where they
   * are.
   */
  readsColumns(node: PlanNode): ColumnUse;
  /** True when nothing but the id of the record in `slot` is ever asked for. */
  idSuffices(slot: Slot): boolean;
}
