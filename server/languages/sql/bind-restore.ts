/**
 * RESTORE: a deleted record again, with the id that it had.
 *
 * What the record held is given anew, and what pointed at it points at it again. The edges of a
 * vertex went with it: each of them is restored by itself.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {Column, PlanNode} from '#server/plan/node.ts';
import type * as Ast from './ast.ts';
import type * as Sql from './ast-statement.ts';
import {type BindContext, type BoundQuery, literal, makeScope, slotOf} from './bind-context.ts';
import {bindExpression, bindItems} from './bind-expression.ts';
import {bindBody} from './bind-write.ts';

type Restore = Extract<Sql.AdminStatement, {readonly kind: 'restore-record'}>;

/** A row that says what was restored. */
export function bindRestore(context: BindContext, ast: Restore): BoundQuery {
  const {recordClass} = ast;
  const type = context.located(ast.type.at, () => context.catalog.requireType(ast.type.text));
  if (type.edge.lightweight) {
    return context.refuse(ast.type.at, `'${type.name}' is a light edge type: it has no records`);
  }
  const scope = makeScope(undefined, undefined);
  const {plan: input, assignments} = bindBody(context, ast.body, undefined);
  const slot = context.newSlot();
  const end = (vertex: Ast.Expression | undefined): Expression | undefined =>
    vertex && bindItems(context, scope, vertex);
  if ((recordClass === 'edge') !== (ast.from !== undefined)) {
    context.syntax(ast.at, 'RESTORE EDGE has FROM and TO, and no other record has them');
  }
  const plan: PlanNode = {
    kind: 'create',
    input,
    what: recordClass,
    type: type.name,
    bucket: undefined,
    from: end(ast.from),
    to: end(ast.to),
    ifNotExists: false,
    unidirectional: false,
    assignments,
    rid: bindExpression(context, scope, ast.rid),
    slot,
    place: context.place(ast.at),
  };
  const columns: readonly Column[] = [
    {name: 'operation', value: literal(`restore ${recordClass}`)},
    {name: 'record', value: attribute(slot, 'rid')},
    ...(recordClass === 'vertex' ? reconnected : []),
    ...(recordClass === 'edge'
      ? [
          {name: 'out', value: attribute(slot, 'out')},
          {name: 'in', value: attribute(slot, 'in')},
        ]
      : []),
  ];
  return {plan, shape: {kind: 'columns', columns}, variables: new Map()};
}

function attribute(slot: Slot, name: 'rid' | 'out' | 'in'): Expression {
  return {kind: 'attribute', of: slotOf(slot), attribute: name};
}

/** The edges went with the vertex, and none comes back with it. */
const reconnected: readonly Column[] = [
  {name: 'reconnectedOutEdges', value: literal(0)},
  {name: 'reconnectedInEdges', value: literal(0)},
  {name: 'reconnectedLightweightOutEdges', value: literal(0)},
  {name: 'reconnectedLightweightInEdges', value: literal(0)},
  {name: 'unrecoverableLightweightEdgeTypes', value: literal([])},
];
