/**
 * Where a MATCH begins: the node of a connected pattern that is likely the fewest records.
 *
 * A guess from the text and the schema alone, without statistics: a record id, then equality on
 * all properties of a unique index, of any index, on any property, then any condition, then a
 * type. The written order decides between equals, and always where a condition reads `$matched`,
 * which relies on that order. A node from which a hop could not be followed is never chosen.
 */

import type {Catalog} from '#server/catalog/catalog.ts';
import type * as Ast from './ast.ts';
import type {PatternEdge, PatternNode} from './match-pattern.ts';

/**
 * @param open - Nodes not yet bound, in written order.
 * @param edges - Hops not yet bound.
 */
export function chooseRoot(
  catalog: Catalog,
  open: readonly PatternNode[],
  edges: Iterable<PatternEdge>,
  keepOrder: boolean,
): PatternNode | undefined {
  const [first] = open;
  if (first === undefined || keepOrder) return first;
  const hops = [...edges].filter(edge => !edge.to.optional);
  const nodes = reached(first, hops, true);
  let best = first;
  let bestScore = score(catalog, first);
  for (const node of open) {
    if (!nodes.has(node)) continue;
    const nodeScore = score(catalog, node);
    if (nodeScore <= bestScore || reached(node, hops, false).size < nodes.size) continue;
    best = node;
    bestScore = nodeScore;
  }
  return best;
}

/** The nodes that hops lead to from `start`; `anyWay` also against hops that go forwards only. */
function reached(
  start: PatternNode,
  hops: readonly PatternEdge[],
  anyWay: boolean,
): ReadonlySet<PatternNode> {
  const nodes = new Set([start]);
  for (let size = 0; size < nodes.size; ) {
    size = nodes.size;
    for (const {from, to, reversible} of hops) {
      if (nodes.has(from)) nodes.add(to);
      else if (nodes.has(to) && (reversible || anyWay)) nodes.add(from);
    }
  }
  return nodes;
}

function score(catalog: Catalog, node: PatternNode): number {
  if (node.rid !== undefined) return 100;
  if (node.bucket !== undefined) return 3;
  if (node.types.length === 0) return 0;
  const equal = new Set(node.where.flatMap(equalProperties));
  const [type] = node.types;
  const indexes = (type && catalog.type(type.text)?.indexes) ?? [];
  const answered = indexes.filter(
    index =>
      catalog.families.of(index).isKeyed && index.properties.every(({name}) => equal.has(name)),
  );
  if (answered.some(index => index.unique)) return 50;
  if (answered.length > 0) return 30;
  if (equal.size > 0) return 10;
  return node.where.length > 0 ? 5 : 1;
}

/** Properties that must equal something, read from conditions joined by AND. */
function equalProperties(ast: Ast.Expression): readonly string[] {
  if (ast.kind === 'and') return ast.operands.flatMap(equalProperties);
  if (ast.kind !== 'compare' || ast.operator !== '=') return [];
  return [ast.left, ast.right].flatMap(side => (side.kind === 'name' ? [side.name] : []));
}
