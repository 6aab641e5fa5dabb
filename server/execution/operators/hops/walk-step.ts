/**
 * One step of a walk or a search: the condition on it, and the records it needs.
 *
 * The condition sees `to`, `depth` and `edge` beside the slots of the start row. Records are
 * loaded for all edges that leave a vertex (or a whole frontier) at once, and only where the
 * condition or the plan above asks more than ids.
 */
import type {RecordValue, Rid, Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import {slotsOf} from '#server/plan/tree.ts';
import {Batch, type Column} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {RowCursor, type Test} from '../../closure.ts';
import type {Hop} from '../../graph.ts';
import type {Preparation} from '../../operator.ts';
import {loadRecords, ridKey, withRecords} from './vertex-ids.ts';

/** What is asked of a step, by the slots it binds. */
interface StepNode {
  readonly edge?: Slot | undefined;
  readonly edges?: Slot | undefined;
  readonly to?: Slot | undefined;
  readonly depth?: Slot | undefined;
  readonly condition?: Expression | undefined;
}

/** The row that the steps start from. */
export interface StepStart {
  readonly context: ExecutionContext;
  readonly batch: Batch;
  readonly row: number;
}

export interface Step {
  readonly hop: Hop;
  /** Present when the plan needs the edges' records. */
  readonly edge: RecordValue | undefined;
}

/** Where the hops begin: their vertices, as their sources count them, and how deep. */
export interface StepPlace {
  readonly vertices: readonly Rid[];
  readonly depth: number;
  readonly walk: StepStart;
}

export class WalkStep {
  readonly #node: StepNode;
  readonly #condition: Test | undefined;
  readonly #loadEdges: boolean;
  readonly #loadEnds: boolean;
  readonly #endsInCondition: boolean;

  constructor(node: StepNode, preparation: Preparation) {
    this.#node = node;
    this.#condition = node.condition && preparation.condition(node.condition);
    const needed = (slot: number | undefined): boolean =>
      slot !== undefined && !preparation.idSuffices(slot);
    this.#loadEdges = needed(node.edge) || needed(node.edges);
    this.#loadEnds = needed(node.to);
    this.#endsInCondition =
      this.#loadEnds &&
      node.to !== undefined &&
      node.condition !== undefined &&
      slotsOf(node.condition).has(node.to);
  }

  /** Selects the hops that the condition lets pass, as they are. */
  passingHops(hops: readonly Hop[], at: StepPlace): readonly Hop[] {
    return this.#condition === undefined ? hops : this.passing(hops, at).map(step => step.hop);
  }

  /** The hops that the condition lets pass. `vertices`: as the hops' sources count them. */
  passing(hops: readonly Hop[], at: StepPlace): readonly Step[] {
    const {graph} = at.walk.context;
    const edges = this.#loadEdges ? graph.hopEdges(hops, at.vertices) : undefined;
    const steps = hops.map((hop, index) => ({hop, edge: edges?.[index]}));
    const condition = this.#condition;
    if (condition === undefined) return steps;
    const ends = this.#endsInCondition
      ? loadRecords(
          hops.map(hop => hop.other),
          graph,
        )
      : undefined;
    const {batch, row, context} = at.walk;
    // One row whose cells change from step to step: the condition keeps nothing of it.
    const columns: (Column | undefined)[] = batch.columns.map(c => c && [c[row] ?? null]);
    const to = newCell(columns, this.#node.to);
    const edge = newCell(columns, this.#node.edge);
    newCell(columns, this.#node.depth)[0] = at.depth;
    const cursor = new RowCursor(context, new Batch(columns, 1));
    return steps.filter(step => {
      const {hop} = step;
      const end = ends === undefined ? hop.other : ends.get(ridKey(hop.other));
      if (end === undefined) return false;
      to[0] = end;
      edge[0] = step.edge ?? hop.edge;
      context.budget.spend(1);
      return condition(cursor);
    });
  }

  /** The rows with records where the plan above needs them. */
  complete(batch: Batch, context: ExecutionContext): Batch {
    const {to} = this.#node;
    return this.#loadEnds && to !== undefined ? withRecords(batch, to, context.graph) : batch;
  }
}

/** A column of one cell for `slot`; without a slot a cell that nobody reads. */
function newCell(columns: (Column | undefined)[], slot: number | undefined): Value[] {
  const cell: Value[] = [null];
  if (slot === undefined) return cell;
  while (columns.length < slot) columns.push(undefined);
  columns[slot] = cell;
  return cell;
}
