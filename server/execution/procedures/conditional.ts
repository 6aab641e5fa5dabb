/**
 * `do.when`: runs one of two queries, which are texts, and gives its rows as maps.
 *
 * The query runs in the statement that asks for it: in its transaction, with its rights, memory
 * and time; what it may name from outside are the parameters it is given.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import {describe} from '../expressions/arithmetic.ts';
import type {ExecutionContext} from '../context.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {mapAt, refuse, textAt} from './arguments.ts';

function* when(
  args: readonly Value[],
  context: ExecutionContext,
): Generator<readonly Value[], void, undefined> {
  const [condition = null] = args;
  if (condition !== null && typeof condition !== 'boolean') {
    refuse(`a condition is true or false, not ${describe(condition)}`);
  }
  const text = textAt(args, condition === true ? 1 : 2, 'the query');
  if (text.trim() === '') return;
  const {inner} = context;
  if (inner === undefined) {
    throw new Refusal('query.execution', 'a query that is a text cannot be run from here');
  }
  const parameters = mapAt(args, 3, 'the parameters', context);
  for (const row of inner.rows(text, new Map(parameters), context)) yield [row];
}

export const conditionalProcedures: FunctionFamily = {
  tables: {'do.when': {outputs: ['value'], rows: when}},
};
