/**
 * What a call of an operator or a function does to the values of its operands.
 *
 * Found once, when a plan is prepared, by whoever evaluates the call: closures (call.ts) and
 * generated code (generated/) differ in how they get at the operands, and in nothing else. An
 * operand that is a literal is prepared here where that pays: patterns, lists, comparisons.
 */
import {Refusal} from '#server/base/errors.ts';
import {compareNumbers} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import type {ExecutionContext} from '../context.ts';
import type {FunctionRegistry, ScalarFunction} from '../function-registry.ts';
import {hopCounts} from '../functions/hops.ts';
import {plainText} from './arithmetic.ts';
import {areEqual} from './comparison.ts';
import {containsTest, memberTest} from './containment.ts';
import {
  type Binary,
  binaryOperators,
  testText,
  textTests,
  unaryOperators,
  variadicOperators,
} from './operators.ts';
import {fromSecondUse} from './repeated-list.ts';
import {isSame} from './strict-operators.ts';
import {bounded} from './value-size.ts';

export type Call = Expression & {readonly kind: 'call'};

type One = (value: Value, context: ExecutionContext) => Value;
type Two = (left: Value, right: Value, context: ExecutionContext) => Value;
type Many = (values: readonly Value[], context: ExecutionContext) => Value;

/** `run` takes the operands' values: the first one, the first two, or all of them. */
export type Operation = {
  /** What must be evaluated, left to right: the arguments less those that are prepared. */
  readonly operands: readonly Expression[];
  /** The first null among the operands is the answer; what is behind it is not evaluated. */
  readonly propagatesNull: boolean;
} & (
  | {readonly arity: 1; readonly run: One}
  | {readonly arity: 2; readonly run: Two}
  | {readonly arity: 'any'; readonly run: Many}
);

/** @throws {Refusal} `query.unknown-function`. */
export function operationOf(call: Call, functions: FunctionRegistry): Operation {
  return withConstant(call) ?? general(call, functions);
}

function general({name, args, place}: Call, functions: FunctionRegistry): Operation {
  const propagatesNull = functionSignature(name)?.nulls !== 'handled';
  const unary = unaryOperators[name];
  if (unary !== undefined && args.length > 0) {
    return {operands: args.slice(0, 1), propagatesNull: true, arity: 1, run: unary};
  }
  const binary = binaryOperators[name];
  if (binary !== undefined && args.length > 1) {
    const operands = args.slice(0, 2);
    const member = membership(name, binary);
    if (member !== undefined) return {operands, propagatesNull: false, arity: 2, run: member};
    const run = growing.has(name) ? grown(binary) : binary;
    return {operands, propagatesNull, arity: 2, run};
  }
  const counted = countedHops(name, args);
  if (counted !== undefined) return counted;
  const implementation = variadicOperators[name] ?? functions.scalar(name);
  if (implementation === undefined) {
    throw new Refusal('query.unknown-function', `there is no function ${name}`, {place});
  }
  return {operands: args, propagatesNull, arity: 'any', run: charged(implementation)};
}

/** `out().size()`: a hub's edges are counted, and no list is made of them. */
function countedHops(name: string, [hops]: readonly Expression[]): Operation | undefined {
  if (name !== '.size' || hops?.kind !== 'call') return undefined;
  const run = hopCounts[hops.name];
  if (run === undefined) return undefined;
  return {operands: hops.args, propagatesNull: false, arity: 'any', run};
}

/** Operators whose answer may be larger than either side. */
const growing: ReadonlySet<string> = new Set(['op:add', 'op:concatenate', 'op:plus', 'op:joined']);

function grown(binary: Binary): Two {
  return (left, right, context) => {
    const value = binary(left, right, context);
    return typeof value === 'number' ? value : bounded(value, context.budget);
  };
}

/** IN and CONTAINS over lists that are not literals. */
function membership(name: string, general: Binary): Two | undefined {
  if (name !== 'op:in' && name !== 'op:contains') return undefined;
  const isIn = name === 'op:in';
  const testOf = fromSecondUse(isIn ? memberTest : containsTest);
  return (one, other, context) => {
    const test = testOf(isIn ? other : one);
    return test === undefined ? general(one, other, context) : test(isIn ? one : other);
  };
}

/** A function may look at this many characters for one unit of the budget. */
const charactersPerUnit = 256;

/** The function, its work and the size of its answer reported to the budget. */
function charged(implementation: ScalarFunction): Many {
  return (values, context) => {
    let units = 1;
    for (const value of values) {
      if (typeof value === 'string') units += value.length / charactersPerUnit;
    }
    context.budget.spend(units);
    return bounded(implementation(values, context), context.budget);
  };
}

/** Operators whose right side is a literal: patterns and lists prepared, numbers compared. */
function withConstant({name, args}: Call): Operation | undefined {
  const [left, right] = args;
  if (args.length !== 2 || left === undefined || right?.kind !== 'literal') return undefined;
  const constant = right.value;
  if (constant === null) return undefined;
  const one = (run: One, propagatesNull = true): Operation => ({
    operands: [left],
    propagatesNull,
    arity: 1,
    run,
  });
  const textTest = textTests[name];
  if (textTest !== undefined) {
    const test = textTest(plainText(constant));
    return one(value => testText(test, value));
  }
  if (name === 'op:in') return one(memberTest(constant), false);
  if (name === 'op:equal') return one(value => value === constant || areEqual(value, constant));
  if (name === 'op:same') return one(sameAs(constant));
  const compared = typeof constant === 'number' ? comparedTo(name, constant) : undefined;
  return compared && one(compared);
}

function sameAs(constant: Value): One {
  const isPlain = typeof constant === 'string' || typeof constant === 'boolean';
  return isPlain ? value => value === constant : value => isSame(value, constant);
}

const signs: Readonly<Record<string, (order: number) => boolean>> = {
  'op:less': order => order < 0,
  'op:lessOrEqual': order => order <= 0,
  'op:greater': order => order > 0,
  'op:greaterOrEqual': order => order >= 0,
  'op:before': order => order < 0,
  'op:notAfter': order => order <= 0,
  'op:after': order => order > 0,
  'op:notBefore': order => order >= 0,
};
/** Comparisons for which NaN has no order. */
const strictSigns = new Set(['op:before', 'op:notAfter', 'op:after', 'op:notBefore']);

function comparedTo(name: string, constant: number): One | undefined {
  const test = signs[name];
  const compare = binaryOperators[name];
  if (test === undefined || compare === undefined) return undefined;
  const isStrict = strictSigns.has(name);
  return (value, context) =>
    typeof value === 'number' && !(isStrict && Number.isNaN(value))
      ? test(compareNumbers(value, constant))
      : compare(value, constant, context);
}
