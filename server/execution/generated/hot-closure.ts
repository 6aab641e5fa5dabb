/**
 * Closures that become generated code once they have been called often.
 *
 * Making a function from text costs as much as many calls of a closure, and more until the engine
 * has compiled it well, which a statement of a few rows never earns back. The code belongs to the
 * prepared plan and goes with it (docs/design/0016-generated-expressions.md).
 */
import type {Expression} from '#server/plan/expression.ts';
import {runsPlan, visitExpression} from '#server/plan/tree.ts';
import type {Closure, Compiler, Test} from '../closure.ts';
import {atPlace} from '../expressions/call.ts';
import type {Call} from '../expressions/operation.ts';
import type {FunctionRegistry} from '../function-registry.ts';
import {type CodeParts, type ExpressionCode, testCode, valueCode} from './expression-code.ts';

/** Calls after which the code is made. */
export const hotAfterDefault = 2_000;

/** Fewer operators gain nothing, and more make a function that no engine compiles well. */
const operatorsMin = 2;
const operatorsMax = 400;

export class HotCompiler implements Compiler {
  readonly #parts: CodeParts;
  readonly #hotAfter: number;

  /** @param hotAfter - Calls; 0 makes the code at once. */
  constructor(compiler: Compiler, functions: FunctionRegistry, hotAfter = hotAfterDefault) {
    this.#parts = {compiler, functions};
    this.#hotAfter = hotAfter;
  }

  expression(expression: Expression): Closure {
    const closure = this.#parts.compiler.expression(expression);
    return this.#hot(expression, closure, () => functionOf(valueCode(expression, this.#parts)));
  }

  condition(expression: Expression): Test {
    const test = this.#parts.compiler.condition(expression);
    return this.#hot(expression, test, () => functionOf(testCode(expression, this.#parts)));
  }

  #hot<F extends Closure | Test>(expression: Expression, cold: F, make: () => unknown): F {
    const operators = operatorsOf(expression);
    if (operators < operatorsMin || operators > operatorsMax) return cold;
    // A plan inside costs more than what is around it, and is prepared once.
    if (runsPlan(expression)) return cold;
    let calls = 0;
    let current = (cursor: Parameters<F>[0]): unknown => {
      if (calls++ >= this.#hotAfter) {
        current = make() as F;
        return current(cursor);
      }
      return cold(cursor);
    };
    return (cursor => current(cursor)) as F;
  }
}

function operatorsOf(expression: Expression): number {
  let count = 0;
  visitExpression(expression, part => {
    const {kind} = part;
    if (kind === 'call') count += 1;
    if (kind === 'and' || kind === 'or') count += part.terms.length - 1;
    if (kind === 'case') count += part.branches.length;
  });
  return count;
}

function functionOf({body, bound}: ExpressionCode): unknown {
  const make = new Function('b', 'fail', body) as (b: readonly unknown[], fail: Fail) => unknown;
  return make(bound, fail);
}

type Fail = (error: unknown, call: Call | undefined) => unknown;

const fail: Fail = (error, call) =>
  call?.place === undefined ? error : atPlace(error, call.place, call.written);
