/**
 * The implementations of `plan/functions/operators.ts`, by name.
 *
 * Null operands never arrive here unless the signature says `handled`.
 */
import {unreachable} from '#server/base/assert.ts';
import type {Value} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import {itemOf, itemsOf, sliceOf, isList} from './access.ts';
import {
  add,
  bitAnd,
  bitOr,
  bitXor,
  concatenate,
  divide,
  modulo,
  multiply,
  negate,
  plainText,
  shiftLeft,
  shiftRight,
  shiftRightUnsigned,
  subtract,
} from './arithmetic.ts';
import {areEqual, orderOf} from './comparison.ts';
import {
  contains,
  containsAll,
  containsAny,
  containsKey,
  containsText,
  containsValue,
  instanceOf,
  isIn,
} from './containment.ts';
import {referencesOf} from '../functions/references.ts';
import {regularExpressionTest, type TextTest} from '#server/model/regular-expression.ts';
import {recordBinary, recordUnary, recordVariadic} from './record-operators.ts';
import {strictBinary, strictUnary, strictVariadic} from './strict-operators.ts';
import {ilikeTest, likeTest} from './text-pattern.ts';

export type Unary = (value: Value) => Value;
export type Binary = (left: Value, right: Value, call: CallContext) => Value;
export type Variadic = (args: readonly Value[], call: CallContext) => Value;

export const unaryOperators: Readonly<Record<string, Unary>> = {
  ...strictUnary,
  ...recordUnary,
  'op:isList': isList,
  'op:negate': negate,
  'op:references': referencesOf,
};

export const binaryOperators: Readonly<Record<string, Binary>> = {
  ...strictBinary,
  ...recordBinary,
  'op:equal': areEqual,
  'op:notEqual': (left, right) => !areEqual(left, right),
  'op:nullSafeEqual': (left, right) =>
    left === null || right === null ? left === right : areEqual(left, right),
  'op:less': comparison('less'),
  'op:lessOrEqual': comparison('lessOrEqual'),
  'op:greater': comparison('greater'),
  'op:greaterOrEqual': comparison('greaterOrEqual'),
  'op:in': isIn,
  'op:like': textOperator(likeTest),
  'op:ilike': textOperator(ilikeTest),
  'op:matches': textOperator(regularExpressionTest),
  'op:contains': contains,
  'op:containsAll': containsAll,
  'op:containsAny': containsAny,
  'op:containsKey': (left, right, call) => containsKey(left, right, call.graph),
  'op:containsValue': (left, right, call) => containsValue(left, right, call.graph),
  'op:containsText': containsText,
  'op:instanceOf': (left, right, call) => instanceOf(left, right, call.graph),
  'op:add': add,
  'op:subtract': subtract,
  'op:multiply': multiply,
  'op:divide': divide,
  'op:modulo': modulo,
  'op:shiftLeft': shiftLeft,
  'op:shiftRight': shiftRight,
  'op:shiftRightUnsigned': shiftRightUnsigned,
  'op:bitAnd': bitAnd,
  'op:bitOr': bitOr,
  'op:bitXor': bitXor,
  'op:concatenate': concatenate,
};

export const variadicOperators: Readonly<Record<string, Variadic>> = {
  ...strictVariadic,
  ...recordVariadic,
  'op:between': ([value = null, low = null, high = null]) => isBetween(value, low, high),
  'op:coalesce': args => args.find(arg => arg !== null) ?? null,
  'op:item': ([value = null, ...keys], call) =>
    keys.length === 1
      ? itemOf(value, keys[0] ?? null, call.graph)
      : keys.map(key => itemOf(value, key, call.graph)),
  'op:slice': ([value = null, from = null, to = null]) => sliceOf(value, from, to),
};

/** Tests of a text against a pattern, for patterns known when the plan is prepared. */
export const textTests: Readonly<Record<string, (pattern: string) => TextTest>> = {
  'op:like': likeTest,
  'op:ilike': ilikeTest,
  'op:matches': regularExpressionTest,
};

export type Comparison = 'less' | 'lessOrEqual' | 'greater' | 'greaterOrEqual';

export function comparison(kind: Comparison): Binary {
  switch (kind) {
    case 'less':
      return (left, right) => ordered(orderOf(left, right), order => order < 0);
    case 'lessOrEqual':
      return (left, right) => ordered(orderOf(left, right), order => order <= 0);
    case 'greater':
      return (left, right) => ordered(orderOf(left, right), order => order > 0);
    case 'greaterOrEqual':
      return (left, right) => ordered(orderOf(left, right), order => order >= 0);
    default:
      return unreachable(kind);
  }
}

function ordered(order: number | undefined, test: (order: number) => boolean): Value {
  return order === undefined ? null : test(order);
}

function isBetween(value: Value, low: Value, high: Value): Value {
  const fromLow = orderOf(value, low);
  const fromHigh = orderOf(value, high);
  if (fromLow === undefined || fromHigh === undefined) return null;
  return fromLow >= 0 && fromHigh <= 0;
}

/** A text operator whose pattern changes from row to row: prepared when it differs. */
function textOperator(prepare: (pattern: string) => TextTest): Binary {
  return (left, right) => testText(prepare(plainText(right)), left);
}

/** A list passes when one of its items does; other values are read as text. */
export function testText(test: TextTest, value: Value): boolean {
  if (typeof value === 'string') return test(value);
  const items = itemsOf(value);
  if (items !== undefined) return items.some(item => item !== null && testText(test, item));
  return test(plainText(value));
}
