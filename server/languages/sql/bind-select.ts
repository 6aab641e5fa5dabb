/**
 * SELECT and TRAVERSE.
 *
 * A SELECT is: target, LET, WHERE, then what bind-projection.ts does. LET comes before WHERE, so
 * conditions may read its variables; one that depends on no row is evaluated once a query.
 */

import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type * as Ast from './ast.ts';
import type {BindContext, BoundQuery, Scope, Source} from './bind-context.ts';
import {makeScope, operator, slotOf} from './bind-context.ts';
import {bindExpression, elementOf} from './bind-expression.ts';
import {bindBounds, bindProjected} from './bind-projection.ts';
import {bindTarget} from './bind-target.ts';

export function bindSelect(
  context: BindContext,
  ast: Ast.Select,
  parent: Scope | undefined,
): BoundQuery {
  const source = bindFiltered(context, bindTarget(context, ast.from, parent), ast);
  return bindProjected(context, source, ast);
}

/** LET and WHERE over a source. */
export function bindFiltered(
  context: BindContext,
  source: Source,
  ast: {readonly lets: readonly Ast.LetItem[]; readonly where: Ast.Expression | undefined},
): Source {
  let {plan, scope} = source;
  if (ast.lets.length > 0) {
    // The map is this statement's own and grows as its variables are bound, each seeing those
    // before it; one node binds them all.
    const variables = new Map(scope.variables);
    scope = {...scope, variables};
    const bind: {slot: number; value: Expression}[] = [];
    for (const item of ast.lets) {
      const value = bindExpression(context, scope, item.value);
      const slot = context.newSlot();
      bind.push({slot, value});
      variables.set(item.name, slotOf(slot));
    }
    plan = {kind: 'extend', input: plan, bind};
  }
  if (ast.where !== undefined) {
    const conditions = source.conditions ?? scope;
    const condition = bindExpression(
      context,
      {...conditions, variables: scope.variables},
      ast.where,
    );
    plan =
      source.where !== undefined && plan === source.plan
        ? source.where(condition)
        : {kind: 'filter', input: plan, condition};
  }
  return {...source, plan, scope};
}

/**
 * Visits records from the target's on, following `items` of each; every record once.
 *
 * `$depth` and `$path` can be read in WHILE and by a statement around.
 */
export function bindTraverse(
  context: BindContext,
  ast: Ast.Traverse,
  parent: Scope | undefined,
): BoundQuery {
  const start = bindTarget(context, ast.from, parent);
  const input = elementOf(context, {...start, variables: start.scope.variables});
  const [depth, path, next] = [context.newSlot(), context.newSlot(), context.newSlot()];
  const loop = input.slot;
  const variables = new Map<string, Expression>([
    ['depth', slotOf(depth)],
    ['path', slotOf(path)],
    ['stack', slotOf(path)],
    ['history', slotOf(path)],
  ]);
  const scope = makeScope(slotOf(loop), parent, {variables});
  const reached =
    ast.items.length === 0
      ? everyLink(slotOf(loop))
      : ast.items.map(item => bindExpression(context, scope, item));
  const [only] = reached;
  const list: Expression =
    reached.length === 1 && only !== undefined ? only : {kind: 'list', items: reached};
  const body: PlanNode = {kind: 'records', ids: list, slot: next, loose: false};
  const repeat: PlanNode = {
    kind: 'repeat',
    input: input.plan,
    body,
    loop,
    next,
    depth,
    path,
    order: ast.strategy,
    depthMin: 0,
    depthMax: depthMaxOf(context, ast.maxDepth),
    whileCondition: ast.while && bindExpression(context, scope, ast.while),
    emitOnFail: false,
    unique: 'global',
  };
  const bounds = bindBounds(context, parent, {skip: undefined, limit: ast.limit});
  const plan = bounds.reduce<PlanNode>((rows, step) => step(rows), repeat);
  return {plan, shape: {kind: 'element', slot: loop}, variables};
}

/** What `*` follows: the edges of a vertex, and whatever ids a record holds, its ends included. */
function everyLink(record: Expression): readonly Expression[] {
  const held = operator('references', record);
  return [
    {kind: 'call', name: '.bothE', args: [record]},
    {kind: 'property', of: held, name: 'rid', each: true},
  ];
}

/** A literal bound on depth; a negative one is none. */
export function depthMaxOf(
  context: BindContext,
  ast: Ast.Expression | undefined,
): number | undefined {
  if (ast === undefined) return undefined;
  if (ast.kind !== 'integer') {
    return context.notAvailable(ast.at, 'A greatest depth that is not a number');
  }
  return ast.value < 0 ? undefined : Number(ast.value);
}
