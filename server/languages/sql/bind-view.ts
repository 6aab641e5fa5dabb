/**
 * Materialized views: syntax tree to commands (plan/statement.ts).
 *
 * The query is bound here to know what it reads, and kept as text: it is bound again whenever it
 * runs. It has no parameters, because nobody gives them then.
 */
import type {ViewRefresh} from '#server/catalog/definition.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {effectsOf} from '#server/plan/properties.ts';
import type {SchemaCommand} from '#server/plan/statement.ts';
import {expressionsOf, inputsOf, partsOf} from '#server/plan/tree.ts';
import type * as Sql from './ast-statement.ts';
import type {BindContext} from './bind-context.ts';
import {countOf} from './bind-constant.ts';
import {printQuery} from './printer.ts';

const unitMs = {second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000} as const;
/** What a timer of the machine can wait for. */
const everyMsMax = 2_147_483_647;

export function bindCreateView(context: BindContext, ast: Sql.CreateView): SchemaCommand {
  const bound = context.bindQuery(ast.query, undefined, ast.query.at);
  const plan: PlanNode = {kind: 'project', input: bound.plan, output: bound.shape};
  if (hasExpression(plan, ({kind}) => kind === 'parameter')) {
    context.refuse(ast.query.at, 'The query of a view has no parameters');
  }
  const {reads, readsAny} = effectsOf(plan);
  return {
    kind: 'create-view',
    ifNotExists: ast.ifNotExists,
    view: {
      name: ast.name.text,
      query: printQuery(ast.query),
      sources: [...reads],
      readsOthers: readsAny || hasExpression(plan, isThroughLink),
      isSimple: reads.size === 1 && isByRecord(plan),
      refresh: ast.refresh === undefined ? {kind: 'manual'} : bindRefresh(context, ast.refresh),
      bucketCount: countOf(context, ast.buckets),
    },
  };
}

export function bindRefresh(context: BindContext, refresh: Sql.Refresh): ViewRefresh {
  if (refresh.kind !== 'every') return refresh;
  const {at, amount, unit} = refresh.span;
  const everyMs = (countOf(context, amount) ?? 0) * unitMs[unit];
  if (everyMs >= 1_000 && everyMs <= everyMsMax) return {kind: 'periodic', everyMs};
  return context.refuse(at, 'A view is refreshed every second at most and every 24 days at least');
}

/** A row for each record of a type that meets a condition, whatever other records there are. */
function isByRecord(plan: PlanNode): boolean {
  if (hasExpression(plan, ({kind}) => kind === 'subplan')) return false;
  let source = plan;
  while (source.kind === 'filter' || source.kind === 'extend' || source.kind === 'project') {
    source = source.input;
  }
  return source.kind === 'scan-type';
}

/** Whether it may read a property of a record that a link stands for. */
function isThroughLink(expression: Expression): boolean {
  return expression.kind === 'property' && expression.of.kind !== 'slot';
}

function hasExpression(plan: PlanNode, test: (expression: Expression) => boolean): boolean {
  const holds = (expression: Expression): boolean =>
    test(expression) ||
    (expression.kind === 'subplan' && hasExpression(expression.plan, test)) ||
    partsOf(expression).some(holds);
  return expressionsOf(plan).some(holds) || inputsOf(plan).some(one => hasExpression(one, test));
}
