/**
 * The patterns of a MATCH as one graph: nodes by alias, edges by hop.
 *
 * A node named in several places is one node that must fit all of them; a node without an alias
 * is a node of its own. The bounds of a repeated hop (`while`, `maxDepth`) belong to the edge,
 * though they are written in the node it leads to.
 */

import type * as Ast from './ast.ts';
import type {BindContext} from './bind-context.ts';

export interface PatternNode {
  readonly name: string;
  /** Has an alias in the text. */
  readonly named: boolean;
  readonly at: number;
  readonly types: readonly Ast.Name[];
  readonly bucket: Ast.BucketReference | undefined;
  readonly rid: Ast.Expression | undefined;
  readonly where: readonly Ast.Expression[];
  readonly optional: boolean;
}

/** How often a hop may be repeated, and what is remembered of it. */
export interface Repetition {
  readonly while: Ast.Expression | undefined;
  readonly maxDepth: Ast.Expression | undefined;
  readonly depthAlias: Ast.Name | undefined;
  readonly pathAlias: Ast.Name | undefined;
}

export interface PatternEdge {
  readonly at: number;
  readonly from: PatternNode;
  readonly to: PatternNode;
  readonly step: Ast.MatchStep;
  /** Undefined: exactly once. */
  readonly repetition: Repetition | undefined;
  /** May be followed from `to` to `from`. */
  readonly reversible: boolean;
}

export interface PatternGraph {
  readonly nodes: readonly PatternNode[];
  readonly edges: readonly PatternEdge[];
}

/** Each is a level of the plan. */
const nodesMax = 200;

type Draft = {-readonly [K in keyof PatternNode]: PatternNode[K]};

/** Negated patterns are left out. */
export function readPatterns(
  context: BindContext,
  patterns: readonly Ast.MatchPattern[],
): PatternGraph {
  const byName = new Map<string, Draft>();
  const nodes: Draft[] = [];
  const edges: PatternEdge[] = [];
  const nodeOf = (ast: Ast.MatchNode): Draft => {
    const name = ast.as?.text ?? `$anonymous${nodes.length}`;
    const known = byName.get(name);
    const node = known ?? draftOf(ast, name);
    if (nodes.length >= nodesMax) context.refuse(ast.at, `a MATCH has at most ${nodesMax} nodes`);
    if (known === undefined) {
      byName.set(name, node);
      nodes.push(node);
    } else merge(context, node, ast);
    return node;
  };
  for (const pattern of patterns) {
    if (pattern.negated) continue;
    let from = nodeOf(pattern.first);
    for (const step of pattern.steps) {
      const to = nodeOf(step.node);
      edges.push(edgeOf(step, from, to));
      from = to;
    }
  }
  return {nodes, edges};
}

function draftOf(ast: Ast.MatchNode, name: string): Draft {
  return {
    name,
    named: ast.as !== undefined,
    at: ast.at,
    types: ast.types,
    bucket: ast.bucket,
    rid: ast.rid,
    where: ast.where === undefined ? [] : [ast.where],
    optional: ast.optional,
  };
}

function merge(context: BindContext, node: Draft, ast: Ast.MatchNode): void {
  if (ast.types.length > 0) {
    if (node.types.length > 0 && node.types[0]?.text !== ast.types[0]?.text) {
      context.refuse(ast.at, `the node '${node.name}' is given two types`);
    }
    node.types = ast.types;
  }
  node.bucket ??= ast.bucket;
  node.rid ??= ast.rid;
  if (ast.where !== undefined) node.where = [...node.where, ast.where];
  if (ast.optional) node.optional = true;
}

const hopsBetweenVertices: ReadonlySet<string> = new Set(['out', 'in', 'both']);

function edgeOf(step: Ast.MatchStep, from: PatternNode, to: PatternNode): PatternEdge {
  const {while: condition, maxDepth, depthAlias, pathAlias} = step.node;
  const repeated = condition !== undefined || maxDepth !== undefined;
  return {
    at: step.at,
    from,
    to,
    step,
    repetition: repeated ? {while: condition, maxDepth, depthAlias, pathAlias} : undefined,
    reversible: !repeated && step.kind === 'hop' && hopsBetweenVertices.has(step.method),
  };
}
