/**
 * What each node of a plan cost in one run: rows passed on, time spent in it, memory it kept.
 *
 * Made for a preparation of its own (a profile belongs to one run): every operator is wrapped
 * in one that looks at clock and budget around each step. Time and memory are a node's own, its
 * inputs' left out; sub-plans inside expressions count for the node whose expression it is.
 */
import {assert} from '#server/base/assert.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {inputsOf} from '#server/plan/tree.ts';
import type {Batches, Operator} from './operator.ts';
import {pause} from './batch.ts';

/** What was measured of one node. */
export interface NodeProfile {
  readonly rows: number;
  /** How many of these rows were taken from columns. */
  readonly columnRows: number;
  /** Milliseconds in the node itself, and with its inputs. */
  readonly ownMs: number;
  readonly totalMs: number;
  /** Most that the node itself kept at a time. */
  readonly memoryBytes: number;
}

/** What was measured of one node in one run; plain data. */
export interface Measure {
  rows: number;
  columnRows: number;
  /** Inputs included. */
  timeMs: number;
  /** Bytes that are kept now, inputs included. */
  kept: number;
  keptOwnMost: number;
}

export class PlanProfile {
  readonly #measures = new Map<PlanNode, Measure>();

  /** The operator of a node, measured. */
  observe(node: PlanNode, operator: Operator): Operator {
    const measure: Measure = {rows: 0, columnRows: 0, timeMs: 0, kept: 0, keptOwnMost: 0};
    this.#measures.set(node, measure);
    const inputs = inputsOf(node);
    const keptBelow = (): number =>
      inputs.reduce((sum, input) => sum + (this.#measures.get(input)?.kept ?? 0), 0);
    return function* measured(context, argument): Batches {
      const {clock, budget} = context;
      const batches = operator(context, argument);
      try {
        for (;;) {
          const started = clock.monotonic();
          const before = budget.memoryBytes;
          const step = batches.next();
          measure.timeMs += clock.monotonic() - started;
          measure.kept += budget.memoryBytes - before;
          measure.keptOwnMost = Math.max(measure.keptOwnMost, measure.kept - keptBelow());
          if (step.done === true) return;
          if (step.value !== pause) measure.rows += step.value.rowCount;
          yield step.value;
        }
      } finally {
        batches.return();
      }
    };
  }

  /** Rows of a node that another one took from columns, without running it. */
  tookColumns(node: PlanNode, rows: number): void {
    const measure = this.#measures.get(node);
    assert(measure !== undefined, 'a node is observed before its rows are taken');
    measure.rows += rows;
    measure.columnRows += rows;
  }

  /** The measures, in the order in which the nodes were prepared: the same for the same plan. */
  measures(): readonly Measure[] {
    return [...this.#measures.values()];
  }

  /** Takes over what another preparation of the plan has measured. */
  adopt(measures: readonly Measure[]): void {
    assert(measures.length === this.#measures.size, 'the same plan has the same nodes');
    [...this.#measures.values()].forEach((measure, at) => Object.assign(measure, measures[at]));
  }

  /** Undefined for a node that was not prepared. */
  of(node: PlanNode): NodeProfile | undefined {
    const measure = this.#measures.get(node);
    if (measure === undefined) return undefined;
    const {rows, columnRows, timeMs, keptOwnMost} = measure;
    const below = inputsOf(node).reduce(
      (sum, input) => sum + (this.#measures.get(input)?.timeMs ?? 0),
      0,
    );
    return {
      rows,
      columnRows,
      ownMs: Math.max(0, timeMs - below),
      totalMs: timeMs,
      memoryBytes: keptOwnMost,
    };
  }
}
