/**
 * FIND REFERENCES: the records that hold one of some ids, and where they do.
 *
 * Every record of the types is read: nothing is kept of who points at whom but the edges of
 * vertices, and those are references only where an edge is a record of its own.
 */
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {AdminStatement} from './ast-statement.ts';
import type {BindContext, BoundQuery} from './bind-context.ts';
import {literal, makeScope, operator, slotOf} from './bind-context.ts';
import {bindItems} from './bind-expression.ts';

/** Rows `{rid, referredBy, fields}`. */
export function bindFindReferences(
  context: BindContext,
  ast: Extract<AdminStatement, {kind: 'find-references'}>,
): BoundQuery {
  const {catalog} = context;
  const named = ast.types.map(({text, at}) => context.located(at, () => catalog.requireType(text)));
  const asked = named.length > 0 ? named : [...catalog.types];
  // Each type of the families by itself: two that are asked may have a subtype in common.
  const types = new Set(asked.flatMap(type => type.family));
  const [record, found] = [context.newSlot(), context.newSlot()];
  const scans = [...types].map(
    ({name}): PlanNode => ({
      kind: 'scan-type',
      type: name,
      polymorphic: false,
      slot: record,
      descending: false,
    }),
  );
  const plan: PlanNode = {
    kind: 'unnest',
    input: {kind: 'union', inputs: scans},
    list: operator('references', slotOf(record)),
    slot: found,
    keepEmpty: false,
  };
  const target: Expression = operator('item', slotOf(found), literal('rid'));
  const condition = operator(
    'in',
    target,
    bindItems(context, makeScope(undefined, undefined), ast.what),
  );
  return {
    plan: {kind: 'filter', input: plan, condition},
    shape: {kind: 'element', slot: found},
    variables: new Map(),
  };
}
