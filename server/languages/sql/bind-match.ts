/**
 * MATCH: patterns to joins of hops.
 *
 * The patterns are read into a graph (match-pattern.ts): one variable a named node, one edge a
 * hop. Binding starts at the node that says most about itself (match-root.ts), and follows edges
 * from what is bound to what is not; a hop between bound nodes is a row for each of its edges.
 * Optional nodes come last, each as a left `apply`; a NOT pattern is an anti `apply`. Which end
 * to start from is a first guess: choosing by cost is the optimizer's work.
 */

import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type * as Ast from './ast.ts';
import type {BindContext, BoundQuery, Scope, Source} from './bind-context.ts';
import {makeScope, slotOf} from './bind-context.ts';
import {HopBinder} from './bind-hop.ts';
import {bindProjected} from './bind-projection.ts';
import type {PatternEdge, PatternGraph} from './match-pattern.ts';
import {readPatterns} from './match-pattern.ts';
import {chooseRoot} from './match-root.ts';

export function bindMatch(
  context: BindContext,
  ast: Ast.Match,
  parent: Scope | undefined,
): BoundQuery {
  const graph = readPatterns(context, ast.patterns);
  const hops = new HopBinder(context, parent);
  let plan = bindGraph(context, hops, graph);
  for (const pattern of ast.patterns) {
    if (pattern.negated) plan = bindNegated(context, hops, plan, pattern);
  }
  const names = new Map<string, Expression>(hops.names);
  const source: Source = {
    plan,
    scope: makeScope(undefined, parent, {names, closed: true, variables: hops.variables}),
    shape: {kind: 'columns', columns: []},
  };
  return bindReturn(context, hops, graph, source, ast);
}

/** Binds every node and edge; the plan answers one row a match. */
function bindGraph(context: BindContext, hops: HopBinder, graph: PatternGraph): PlanNode {
  let plan: PlanNode | undefined;
  const pending = new Set(graph.edges);
  const keepOrder = context.text.includes('$matched');
  for (;;) {
    const open = graph.nodes.filter(node => !hops.isBound(node) && !node.optional);
    const root = chooseRoot(context.catalog, open, pending, keepOrder);
    if (root === undefined) break;
    plan = hops.bindSource(plan, root);
    const next = (): PatternEdge | undefined =>
      (keepOrder ? undefined : closingEdge(hops, pending)) ?? nextEdge(hops, pending, false);
    for (let edge = next(); edge !== undefined; ) {
      pending.delete(edge);
      const end = hops.farEnd(edge, pending);
      if (end === undefined) plan = hops.bindEdge(plan, edge);
      else {
        pending.delete(end);
        plan = hops.bindBoth(plan, edge, end);
      }
      edge = next();
    }
  }
  let rows: PlanNode = plan ?? {kind: 'unit'};
  for (let edge = nextEdge(hops, pending, true); edge !== undefined; ) {
    pending.delete(edge);
    rows = hops.bindOptional(rows, edge);
    edge = nextEdge(hops, pending, true);
  }
  const [left] = pending;
  if (left !== undefined)
    context.refuse(left.at, 'a node behind an optional one cannot be matched');
  return rows;
}

/** An edge whose ends are bound both: it rarely adds rows, so it comes before one that does. */
function closingEdge(hops: HopBinder, pending: ReadonlySet<PatternEdge>): PatternEdge | undefined {
  for (const edge of pending) {
    if (edge.reversible && hops.isBound(edge.from) && hops.isBound(edge.to)) return edge;
  }
  return undefined;
}

/** An edge that one can follow from what is bound; edges to optional nodes only when asked. */
function nextEdge(
  hops: HopBinder,
  pending: ReadonlySet<PatternEdge>,
  optional: boolean,
): PatternEdge | undefined {
  for (const edge of pending) {
    if (edge.to.optional !== optional || edge.from.optional) continue;
    if (hops.isBound(edge.from) || (hops.isBound(edge.to) && edge.reversible)) return edge;
  }
  return undefined;
}

/** Keeps the rows for which the pattern has no match. */
function bindNegated(
  context: BindContext,
  hops: HopBinder,
  input: PlanNode,
  pattern: Ast.MatchPattern,
): PlanNode {
  const graph = readPatterns(context, [{...pattern, negated: false}]);
  const inner = hops.fork();
  for (const node of graph.nodes) inner.adopt(hops, node);
  let plan: PlanNode = {kind: 'argument'};
  const [first] = graph.nodes;
  if (first !== undefined) {
    plan = inner.isBound(first) ? inner.filterNode(plan, first) : inner.bindSource(plan, first);
  }
  for (const edge of graph.edges) plan = inner.bindEdge(plan, edge);
  return {kind: 'apply', mode: 'anti', input, plan, slots: []};
}

/** `$matches` and its like, or a projection. */
function bindReturn(
  context: BindContext,
  hops: HopBinder,
  graph: PatternGraph,
  source: Source,
  ast: Ast.Match,
): BoundQuery {
  const [item, ...more] = ast.items;
  const special =
    item?.kind === 'item' && more.length === 0 && item.expression.kind === 'variable'
      ? item.expression.name
      : undefined;
  const all = special === 'paths' || special === 'pathElements';
  const nodes = graph.nodes.filter(node => all || node.named);
  const columns = nodes.map(node => ({name: node.name, value: hops.valueOf(node)}));
  const whole = {...ast, items: []};
  if (special === 'matches' || special === 'paths') {
    return bindProjected(context, {...source, shape: {kind: 'columns', columns}}, whole);
  }
  if (special !== 'elements' && special !== 'pathElements') {
    return bindProjected(context, source, ast);
  }
  const element = context.newSlot();
  const slot = context.newSlot();
  const list: Expression = {kind: 'list', items: columns.map(column => column.value)};
  const unnest: PlanNode = {
    kind: 'unnest',
    input: source.plan,
    list,
    slot: element,
    keepEmpty: false,
  };
  const value: Expression = {kind: 'attribute', of: slotOf(element), attribute: 'this'};
  const plan: PlanNode = {kind: 'extend', input: unnest, bind: [{slot, value}]};
  const scope = makeScope(slotOf(slot), source.scope.parent);
  return bindProjected(context, {plan, scope, shape: {kind: 'element', slot}}, whole);
}
