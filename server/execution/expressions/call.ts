/**
 * Calls of operators and functions as closures; what a call does is found by operation.ts.
 *
 * A refusal raised by a call gets the call's place in the statement, so that the message can
 * point at it.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal, type SourceLocation} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {Closure, Compiler} from '../closure.ts';
import type {FunctionRegistry} from '../function-registry.ts';
import {type Call, type Operation, operationOf} from './operation.ts';

export function compileCall(
  call: Call,
  compiler: Compiler & {readonly functions: FunctionRegistry},
): Closure {
  const operation = operationOf(call, compiler.functions);
  const operands = operation.operands.map(operand => compiler.expression(operand));
  const closure = closureOf(operation, operands);
  return call.place === undefined ? closure : placed(closure, call.place, call.written);
}

function closureOf(operation: Operation, operands: readonly Closure[]): Closure {
  const {propagatesNull} = operation;
  const [first, second] = operands;
  if (operation.arity === 1 && first !== undefined) {
    const {run} = operation;
    if (!propagatesNull) return cursor => run(first(cursor), cursor.context);
    return cursor => {
      const value = first(cursor);
      return value === null ? null : run(value, cursor.context);
    };
  }
  if (operation.arity === 2 && first !== undefined && second !== undefined) {
    const {run} = operation;
    if (!propagatesNull) return cursor => run(first(cursor), second(cursor), cursor.context);
    return cursor => {
      const left = first(cursor);
      if (left === null) return null;
      const right = second(cursor);
      return right === null ? null : run(left, right, cursor.context);
    };
  }
  assert(operation.arity === 'any', 'an operation has as many operands as it takes');
  const {run} = operation;
  return cursor => {
    const values: Value[] = [];
    for (const operand of operands) {
      const value = operand(cursor);
      if (value === null && propagatesNull) return null;
      values.push(value);
    }
    return run(values, cursor.context);
  };
}

/** A function of the database's own: the session knows its body, which may write. */
export function compileRoutine(
  expression: Extract<Expression, {kind: 'routine'}>,
  compiler: Compiler,
): Closure {
  const {name, args, place} = expression;
  const closures = args.map(arg => compiler.expression(arg));
  const closure: Closure = cursor => {
    const {inner} = cursor.context;
    if (inner === undefined) {
      throw new Refusal('query.execution', `the function '${name}' cannot be called from here`);
    }
    const values = closures.map(arg => arg(cursor));
    const call = (): Value => inner.call(name, values, cursor.context);
    // An expression that is evaluated again behind a pause does not call again.
    return cursor.resumption === undefined ? call() : cursor.resumption.valueOnce(expression, call);
  };
  return place === undefined ? closure : placed(closure, place, undefined);
}

/** Adds the place to a refusal that has none, and its text: those of the innermost call. */
function placed(closure: Closure, place: SourceLocation, written: Call['written']): Closure {
  return cursor => {
    try {
      return closure(cursor);
    } catch (error) {
      throw atPlace(error, place, written);
    }
  };
}

/** The error with a place, if it is a refusal that has none. */
export function atPlace(error: unknown, place: SourceLocation, written: Call['written']): unknown {
  if (!(error instanceof Refusal) || error.place !== undefined) return error;
  const within = written === undefined ? '' : `, in '${cut(written())}'`;
  const message = error.message + within;
  return new Refusal(error.code, message, {detail: error.detail, place, cause: error});
}

const textMax = 200;

function cut(text: string): string {
  return text.length > textMax ? `${text.slice(0, textMax)}...` : text;
}
