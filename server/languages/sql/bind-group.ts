/**
 * Grouping: GROUP BY, aggregates, and what the rest of a statement sees of a group.
 *
 * Above the `aggregate` node only keys and aggregates are left. Expressions there are bound in the
 * group's scope, which answers for an expression that is a key (compared by its text) and for a
 * call of an aggregate. Any other property is null in a group, or the first row's where there is
 * no GROUP BY, as the reference has it.
 */

import type {Expression, Slot} from '#server/plan/expression.ts';
import type {Aggregate, PlanNode} from '#server/plan/node.ts';
import type * as Ast from './ast.ts';
import type {BindContext, Scope} from './bind-context.ts';
import {literal, slotOf} from './bind-context.ts';
import {bindExpression} from './bind-expression.ts';
import {asksRecord, checkAggregate, isAggregate, isOfGroup} from './bind-function.ts';
import {printExpression} from './printer.ts';

interface Key {
  readonly slot: Slot;
  readonly value: Expression;
}

export class Grouping {
  readonly scope: Scope;
  readonly #context: BindContext;
  readonly #rows: Scope;
  readonly #keys = new Map<string, Key>();
  readonly #keyKinds = new Set<string>();
  readonly #aggregates = new Map<string, Aggregate>();

  /**
   * @param rows - Scope of the rows that are grouped.
   * @param keys - GROUP BY, aliases of the projection already replaced by what they name.
   */
  constructor(context: BindContext, rows: Scope, keys: readonly Ast.Expression[]) {
    this.#context = context;
    this.#rows = rows;
    for (const key of keys) {
      const text = printExpression(key);
      if (this.#keys.has(text)) continue;
      this.#keyKinds.add(key.kind);
      const slot = context.newSlot();
      this.#keys.set(text, {slot, value: bindExpression(context, rows, key)});
    }
    this.scope = {...rows, intercept: ast => this.#answer(ast)};
  }

  /** The node; asked after everything above it has been bound. */
  plan(input: PlanNode): PlanNode {
    return {
      kind: 'aggregate',
      input,
      keys: [...this.#keys.values()],
      aggregates: [...this.#aggregates.values()],
    };
  }

  #answer(ast: Ast.Expression): Expression | undefined {
    // Printing costs: only what has the form of a key is compared with the keys.
    if (this.#keyKinds.has(ast.kind)) {
      const key = this.#keys.get(printExpression(ast));
      if (key !== undefined) return slotOf(key.slot);
    }
    switch (ast.kind) {
      case 'call':
        if (isOverRows(ast)) return this.#aggregate(ast);
        return asksRecord(ast.name) ? this.#first(ast) : undefined;
      case 'name':
      case 'attribute':
        return this.#first(ast);
      case 'variable':
        // Variables of the statements around are the same for every row.
        return this.#rows.variables.has(ast.name) || ast.name === 'current'
          ? this.#first(ast)
          : undefined;
      default:
        return undefined;
    }
  }

  #aggregate(call: Ast.Call): Expression {
    const text = printExpression(call);
    const known = this.#aggregates.get(text);
    if (known !== undefined) return slotOf(known.slot);
    checkAggregate(this.#context, call);
    const {distinct, args} = this.#arguments(call);
    return this.#add(text, {
      slot: this.#context.newSlot(),
      name: call.name.toLowerCase(),
      args,
      distinct,
      place: this.#context.place(call.at),
    });
  }

  /** `count(distinct(x))` is `count(DISTINCT x)`; `count(*)` counts rows. */
  #arguments(call: Ast.Call): {readonly distinct: boolean; readonly args: readonly Expression[]} {
    const [only, ...more] = call.arguments;
    if (only?.kind === 'star' && more.length === 0) return {distinct: false, args: []};
    const inner =
      only?.kind === 'call' && only.name.toLowerCase() === 'distinct' ? only : undefined;
    const nested = inner !== undefined && more.length === 0;
    const list = nested ? inner.arguments : call.arguments;
    return {
      distinct: call.distinct || nested,
      args: list.map(part => bindExpression(this.#context, this.#rows, part)),
    };
  }

  #first(ast: Ast.NameReference | Ast.Attribute | Ast.Variable | Ast.Call): Expression {
    const value = bindExpression(this.#context, this.#rows, ast);
    if (value.kind === 'parameter' || value.kind === 'literal') return value;
    if (this.#keys.size > 0) return literal(null);
    const text = `first ${printExpression(ast)}`;
    const known = this.#aggregates.get(text);
    if (known !== undefined) return slotOf(known.slot);
    const slot = this.#context.newSlot();
    return this.#add(text, {slot, name: 'first', args: [value], distinct: false});
  }

  #add(text: string, aggregate: Aggregate): Expression {
    this.#aggregates.set(text, aggregate);
    return slotOf(aggregate.slot);
  }
}

/** `first(list(x))` is a function of a row over an aggregate. */
function isOverRows(call: Ast.Call): boolean {
  return isAggregate(call) || (isOfGroup(call) && !call.arguments.some(hasAggregate));
}

/** Whether an aggregate is called anywhere in the expression, sub-queries left out. */
export function hasAggregate(ast: Ast.Expression): boolean {
  switch (ast.kind) {
    case 'call':
      return isAggregate(ast) || ast.arguments.some(hasAggregate);
    case 'path':
      return (
        hasAggregate(ast.base) ||
        ast.steps.some(step => step.kind === 'method' && step.arguments.some(hasAggregate))
      );
    case 'list':
      return ast.items.some(hasAggregate);
    case 'map':
      return ast.entries.some(entry => hasAggregate(entry.value));
    case 'comprehension':
      return hasAggregate(ast.source) || hasAggregate(ast.item);
    case 'unary':
    case 'collate':
    case 'not':
    case 'is':
      return hasAggregate(ast.operand);
    case 'binary':
    case 'compare':
    case 'relation':
      return hasAggregate(ast.left) || hasAggregate(ast.right);
    case 'contains-where':
      return hasAggregate(ast.left);
    case 'and':
    case 'or':
      return ast.operands.some(hasAggregate);
    case 'between':
      return [ast.operand, ast.low, ast.high].some(hasAggregate);
    case 'case':
      return (
        ast.branches.some(each => hasAggregate(each.when) || hasAggregate(each.then)) ||
        [ast.subject, ast.otherwise].some(each => each !== undefined && hasAggregate(each))
      );
    default:
      return false;
  }
}
