/** Expressions of SQL and their values as JSON, for the tables of the families' tests. */
import {bindLoneExpression} from '#server/languages/sql/bind-lone.ts';
import {jsonText} from '#server/model/json.ts';
import type {Value} from '#server/model/value.ts';
import {type RunOptions, World} from './hand-built-plan.ts';
import {RowCursor} from '#server/execution/closure.ts';
import {unitBatch} from '#server/execution/batch.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';

const functions = createFunctionRegistry();

/** The value of an expression without a row; `:name` are the options' parameters. */
export function valueOf(text: string, world: World = new World(), options: RunOptions = {}): Value {
  const expression = bindLoneExpression(text, world.catalog);
  const closure = new PlanPreparation({kind: 'unit'}, functions).expression(expression);
  return closure(new RowCursor(world.context(options), unitBatch));
}

/** The value as JSON, or the code of the refusal and its message. */
export function answerOf(text: string, world?: World, options?: RunOptions): string {
  try {
    return jsonText(valueOf(text, world, options));
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    return `${String(error.code)}: ${error.message}`;
  }
}
