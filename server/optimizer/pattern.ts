/**
 * A pattern as a set: what a tree of scans, hops, conditions and products says without its order.
 *
 * Read from a plan whose nodes are filters, hops to new vertices, edges between bound ones, and
 * products or row-wise joins of such; whatever else is found below is the pattern's base, and its
 * rows come first. Undefined where the order of the plan means something: a slot that is bound
 * twice, a condition that chance decides, two bases.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {isDeterministic, isReadOnly} from '#server/plan/properties.ts';
import {boundSlots, visitExpression} from '#server/plan/tree.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import {conjunctsOf} from './conjuncts.ts';

type Node<K extends PlanNode['kind']> = PlanNode & {readonly kind: K};

/** An edge between two vertices, whichever is bound first. */
export interface PatternHop
  extends Pick<Node<'connect'>, 'from' | 'to' | 'direction' | 'types' | 'edge' | 'loops'> {
  /** Edges that this one may not be; of each pair one of the two has the other. */
  readonly unlike: readonly Slot[];
}

/** Records of their own: a scan, or ids. */
export type PatternSource = Node<'scan-type' | 'scan-bucket' | 'records' | 'union'>;

export interface Pattern {
  readonly base: PlanNode | undefined;
  /** The source of each slot that it binds. */
  readonly sources: ReadonlyMap<Slot, PatternSource>;
  /** Vertices that hops bind. */
  readonly reached: readonly Slot[];
  /** The hops in written order. */
  readonly hops: readonly PatternHop[];
  readonly terms: readonly Expression[];
}

interface Draft {
  base: PlanNode | undefined;
  readonly sources: Map<Slot, PatternSource>;
  readonly reached: Slot[];
  readonly hops: PatternHop[];
  readonly terms: Expression[];
  readonly bound: Set<Slot>;
}

/** Whether a node is one of a pattern's, so that it is read together with those below it. */
export function isPatternNode(node: PlanNode): boolean {
  switch (node.kind) {
    case 'filter':
      return conjunctsOf(node.condition).every(isFree);
    case 'follow':
      return node.to !== undefined && node.where === undefined;
    case 'connect':
      return node.edge !== undefined;
    case 'join':
      return node.mode === 'inner' && node.on.length === 0;
    case 'apply':
      return node.mode === 'inner' && isReadOnly(node.plan);
    default:
      return false;
  }
}

/** The pattern that ends at `node`. */
export function patternOf(node: PlanNode): Pattern | undefined {
  const draft: Draft = {
    base: undefined,
    sources: new Map(),
    reached: [],
    hops: [],
    terms: [],
    bound: new Set(),
  };
  if (!read(node, draft)) return undefined;
  draft.hops.reverse();
  draft.terms.reverse();
  return draft;
}

/** Reads from the top downwards; false where it is no pattern. */
function read(node: PlanNode, draft: Draft): boolean {
  if (!isPatternNode(node)) return readLeaf(node, draft);
  switch (node.kind) {
    case 'filter':
      draft.terms.push(...conjunctsOf(node.condition).toReversed());
      return read(node.input, draft);
    case 'follow': {
      const to = node.to ?? node.from;
      draft.reached.unshift(to);
      return bind(draft, to, node.edge) && readHop(node, to, draft);
    }
    case 'connect':
      return bind(draft, node.edge) && readHop(node, node.to, draft);
    case 'join':
      return read(node.right, draft) && read(node.left, draft);
    case 'apply': {
      const bound = boundSlots(node.plan);
      if (bound.size !== node.slots.length) return false;
      return read(node.plan, draft) && read(node.input, draft);
    }
    default:
      return readLeaf(node, draft);
  }
}

function readHop(node: Node<'follow'> | Node<'connect'>, to: Slot, draft: Draft): boolean {
  const {from, direction, types, edge, loops, unlike = []} = node;
  draft.hops.push({from, to, direction, types, edge, unlike, ...(loops && {loops})});
  return read(node.input, draft);
}

function readLeaf(node: PlanNode, draft: Draft): boolean {
  const source = sourceOf(node);
  if (source !== undefined) {
    const [slot] = boundSlots(source);
    if (slot === undefined || !bind(draft, slot)) return false;
    draft.sources.set(slot, source);
    return true;
  }
  // An inner plan's argument is the row that it is joined to.
  if (node.kind === 'unit' || (node.kind === 'argument' && draft.base !== undefined)) return true;
  if (draft.base !== undefined && draft.base.kind !== 'argument') return false;
  draft.base = node;
  return bind(draft, ...boundSlots(node));
}

function sourceOf(node: PlanNode): PatternSource | undefined {
  switch (node.kind) {
    case 'scan-type':
    case 'scan-bucket':
      return node;
    case 'records':
      return node.loose || node.ids.kind === 'slot' ? undefined : node;
    case 'union':
      return node.inputs.every(({kind}) => kind === 'scan-type') ? node : undefined;
    default:
      return undefined;
  }
}

function bind({bound}: Draft, ...slots: readonly (Slot | undefined)[]): boolean {
  for (const slot of slots) {
    if (slot === undefined) continue;
    if (bound.has(slot)) return false;
    bound.add(slot);
  }
  return true;
}

/** Decides the same wherever it stands. */
function isFree(term: Expression): boolean {
  let free = true;
  visitExpression(term, part => {
    if (part.kind === 'subplan' && !(isDeterministic(part.plan) && isReadOnly(part.plan))) {
      free = false;
    }
    if (part.kind === 'routine') free = false;
    if (part.kind === 'call' && functionSignature(part.name)?.deterministic !== true) free = false;
  });
  return free;
}
