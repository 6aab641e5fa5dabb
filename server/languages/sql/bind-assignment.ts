/** What statements put into records: SET and its kin as assignments of the algebra. */
import {unreachable} from '#server/base/assert.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {Assignment} from '#server/plan/node.ts';
import type * as Ast from './ast.ts';
import type * as Sql from './ast-statement.ts';
import {type BindContext, literal, operator, type Scope} from './bind-context.ts';
import {bindExpression, bindItems} from './bind-expression.ts';

const operatorNames: Readonly<Record<Exclude<Sql.AssignmentOperator, '='>, string>> = {
  '+=': 'add',
  '-=': 'subtract',
  '*=': 'multiply',
  '/=': 'divide',
};

export function bindAssignments(
  context: BindContext,
  scope: Scope,
  items: readonly Sql.Assignment[],
): readonly Assignment[] {
  return items.map(item => {
    const value = bindItems(context, scope, item.value);
    if (item.operator === '=') return assign(context, scope, item.target, value);
    const old = bindExpression(context, scope, item.target);
    const changed = operator(operatorNames[item.operator], old, value);
    // What is not there yet starts with what is added; adding nothing changes nothing.
    const next = item.operator === '+=' ? operator('coalesce', changed, value, old) : changed;
    return assign(context, scope, item.target, next);
  });
}

/** One clause of UPDATE. */
export function bindOperation(
  context: BindContext,
  scope: Scope,
  operation: Sql.UpdateOperation,
): readonly Assignment[] {
  const bind = (ast: Ast.Expression): Expression => bindExpression(context, scope, ast);
  switch (operation.kind) {
    case 'set':
      return bindAssignments(context, scope, operation.items);
    case 'merge':
      return [{kind: 'content', value: bind(operation.value), replace: false}];
    case 'content':
      return [{kind: 'content', value: bind(operation.value), replace: true}];
    case 'increment':
      return operation.items.map(item => {
        const old = operator('coalesce', bind(item.target), literal(0));
        return assign(context, scope, item.target, operator('add', old, bind(item.value)));
      });
    case 'add':
      return operation.items.map(item => {
        // ADD makes the list where there is none.
        const old = operator('coalesce', bind(item.target), {kind: 'list', items: []});
        const added = operator('add', old, {kind: 'list', items: [bind(item.value)]});
        return assign(context, scope, item.target, added);
      });
    case 'put':
      return operation.items.map(item => ({
        kind: 'set-inside',
        path: [...pathOf(context, scope, item.target), bind(item.key)],
        value: bind(item.value),
      }));
    case 'remove':
      return operation.items.map(item => bindRemoval(context, scope, item));
    default:
      return unreachable(operation);
  }
}

function bindRemoval(
  context: BindContext,
  scope: Scope,
  item: {readonly target: Sql.Assignable; readonly value: Ast.Expression | undefined},
): Assignment {
  const path = pathOf(context, scope, item.target);
  const [only, ...more] = path;
  if (item.value === undefined && typeof only === 'string' && more.length === 0) {
    return {kind: 'remove', name: only};
  }
  const value = item.value && bindExpression(context, scope, item.value);
  return {kind: 'remove-inside', path, value};
}

function assign(
  context: BindContext,
  scope: Scope,
  target: Sql.Assignable,
  value: Expression,
): Assignment {
  const path = pathOf(context, scope, target);
  const [only, ...more] = path;
  if (typeof only === 'string' && more.length === 0) return {kind: 'set', name: only, value};
  return {kind: 'set-inside', path, value};
}

/** `a.b[0]` as the steps from the record to the place: names, and values of selectors. */
function pathOf(
  context: BindContext,
  scope: Scope,
  target: Sql.Assignable,
): readonly (string | Expression)[] {
  if (target.kind === 'name') return [target.name];
  if (target.base.kind !== 'name') {
    return context.refuse(target.at, 'Only a property, or a place inside one, takes a value');
  }
  const steps = target.steps.map(step => {
    if (step.kind === 'field') return step.name;
    const [selector, ...others] = step.kind === 'select' ? step.selectors : [];
    if (selector?.kind !== 'item' || others.length > 0) {
      return context.refuse(step.at, 'Only .name and [key] lead to a place that takes a value');
    }
    return bindExpression(context, scope, selector.value);
  });
  return [target.base.name, ...steps];
}
