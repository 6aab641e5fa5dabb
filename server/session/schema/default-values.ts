/**
 * Evaluates the default expressions of properties, one for each new record.
 *
 * A default is an SQL expression without a record: constants, `sysdate()`, `uuid()`. Compiled
 * once a text and catalog; refusals carry the text, because the statement that made the record
 * does not show it.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {unitBatch} from '#server/execution/batch.ts';
import {contextOutside} from '#server/execution/empty-graph.ts';
import {type Closure, RowCursor} from '#server/execution/closure.ts';
import type {FunctionRegistry} from '#server/execution/function-registry.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import {bindLoneExpression} from '#server/languages/sql/bind-lone.ts';
import type {Value} from '#server/model/value.ts';
import type {Clock, Random} from '#server/platform/clock.ts';
import type {DefaultEvaluator} from '#server/records/context.ts';

const limits = {timeoutMs: 1_000, memoryBytesMax: 1 << 20, valueBytesMax: 1 << 20};

export function defaultEvaluator(
  catalog: Catalog,
  functions: FunctionRegistry,
  {clock, random}: {readonly clock: Clock; readonly random: Random},
): DefaultEvaluator {
  const compiled = new Map<string, Closure>();
  return text => {
    let closure = compiled.get(text);
    if (closure === undefined) {
      closure = compile(text, catalog, functions);
      compiled.set(text, closure);
    }
    const context = contextOutside(catalog, {clock, random, limits});
    return evaluate(closure, new RowCursor(context, unitBatch), text);
  };
}

function compile(text: string, catalog: Catalog, functions: FunctionRegistry): Closure {
  try {
    const expression = bindLoneExpression(text, catalog);
    return new PlanPreparation({kind: 'unit'}, functions).expression(expression);
  } catch (error) {
    throw located(error, text);
  }
}

function evaluate(closure: Closure, cursor: RowCursor, text: string): Value {
  try {
    return closure(cursor);
  } catch (error) {
    throw located(error, text);
  }
}

function located(error: unknown, text: string): unknown {
  if (!(error instanceof Refusal)) return error;
  return new Refusal(error.code, `in the default (${text}): ${error.message}`, {
    detail: error.detail,
    cause: error,
  });
}
