/**
 * MOVE VERTEX: a vertex of another type.
 *
 * The vertex keeps its id, and so its edges and whatever else points at it: a type is in the header
 * of a record (docs/design/0001-labels-are-types.md). What SET and MERGE give comes first, so that
 * the vertex has what the new type asks for when its rules are checked.
 */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {labelsOf} from '#server/model/labels.ts';
import type {Assignment, PlanNode} from '#server/plan/node.ts';
import type * as Sql from './ast-statement.ts';
import {bindOperation} from './bind-assignment.ts';
import type {BindContext, Scope, WriteSteps} from './bind-context.ts';
import {makeScope, slotOf} from './bind-context.ts';
import {bindItems} from './bind-expression.ts';

/** Answers the vertices as they are then. */
export function bindMoveVertex(
  context: BindContext,
  ast: Sql.MoveVertex,
  parent: Scope | undefined,
): WriteSteps {
  const type = newType(context, ast.to);
  const slot = context.newSlot();
  const ids = bindItems(context, makeScope(undefined, parent), ast.source);
  const assignments = given(context, makeScope(slotOf(slot), parent), ast.body);
  const before = undefined;
  const changed = (input: PlanNode): PlanNode =>
    assignments.length === 0
      ? input
      : {kind: 'change', input, slot, before, assignments, applyDefaults: false};
  return {
    rows: {kind: 'records', ids, slot, loose: false},
    slot,
    condition: undefined,
    write: input => ({
      kind: 'retype',
      input: changed(input),
      slot,
      add: labelsOf(type.name),
      remove: 'all',
    }),
    answer: plan => ({plan, shape: {kind: 'element', slot}, variables: new Map()}),
  };
}

/** Finds the type that a bucket belongs to: a vertex keeps its id, which names its bucket. */
function newType(context: BindContext, {kind, name}: Sql.MoveVertex['to']): CatalogType {
  const {catalog} = context;
  const type = context.located(name.at, () =>
    kind === 'type'
      ? catalog.requireType(name.text)
      : catalog.typeOfBucket(catalog.requireBucket(name.text).id),
  );
  if (type === undefined) return context.refuse(name.at, `'${name.text}' belongs to no type`);
  if (type.kind !== 'vertex') context.refuse(name.at, `'${type.name}' is no type of vertices`);
  return type;
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
