/**
 * Calls of operators and functions.
 *
 * The signature in `plan/functions.ts` says how null is treated; the implementation is looked
 * up once, when the plan is prepared. A refusal raised by a call gets the call's place in the
 * statement, so that the message can point at it.
 */
import {Refusal} from '#server/base/errors.ts';
import {compareNumbers} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Place} from '#server/plan/expression.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import type {ScalarFunction} from '../function-registry.ts';
import {bounded} from './value-size.ts';
import {plainText} from './arithmetic.ts';
import type {Closure} from '../closure.ts';
import type {ExpressionCompiler} from './compile.ts';
import {areEqual} from './comparison.ts';
import {containsTest, memberTest} from './containment.ts';
import {isSame} from './strict-operators.ts';
import {fromSecondUse} from './repeated-list.ts';
import {
  type Binary,
  binaryOperators,
  testText,
  textTests,
  unaryOperators,
  variadicOperators,
} from './operators.ts';

type Call = Expression & {readonly kind: 'call'};

export function compileCall(call: Call, compiler: ExpressionCompiler): Closure {
  const closure = compileUnplaced(call, compiler);
  return call.place === undefined ? closure : placed(closure, call.place, call.written);
}

function compileUnplaced(call: Call, compiler: ExpressionCompiler): Closure {
  const prepared = withConstant(call, compiler);
  if (prepared !== undefined) return prepared;
  const args = call.args.map(arg => compiler.expression(arg));
  const [first, second] = args;
  const signature = functionSignature(call.name);
  const propagatesNull = signature?.nulls !== 'handled';
  const unary = unaryOperators[call.name];
  if (unary !== undefined && first !== undefined) {
    return frame => {
      const value = first(frame);
      return value === null ? null : unary(value);
    };
  }
  const membership = membershipClosure(call.name, first, second);
  if (membership !== undefined) return membership;
  const binary = binaryOperators[call.name];
  if (binary !== undefined && first !== undefined && second !== undefined) {
    if (growing.has(call.name)) return growingClosure(binary, first, second, propagatesNull);
    if (!propagatesNull) return frame => binary(first(frame), second(frame), frame.context);
    return frame => {
      const left = first(frame);
      if (left === null) return null;
      const right = second(frame);
      return right === null ? null : binary(left, right, frame.context);
    };
  }
  const implementation = variadicOperators[call.name] ?? compiler.functions.scalar(call.name);
  if (implementation === undefined) {
    throw new Refusal('query.unknown-function', `there is no function ${call.name}`, {
      place: call.place,
    });
  }
  return callClosure(args, implementation, propagatesNull);
}

/** Operators whose answer may be larger than either side. */
const growing: ReadonlySet<string> = new Set(['op:add', 'op:concatenate', 'op:plus', 'op:joined']);

function growingClosure(
  binary: Binary,
  first: Closure,
  second: Closure,
  propagatesNull: boolean,
): Closure {
  return frame => {
    const left = first(frame);
    if (left === null && propagatesNull) return null;
    const right = second(frame);
    if (right === null && propagatesNull) return null;
    if (typeof left === 'number' && typeof right === 'number') {
      return binary(left, right, frame.context);
    }
    return bounded(binary(left, right, frame.context), frame.context.budget);
  };
}

/** A function of the database's own: the session knows its body, which may write. */
export function compileRoutine(
  expression: Extract<Expression, {kind: 'routine'}>,
  compiler: ExpressionCompiler,
): Closure {
  const {name, args, place} = expression;
  const closures = args.map(arg => compiler.expression(arg));
  const closure: Closure = frame => {
    const {inner} = frame.context;
    if (inner === undefined) {
      throw new Refusal('query.execution', `the function '${name}' cannot be called from here`);
    }
    const values = closures.map(arg => arg(frame));
    const call = (): Value => inner.call(name, values, frame.context);
    // An expression that is evaluated again behind a pause does not call again.
    return frame.resumption === undefined ? call() : frame.resumption.valueOnce(expression, call);
  };
  return place === undefined ? closure : placed(closure, place, undefined);
}

/** IN and CONTAINS over lists that are not literals. */
function membershipClosure(
  name: string,
  left: Closure | undefined,
  right: Closure | undefined,
): Closure | undefined {
  if (left === undefined || right === undefined) return undefined;
  if (name !== 'op:in' && name !== 'op:contains') return undefined;
  const general = binaryOperators[name];
  if (general === undefined) return undefined;
  const isIn = name === 'op:in';
  const testOf = fromSecondUse(isIn ? memberTest : containsTest);
  return frame => {
    const one = left(frame);
    const other = right(frame);
    const test = testOf(isIn ? other : one);
    return test === undefined ? general(one, other, frame.context) : test(isIn ? one : other);
  };
}

/** Of a text that a function looks at. */
const charactersPerUnit = 256;

function callClosure(
  args: readonly Closure[],
  implementation: ScalarFunction,
  propagatesNull: boolean,
): Closure {
  return frame => {
    const values: Value[] = [];
    let units = 1;
    for (const arg of args) {
      const value = arg(frame);
      if (value === null && propagatesNull) return null;
      if (typeof value === 'string') units += value.length / charactersPerUnit;
      values.push(value);
    }
    frame.context.budget.spend(units);
    return bounded(implementation(values, frame.context), frame.context.budget);
  };
}

/** Adds the place to a refusal that has none, and its text: those of the innermost call. */
function placed(closure: Closure, place: Place, written: Call['written']): Closure {
  return frame => {
    try {
      return closure(frame);
    } catch (error) {
      if (!(error instanceof Refusal) || error.place !== undefined) throw error;
      const within = written === undefined ? '' : `, in '${cut(written())}'`;
      const message = error.message + within;
      throw new Refusal(error.code, message, {detail: error.detail, place, cause: error});
    }
  };
}

const textMax = 200;

function cut(text: string): string {
  return text.length > textMax ? `${text.slice(0, textMax)}...` : text;
}

/** Operators whose right side is a literal: patterns and lists prepared, numbers compared. */
function withConstant(call: Call, compiler: ExpressionCompiler): Closure | undefined {
  const [left, right] = call.args;
  if (call.args.length !== 2 || left === undefined || right?.kind !== 'literal') return undefined;
  const constant = right.value;
  if (constant === null) return undefined;
  const textTest = textTests[call.name];
  if (textTest !== undefined) {
    const of = compiler.expression(left);
    const test = textTest(plainText(constant));
    return frame => {
      const value = of(frame);
      return value === null ? null : testText(test, value);
    };
  }
  if (call.name === 'op:in') {
    const of = compiler.expression(left);
    const test = memberTest(constant);
    return frame => test(of(frame));
  }
  if (call.name === 'op:equal') return equalToConstant(compiler.expression(left), constant);
  if (call.name === 'op:same') return sameAsConstant(compiler.expression(left), constant);
  return typeof constant === 'number'
    ? comparedToNumber(call.name, compiler, left, constant)
    : undefined;
}

function equalToConstant(of: Closure, constant: Value): Closure {
  return frame => {
    const value = of(frame);
    if (value === null) return null;
    return value === constant || areEqual(value, constant);
  };
}

function sameAsConstant(of: Closure, constant: Value): Closure {
  const isPlain = typeof constant === 'string' || typeof constant === 'boolean';
  return frame => {
    const value = of(frame);
    if (value === null) return null;
    return isPlain ? value === constant : isSame(value, constant);
  };
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
/** To these NaN has no order. */
const strictSigns = new Set(['op:before', 'op:notAfter', 'op:after', 'op:notBefore']);

function comparedToNumber(
  name: string,
  compiler: ExpressionCompiler,
  left: Expression,
  constant: number,
): Closure | undefined {
  const test = signs[name];
  const general = binaryOperators[name];
  if (test === undefined || general === undefined) return undefined;
  const of = compiler.expression(left);
  const isStrict = strictSigns.has(name);
  return frame => {
    const value = of(frame);
    if (typeof value === 'number' && !(isStrict && Number.isNaN(value))) {
      return test(compareNumbers(value, constant));
    }
    return value === null ? null : general(value, constant, frame.context);
  };
}
