/**
 * `CALL {...} IN TRANSACTIONS`: a query cut in three, what stands before, inside and behind it.
 *
 * What is before and behind reads only: what it wrote would belong to no transaction of the rows.
 */
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {isReadOnly} from '#server/plan/properties.ts';
import type {BatchedStatement} from '#server/plan/statement.ts';
import type {Clause, Query, SubqueryBatches, SubqueryClause} from './ast.ts';
import {
  type BindContext,
  type Bound,
  type Scope,
  cypherAnswers,
  literal,
  nothing,
  operator,
  slotOf,
  withVariables,
} from './bind-context.ts';
import {bindExpression} from './bind-expression.ts';
import {bindSingleQuery, bindSubqueryClause} from './bind-query.ts';

type Batched = SubqueryClause & {readonly batches: SubqueryBatches};

const sizeDefault = 1_000;

/** The clause that runs in transactions of its own, in a query that is no UNION; or undefined. */
export function batchedClause(query: Query): Batched | undefined {
  if (query.parts.length > 1) return undefined;
  return query.parts[0]?.clauses.find(isBatched);
}

function isBatched(clause: Clause): clause is Batched {
  return clause.kind === 'subquery' && clause.batches !== undefined;
}

/** @param outer - The functions of the query. */
export function bindBatched(
  context: BindContext,
  outer: Scope,
  query: Query,
  clause: Batched,
): BatchedStatement {
  const [part] = query.parts;
  const clauses = part?.clauses ?? [];
  const place = clauses.indexOf(clause);
  const {batches, ...inner} = clause;
  const before = bindPart(
    context,
    {plan: {kind: 'unit'}, scope: outer},
    {
      clauses: clauses.slice(0, place),
      at: query.at,
    },
  );
  const within = bindSubqueryClause(context, argument(before), inner);
  const status = batches.status && newStatus(context, within, batches);
  const scope =
    status === undefined || batches.status === undefined
      ? within.scope
      : withVariables(within.scope, [[batches.status.text, {slot: status, kind: 'map'}]]);
  const rest = {clauses: clauses.slice(place + 1), at: clause.at};
  const after = bindPart(context, argument({plan: within.plan, scope}), rest);
  for (const {plan} of [before, after]) {
    if (isReadOnly(plan)) continue;
    context.refuse(
      batches.at,
      'InvalidClauseComposition',
      'beside IN TRANSACTIONS nothing is written: what is before and behind it only reads',
    );
  }
  const {columns} = after;
  const output = columns.map(({name, slot}) => ({name, value: slotOf(slot)}));
  const rows: PlanNode = columns.length > 0 ? after.plan : nothing(after.plan);
  const passed = [...before.scope.variables.values()].map(({slot}) => slot);
  const seconds = batches.retry && bindExpression(context, outer, batches.retry);
  return {
    kind: 'batched',
    before: before.plan,
    inner: within.plan,
    after: {kind: 'project', input: rows, output: {kind: 'columns', columns: output}},
    answers: columns.length > 0,
    slotCount: context.slotCount,
    size:
      batches.size === undefined
        ? literal(sizeDefault)
        : bindExpression(context, outer, batches.size),
    onError: batches.onError,
    retryMs: seconds && operator('times', seconds, literal(1_000)),
    passed,
    results: [...within.scope.variables.values()]
      .map(({slot}) => slot)
      .filter(slot => !passed.includes(slot)),
    status,
    needs: context.needs,
    form: cypherAnswers,
  };
}

/** No clause at all is a query too: it passes what it begins with. */
function bindPart(
  context: BindContext,
  input: Bound,
  part: Query['parts'][number],
): ReturnType<typeof bindSingleQuery> {
  return part.clauses.length === 0
    ? {...input, columns: []}
    : bindSingleQuery(context, input, part);
}

function argument({scope}: Bound): Bound {
  return {plan: {kind: 'argument'}, scope};
}

function newStatus(context: BindContext, {scope}: Bound, {status}: SubqueryBatches): Slot {
  if (status !== undefined) context.requireNew(scope, status);
  return context.newSlot();
}
