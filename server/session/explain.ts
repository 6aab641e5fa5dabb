/** A plan for people (text) and for tools (JSON), with what a run of it took. */
import type {PlanNode} from '#server/plan/node.ts';
import {type PlanStep, planSteps, planText} from '#server/plan/printer.ts';

export function explain(
  plan: PlanNode,
  elapsedMs: number | undefined,
): {readonly text: string; readonly json: string} {
  const tree = planText(plan);
  const text = elapsedMs === undefined ? tree : `${tree}\n(${elapsedMs.toFixed(3)} ms)`;
  const cost = elapsedMs === undefined ? -1 : Math.round(elapsedMs * 1e6);
  const steps = [stepJson(planSteps(plan))];
  return {text, json: JSON.stringify({type: 'QueryExecutionPlan', cost, prettyPrint: text, steps})};
}

function stepJson(step: PlanStep): object {
  return {
    name: step.name,
    type: step.name,
    description: step.description,
    cost: -1,
    subSteps: step.subSteps.map(stepJson),
  };
}
