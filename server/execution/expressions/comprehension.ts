/**
 * Expressions over the items of a list: comprehensions, quantifiers and reduce.
 *
 * Quantifiers are three-valued: `any` is null when no item is true and one is unknown, and so
 * on. Work is reported per item, so a list of millions stays cancellable.
 */
import {unreachable} from '#server/base/assert.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import {estimateValue} from './value-size.ts';
import {asItems} from './access.ts';
import type {Closure, Compiler, RowCursor} from '../closure.ts';

type Comprehension = Expression & {readonly kind: 'comprehension'};
type Reduce = Expression & {readonly kind: 'reduce'};

interface ScopedCompiler extends Compiler {
  /** The same compiler where `slots` are bound by an enclosing expression. */
  within(slots: readonly (Slot | undefined)[]): Compiler;
}

export function compileComprehension(expression: Comprehension, compiler: ScopedCompiler): Closure {
  const list = compiler.expression(expression.list);
  const inner = compiler.within([expression.item, expression.index]);
  const where = expression.where && inner.expression(expression.where);
  const yields = expression.yields && inner.expression(expression.yields);
  const {item, index, mode} = expression;
  const eachItem = (
    cursor: RowCursor,
    of: Value,
    visit: (value: Value, verdict: Value) => boolean,
  ): void => {
    const items = asItems(of);
    for (let at = 0; at < items.length; at++) {
      const value = items[at] as Value;
      cursor.locals[item] = value;
      if (index !== undefined) cursor.locals[index] = at;
      cursor.context.budget.spend(1);
      if (!visit(value, where === undefined ? true : where(cursor))) return;
    }
  };
  const result = (cursor: RowCursor, value: Value): Value =>
    yields === undefined ? value : yields(cursor);
  if (mode === 'list' || mode === 'first') {
    return cursor => {
      const of = list(cursor);
      if (of === null) return null;
      const results: Value[] = [];
      const {budget} = cursor.context;
      let bytes = 0;
      eachItem(cursor, of, (value, verdict) => {
        if (verdict !== true) return true;
        const made = result(cursor, value);
        results.push(made);
        bytes += estimateValue(made, budget.valueBytesMax);
        if (bytes > budget.valueBytesMax) budget.made(bytes);
        return mode === 'list';
      });
      budget.made(bytes);
      return mode === 'list' ? results : (results[0] ?? null);
    };
  }
  return cursor => {
    const of = list(cursor);
    if (of === null) return null;
    const counts = {true: 0, false: 0, null: 0};
    eachItem(cursor, of, (_value, verdict) => {
      counts[verdict === true ? 'true' : verdict === false ? 'false' : 'null']++;
      return !(mode === 'any' && verdict === true) && !(mode === 'all' && verdict === false);
    });
    return quantify(mode, counts);
  };
}

function quantify(
  mode: 'any' | 'all' | 'none' | 'single',
  counts: {readonly true: number; readonly false: number; readonly null: number},
): Value {
  switch (mode) {
    case 'any':
      return counts.true > 0 ? true : counts.null > 0 ? null : false;
    case 'all':
      return counts.false > 0 ? false : counts.null > 0 ? null : true;
    case 'none':
      return counts.true > 0 ? false : counts.null > 0 ? null : true;
    case 'single':
      return counts.true > 1 ? false : counts.null > 0 ? null : counts.true === 1;
    default:
      return unreachable(mode);
  }
}

export function compileReduce(expression: Reduce, compiler: ScopedCompiler): Closure {
  const list = compiler.expression(expression.list);
  const initial = compiler.expression(expression.initial);
  const {item, accumulator} = expression;
  const step = compiler.within([item, accumulator]).expression(expression.step);
  return cursor => {
    const items = list(cursor);
    if (items === null) return null;
    let value = initial(cursor);
    for (const next of asItems(items)) {
      cursor.locals[item] = next;
      cursor.locals[accumulator] = value;
      cursor.context.budget.spend(1);
      value = step(cursor);
    }
    return value;
  };
}
