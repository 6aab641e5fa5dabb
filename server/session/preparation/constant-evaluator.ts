/**
 * The value of an expression that knows no row, no parameter and no data: for the optimizer, which
 * has no functions of its own.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {unitBatch} from '#server/execution/batch.ts';
import {RowCursor} from '#server/execution/closure.ts';
import {contextOutside} from '#server/execution/empty-graph.ts';
import type {FunctionRegistry} from '#server/execution/function-registry.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';

/** What is larger is better made when it is needed. */
const limits = {memoryBytesMax: 4_096, valueBytesMax: 4_096};

const stillClock = {now: () => 0, monotonic: () => 0};
const noChance = {u32: () => 0, fill: (target: Uint8Array) => target.fill(0)};

/** Answers undefined for what is refused or too large. */
export function constantEvaluator(
  catalog: Catalog,
  functions: FunctionRegistry,
): (expression: Expression) => Value | undefined {
  const preparation = new PlanPreparation({kind: 'unit'}, functions);
  return expression => {
    const context = contextOutside(catalog, {clock: stillClock, random: noChance, limits});
    try {
      return preparation.expression(expression)(new RowCursor(context, unitBatch));
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  };
}
