/**
 * Expressions to closures: one switch over the kinds of `plan/expression.ts`.
 *
 * Compiled once a plan. Constant operands of the frequent operators (comparisons, LIKE, IN)
 * are prepared here, once, instead of row by row. Sub-plans become runs of their operators.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {FunctionRegistry} from '../function-registry.ts';
import type {Operator} from '../operator.ts';
import {attributeOf, isDefined, propertyOf, propertyOfEach} from './access.ts';
import {compileCall, compileRoutine} from './call.ts';
import type {Closure, Compiler, Scope, Test} from '../closure.ts';
import {compileComprehension, compileReduce} from './comprehension.ts';
import {compileList, compileMap} from './construction.ts';
import {fromSecondUse, holdsItsItems} from './repeated-list.ts';
import {compileSubplan} from './subplan.ts';

export interface CompilerParts {
  readonly functions: FunctionRegistry;
  prepare(node: PlanNode): Operator;
}

const noScope: Scope = new Set();
/** Whatever is done with a text of more units takes long, and cannot pause. */
const longText = 1 << 20;

export class ExpressionCompiler implements Compiler {
  readonly functions: FunctionRegistry;
  readonly prepare: (node: PlanNode) => Operator;
  readonly scope: Scope;

  constructor(parts: CompilerParts, scope: Scope = noScope) {
    this.functions = parts.functions;
    this.prepare = node => parts.prepare(node);
    this.scope = scope;
  }

  /** The same compiler where `slots` are bound by an enclosing expression. */
  within(slots: readonly (Slot | undefined)[]): ExpressionCompiler {
    const bound = slots.filter(slot => slot !== undefined);
    return new ExpressionCompiler(this, new Set([...this.scope, ...bound]));
  }

  expression(expression: Expression): Closure {
    switch (expression.kind) {
      case 'literal': {
        const {value} = expression;
        return () => value;
      }
      case 'parameter': {
        const {name} = expression;
        return ({context}) => {
          const value = context.parameters.get(name) ?? null;
          if (typeof value === 'string' && value.length > longText) context.budget.moveIfItMay();
          return value;
        };
      }
      case 'slot':
        return this.#slot(expression.slot);
      case 'property':
        return this.#property(expression);
      case 'defined': {
        const of = this.expression(expression.of);
        const {name} = expression;
        return cursor => isDefined(of(cursor), name, cursor.context.graph);
      }
      case 'attribute': {
        const of = this.expression(expression.of);
        const {attribute} = expression;
        return cursor => attributeOf(of(cursor), attribute, cursor.context.graph);
      }
      case 'call':
        return compileCall(expression, this);
      case 'routine':
        return compileRoutine(expression, this);
      case 'and':
      case 'or':
        return this.#terms(expression.kind, expression.terms);
      case 'not': {
        const of = this.expression(expression.of);
        return cursor => negation(of(cursor));
      }
      case 'is-null': {
        const of = this.expression(expression.of);
        return cursor => of(cursor) === null;
      }
      case 'case':
        return this.#cases(expression);
      case 'list':
        return compileList(expression.items, this);
      case 'map':
        return compileMap(expression.entries, this);
      case 'comprehension':
        return compileComprehension(expression, this);
      case 'reduce':
        return compileReduce(expression, this);
      case 'subplan':
        return compileSubplan(expression, this);
      default:
        return unreachable(expression);
    }
  }

  condition(expression: Expression): Test {
    if (expression.kind === 'and') {
      const terms = expression.terms.map(term => this.condition(term));
      const [first, second] = terms;
      if (terms.length === 2 && first !== undefined && second !== undefined) {
        return cursor => first(cursor) && second(cursor);
      }
      return cursor => terms.every(term => term(cursor));
    }
    if (expression.kind === 'or') {
      const terms = expression.terms.map(term => this.condition(term));
      return cursor => terms.some(term => term(cursor));
    }
    const closure = this.expression(expression);
    return cursor => closure(cursor) === true;
  }

  #slot(slot: Slot): Closure {
    if (this.scope.has(slot)) return cursor => cursor.locals[slot] ?? null;
    return cursor => {
      const column = cursor.columns[slot];
      return column === undefined ? null : (column[cursor.row] as Value);
    };
  }

  #property(expression: Expression & {readonly kind: 'property'}): Closure {
    const of = this.expression(expression.of);
    const {name} = expression;
    if (expression.each) {
      const listOf = fromSecondUse<{list?: Value}>(list => (holdsItsItems(list) ? {} : undefined));
      return cursor => {
        const value = of(cursor);
        const kept = listOf(value);
        if (kept === undefined) return propertyOfEach(value, name, cursor.context.graph);
        kept.list ??= propertyOfEach(value, name, cursor.context.graph);
        return kept.list;
      };
    }
    return cursor => propertyOf(of(cursor), name, cursor.context.graph) ?? null;
  }

  #terms(kind: 'and' | 'or', expressions: readonly Expression[]): Closure {
    const terms = expressions.map(term => this.expression(term));
    const decisive = kind === 'or';
    return cursor => {
      let unknown = false;
      for (const term of terms) {
        const value = term(cursor);
        if (value === decisive) return decisive;
        if (value !== !decisive) unknown = true;
      }
      return unknown ? null : !decisive;
    };
  }

  #cases(expression: Expression & {readonly kind: 'case'}): Closure {
    const branches = expression.branches.map(branch => ({
      when: this.condition(branch.when),
      then: this.expression(branch.then),
    }));
    const otherwise = expression.otherwise && this.expression(expression.otherwise);
    return cursor => {
      for (const branch of branches) {
        if (branch.when(cursor)) return branch.then(cursor);
      }
      return otherwise === undefined ? null : otherwise(cursor);
    };
  }
}

/** NOT of a truth value. */
export function negation(value: Value): Value {
  if (value === null) return null;
  if (typeof value === 'boolean') return !value;
  throw new Refusal('query.execution', 'NOT needs a condition');
}
