/** What is asked of a pattern's text before it is bound: its names, its nodes, its bounds. */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PathMode, PlanNode} from '#server/plan/node.ts';
import {visitExpression} from '#server/plan/tree.ts';
import type {Name, NodePattern, Pattern, PatternHop} from './ast.ts';
import {type BindContext, nothing, operator, slotOf} from './bind-context.ts';
import {plainLabels, scannedLabel} from './bind-label.ts';
import type {Kind} from './value-kind.ts';

export type Repeated = Extract<PatternHop, {kind: 'repeated'}>;

export type Chain = Pick<Pattern, 'start' | 'hops'>;

interface NameUse {
  readonly name: Name;
  readonly kind: Kind;
}

/** The names of a chain's nodes and relationships, as they are written. */
export function namesOf({start, hops}: Chain): readonly NameUse[] {
  const names: NameUse[] = [];
  const add = (name: Name | undefined, kind: Kind): void => {
    if (name !== undefined) names.push({name, kind});
  };
  add(start.name, 'node');
  for (const hop of hops) {
    if (hop.kind === 'hop') {
      const {name, length} = hop.relationship;
      add(name, length === undefined ? 'relationship' : 'relationships');
    }
    add(hop.node.name, 'node');
  }
  return names;
}

/** The names inside repeated parts: each new, and at home in one part. */
export function innerNamesOf({hops}: Chain): readonly Name[] {
  return hops.flatMap(hop =>
    hop.kind === 'repeated'
      ? [...new Map(namesOf(hop).map(({name}) => [name.text, name])).values()]
      : [],
  );
}

/** A repeated part has relationships, each of one step, and every round ends elsewhere. */
export function requireRound(context: BindContext, {hops, at, min, max}: Repeated): void {
  const isPlain = hops.every(hop => hop.kind === 'hop' && hop.relationship.length === undefined);
  if (hops.length === 0 || !isPlain) {
    context.refuse(at, 'UnexpectedSyntax', 'a repeated part is made of single relationships');
  }
  if (max !== undefined && max < min) {
    context.refuse(at, 'UnexpectedSyntax', `at most ${max} rounds cannot be at least ${min}`);
  }
}

/** Whether the part's first node is its last. */
export function isLoop({start, hops}: Repeated): boolean {
  return start.name !== undefined && start.name.text === hops.at(-1)?.node.name?.text;
}

/** Where anything may be met again, a path without a greatest length would never end. */
export function requireBounds(
  context: BindContext,
  mode: PathMode,
  {max, at}: {readonly min?: number | undefined; readonly max?: number | undefined; at: number},
): void {
  if (mode !== 'walk' || max !== undefined) return;
  context.refuse(
    at,
    'UnexpectedSyntax',
    'where relationships may repeat, a path needs a greatest length, as in {1,5}',
  );
}

/** One hop of some length from nothing or one step on: what a search for the shortest answers. */
export function isOneLength({hops, where}: Pattern): boolean {
  const [hop, ...more] = hops;
  if (hop?.kind !== 'hop' || more.length > 0 || where !== undefined) return false;
  const {length} = hop.relationship;
  return length !== undefined && (length.min ?? 1) <= 1;
}

/** No node stands twice on the path. */
export function isAcyclic(path: Slot): Expression {
  const call = (name: string, of: Expression): Expression => ({kind: 'call', name, args: [of]});
  const nodes = call('std.nodes', slotOf(path));
  return operator('same', call('std.size', nodes), call('std.size', call('coll.distinct', nodes)));
}

export function nodesOf(pattern: Chain): readonly NodePattern[] {
  return [pattern.start, ...pattern.hops.map(hop => hop.node)];
}

/** All records of the types; none without types. */
function scanOf(types: readonly string[], slot: Slot, polymorphic = true): PlanNode {
  const scans = types.map(
    (type): PlanNode => ({kind: 'scan-type', type, polymorphic, slot, descending: false}),
  );
  const [only, ...more] = scans;
  if (only === undefined) return {kind: 'values', slots: [slot], rows: []};
  return more.length === 0 ? only : {kind: 'union', inputs: scans};
}

/** The records that a node may be, before anything else is asked of it. */
export function sourceOf(context: BindContext, node: NodePattern, slot: Slot): PlanNode {
  const scanned = scannedLabel(context, node);
  if (scanned !== undefined) return scanOf([scanned], slot);
  // Labels that nobody has: no record.
  if (plainLabels(node.labels)?.[0] !== undefined) return nothing(scanOf([], slot));
  // Each type's own records: one of several labels would be met under each of them.
  const vertices = [...context.catalog.types].filter(type => type.kind === 'vertex');
  return scanOf(
    vertices.map(type => type.name),
    slot,
    false,
  );
}

/** Where to begin: at a node that is known; else one with properties, with labels, the first. */
export function bestStart(
  nodes: readonly NodePattern[],
  isKnown: (node: NodePattern) => boolean,
): number {
  const ranks = nodes.map((node): number => {
    if (isKnown(node)) return 3;
    if (node.labels === undefined) return 0;
    return node.properties === undefined && node.where === undefined ? 1 : 2;
  });
  return ranks.indexOf(Math.max(...ranks));
}

export function hasSubplan(terms: readonly Expression[]): boolean {
  let found = false;
  for (const term of terms) {
    visitExpression(term, part => {
      if (part.kind === 'subplan') found = true;
    });
  }
  return found;
}
