/**
 * Calls of operators and functions as closures; what a call does is found by operation.ts.
 *
 * A refusal raised by a call gets the call's place in the statement, so that the message can
 * point at it.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Place} from '#server/plan/expression.ts';
import type {Closure} from '../closure.ts';
import type {ExpressionCompiler} from './compile.ts';
import {type Call, type Operation, operationOf} from './operation.ts';

export function compileCall(call: Call, compiler: ExpressionCompiler): Closure {
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
    if (!propagatesNull) return frame => run(first(frame), frame.context);
    return frame => {
      const value = first(frame);
      return value === null ? null : run(value, frame.context);
    };
  }
  if (operation.arity === 2 && first !== undefined && second !== undefined) {
    const {run} = operation;
    if (!propagatesNull) return frame => run(first(frame), second(frame), frame.context);
    return frame => {
      const left = first(frame);
      if (left === null) return null;
      const right = second(frame);
      return right === null ? null : run(left, right, frame.context);
    };
  }
  assert(operation.arity === 'any', 'an operation has as many operands as it takes');
  const {run} = operation;
  return frame => {
    const values: Value[] = [];
    for (const operand of operands) {
      const value = operand(frame);
      if (value === null && propagatesNull) return null;
      values.push(value);
    }
    return run(values, frame.context);
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

/** Adds the place to a refusal that has none, and its text: those of the innermost call. */
function placed(closure: Closure, place: Place, written: Call['written']): Closure {
  return frame => {
    try {
      return closure(frame);
    } catch (error) {
      throw atPlace(error, place, written);
    }
  };
}

/** The error with a place, if it is a refusal that has none. */
export function atPlace(error: unknown, place: Place, written: Call['written']): unknown {
  if (!(error instanceof Refusal) || error.place !== undefined) return error;
  const within = written === undefined ? '' : `, in '${cut(written())}'`;
  const message = error.message + within;
  return new Refusal(error.code, message, {detail: error.detail, place, cause: error});
}

const textMax = 200;

function cut(text: string): string {
  return text.length > textMax ? `${text.slice(0, textMax)}...` : text;
}
