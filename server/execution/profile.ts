/**
 * What each node of a plan cost in one run: rows passed on and time spent in it.
 *
 * Made for a preparation of its own (a profile belongs to one run): every operator is wrapped
 * in one that looks at the clock around each step. Time is a node's own, its inputs' left out;
 * sub-plans inside expressions count for the node whose expression it is.
 */
import type {PlanNode} from '#server/plan/node.ts';
import {type PlanStep, planSteps} from '#server/plan/printer.ts';
import {inputsOf} from '#server/plan/tree.ts';
import {type Batches, type Operator, pause} from './operator.ts';

export interface ProfileStep extends PlanStep {
  readonly rows: number;
  /** Nanoseconds in the node itself. */
  readonly cost: number;
  readonly subSteps: readonly ProfileStep[];
}

interface Measure {
  rows: number;
  /** Milliseconds, inputs included. */
  time: number;
}

export class PlanProfile {
  readonly #measures = new Map<PlanNode, Measure>();

  /** The operator of a node, measured. */
  observe(node: PlanNode, operator: Operator): Operator {
    const measure: Measure = {rows: 0, time: 0};
    this.#measures.set(node, measure);
    return function* measured(context, argument): Batches {
      const {clock} = context;
      const batches = operator(context, argument);
      try {
        for (;;) {
          const started = clock.monotonic();
          const step = batches.next();
          measure.time += clock.monotonic() - started;
          if (step.done === true) return;
          if (step.value !== pause) measure.rows += step.value.rowCount;
          yield step.value;
        }
      } finally {
        batches.return();
      }
    };
  }

  /** The plan's steps with what they cost. */
  steps(plan: PlanNode): ProfileStep {
    return this.#withCosts(plan, planSteps(plan));
  }

  #withCosts(node: PlanNode, step: PlanStep): ProfileStep {
    const inputs = inputsOf(node);
    const subSteps = inputs.map((input, at) =>
      this.#withCosts(input, step.subSteps[at] ?? planSteps(input)),
    );
    const inputsTime = inputs.reduce((sum, input) => sum + this.#measure(input).time, 0);
    const {rows, time} = this.#measure(node);
    return {...step, subSteps, rows, cost: Math.round(Math.max(0, time - inputsTime) * 1e6)};
  }

  #measure(node: PlanNode): Measure {
    return this.#measures.get(node) ?? {rows: 0, time: 0};
  }
}
