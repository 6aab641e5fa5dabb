/**
 * The face of execution: prepare a plan once, run it often, get its answer as bytes or values.
 *
 * Whoever runs a query makes its context (view or transaction, parameters, budget) and releases
 * it when the result is closed.
 */
import type {RecordJson} from '#server/layout/record-json.ts';
import type {Value} from '#server/model/value.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {unitBatch} from './batch.ts';
import type {ExecutionContext} from './context.ts';
import type {FunctionRegistry} from './functions/registry.ts';
import {pause} from './operator.ts';
import {PlanPreparation} from './prepare.ts';
import {outputOf, type PreparedOutput, prepareOutput, rowValue} from './result/output.ts';
import {QueryResult, type ResultOptions} from './result/query-result.ts';
import {PlanRun, type PreparedPlan} from './run.ts';
import {Frame} from './expressions/compiler.ts';
import type {Expression} from '#server/plan/expression.ts';

/** Holds nothing of a run: keep it with the plan. */
export interface PreparedQuery extends PreparedPlan {
  readonly output: PreparedOutput;
}

/** @throws {Refusal} for unknown functions and constant patterns that are refused. */
export function prepareQuery(plan: PlanNode, functions: FunctionRegistry): PreparedQuery {
  const preparation = new PlanPreparation(plan, functions);
  const output = outputOf(plan) ?? {kind: 'columns', columns: []};
  return {
    plan,
    operator: preparation.prepare(plan),
    output: prepareOutput(output, preparation),
  };
}

/** Starts a run; nothing is read before the first `next` of the result. */
export function startQuery(
  prepared: PreparedQuery,
  context: ExecutionContext,
  parts: {readonly timers: Timers; readonly json: RecordJson; readonly options: ResultOptions},
): QueryResult {
  const run = new PlanRun(prepared, context, parts.timers);
  return new QueryResult({run, context, output: prepared.output, ...parts});
}

/** Runs a query to its end on this thread, without giving it away; rows as values. */
export function* queryValues(prepared: PreparedQuery, context: ExecutionContext): Generator<Value> {
  for (const batch of prepared.operator(context, unitBatch)) {
    if (batch === pause) continue;
    for (let row = 0; row < batch.rowCount; row++) {
      yield rowValue(prepared.output, batch, row, context);
    }
  }
}

/** The value of an expression that stands outside of any row: LIMIT, TIMEOUT, defaults. */
export function evaluate(
  expression: Expression,
  functions: FunctionRegistry,
  context: ExecutionContext,
): Value {
  const preparation = new PlanPreparation({kind: 'unit'}, functions);
  return preparation.expression(expression)(new Frame(context, unitBatch));
}
