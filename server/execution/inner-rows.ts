/**
 * Runs a plan inside of a run: the rows of a function's body, of a trigger, of a query in a query.
 *
 * Pauses inside are passed over: whoever stands around pauses soon.
 */
import type {Value} from '#server/model/value.ts';
import {unitBatch} from './batch.ts';
import type {ExecutionContext} from './context.ts';
import {pause} from './operator.ts';
import {estimateValue} from './operators/memory-estimate.ts';
import {type PreparedOutput, rowValue} from './output.ts';
import type {PreparedPlan} from './run.ts';

export interface InnerQuery {
  readonly plan: PreparedPlan;
  readonly output: PreparedOutput;
}

/** Its rows as values, those of columns as maps. */
export function* innerRows(
  {plan, output}: InnerQuery,
  context: ExecutionContext,
): Generator<Value, void, undefined> {
  for (const batch of plan.operator(context, unitBatch)) {
    if (batch === pause) continue;
    for (let row = 0; row < batch.rowCount; row += 1) yield rowValue(output, batch, row, context);
  }
}

/** Up to `rowsMax` rows, of one column its values; they count as kept while they are collected. */
export function innerValues(
  query: InnerQuery,
  context: ExecutionContext,
  rowsMax = Number.POSITIVE_INFINITY,
): readonly Value[] {
  const {budget} = context;
  const values: Value[] = [];
  let kept = 0;
  try {
    for (const row of innerRows(query, context)) {
      const value = query.output.kind === 'columns' ? alone(row) : row;
      const bytes = estimateValue(value);
      budget.keep(bytes);
      kept += bytes;
      values.push(value);
      if (values.length >= rowsMax) break;
    }
    return values;
  } finally {
    budget.release(kept);
  }
}

/** The value of a row's only column, else the row. */
function alone(row: Value): Value {
  if (!(row instanceof Map) || row.size !== 1) return row;
  for (const value of row.values()) return value as Value;
  return row;
}
