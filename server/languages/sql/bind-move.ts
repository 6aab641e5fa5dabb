/**
 * MOVE VERTEX ... TO TYPE: a vertex of another type.
 *
 * The vertex keeps its id, and so its edges and whatever else points at it: a type is in the header
 * of a record (docs/design/0001-labels-are-types.md). What SET and MERGE give comes first, so that
 * the vertex has what the new type asks for when its rules are checked.
 */
import {labelsOf} from '#server/model/labels.ts';
import type {Assignment, PlanNode} from '#server/plan/node.ts';
import type * as Sql from './ast-statement.ts';
import {bindOperation} from './bind-assignment.ts';
import type {BindContext, BoundQuery, Scope} from './bind-context.ts';
import {makeScope, slotOf} from './bind-context.ts';
import {bindItems} from './bind-expression.ts';

/** Answers the vertices as they are then. */
export function bindMoveVertex(
  context: BindContext,
  ast: Sql.MoveVertex,
  parent: Scope | undefined,
): BoundQuery {
  if (ast.batch !== undefined) context.notAvailable(ast.batch.at, 'MOVE VERTEX ... BATCH');
  const {kind, name} = ast.to;
  if (kind === 'bucket') context.notAvailable(name.at, 'MOVE VERTEX ... TO BUCKET');
  const type = context.located(name.at, () => context.catalog.requireType(name.text));
  if (type.kind !== 'vertex') context.refuse(name.at, `'${type.name}' is no type of vertices`);
  const slot = context.newSlot();
  const ids = bindItems(context, makeScope(undefined, parent), ast.source);
  let plan: PlanNode = {kind: 'records', ids, slot, loose: false};
  const assignments = given(context, makeScope(slotOf(slot), parent), ast.body);
  if (assignments.length > 0) {
    const before = undefined;
    plan = {kind: 'change', input: plan, slot, before, assignments, applyDefaults: false};
  }
  plan = {kind: 'retype', input: plan, slot, add: labelsOf(type.name), remove: 'all'};
  return {plan, shape: {kind: 'element', slot}, variables: new Map()};
}

function given(context: BindContext, scope: Scope, body: Sql.Body): readonly Assignment[] {
  switch (body.kind) {
    case 'nothing':
      return [];
    case 'set':
    case 'merge':
      return bindOperation(context, scope, body);
    default:
      return context.refuse(body.at, 'MOVE VERTEX takes SET or MERGE');
  }
}
