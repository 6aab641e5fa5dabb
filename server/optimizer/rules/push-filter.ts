/**
 * Moves the terms of a filter towards the sources: through nodes that neither make nor drop
 * rows by what the term reads, and at last into a scan, where they run on packed bytes.
 *
 * A term with a sub-plan, a non-deterministic call or a possible side effect stays where it is.
 * Order of the remaining terms is kept, so that a cheap guard still stands before a dear one.
 */
import {functionSignature} from '#server/plan/function-table.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {boundSlots, slotsOf, visitExpression} from '#server/plan/tree.ts';
import {conjunction, conjunctsOf, filtered} from '../conjuncts.ts';
import type {Rule} from '../rule.ts';

export const pushFilter: Rule = {
  name: 'push-filter',
  apply: node => {
    if (node.kind !== 'filter') return node;
    return sink(node.input, conjunctsOf(node.condition));
  },
};

/** `input` with the terms applied as deep as they may go. */
function sink(input: PlanNode, terms: readonly Expression[]): PlanNode {
  switch (input.kind) {
    case 'filter':
      return sink(input.input, [...conjunctsOf(input.condition), ...terms]);
    case 'scan-type':
    case 'scan-bucket':
      return intoScan(input, terms);
    case 'extend': {
      const made = new Set(input.bind.map(b => b.slot));
      return below(input, terms, made, inner => ({...input, input: inner}));
    }
    case 'follow':
      return intoFollow(input, terms);
    case 'connect':
      return below(input, terms, slotSet(input.edge), inner => ({...input, input: inner}));
    case 'unnest':
      return below(input, terms, slotSet(input.slot), inner => ({...input, input: inner}));
    case 'sort':
      return below(input, terms, new Set(), inner => ({...input, input: inner}));
    case 'join':
      return input.mode === 'inner' ? intoJoin(input, terms) : filtered(input, terms);
    default:
      return filtered(input, terms);
  }
}

function slotSet(...slots: readonly (Slot | undefined)[]): Set<Slot> {
  return new Set(slots.filter(slot => slot !== undefined));
}

/** Sinks the movable terms that read nothing the node makes; the others stay above it. */
function below(
  node: PlanNode & {readonly input: PlanNode},
  terms: readonly Expression[],
  made: ReadonlySet<Slot>,
  rebuild: (input: PlanNode) => PlanNode,
): PlanNode {
  const down: Expression[] = [];
  const stay: Expression[] = [];
  for (const term of terms) {
    const free = isMovable(term) && ![...slotsOf(term)].some(slot => made.has(slot));
    (free ? down : stay).push(term);
  }
  if (down.length === 0) return filtered(node, stay);
  return filtered(rebuild(sink(node.input, down)), stay);
}

function intoScan(
  scan: Extract<PlanNode, {kind: 'scan-type' | 'scan-bucket'}>,
  terms: readonly Expression[],
): PlanNode {
  // A slot that is not the scan's own is of the row around it, and there for all of the scan.
  const where = conjunction([...conjunctsOf(scan.where), ...terms.filter(isMovable)]);
  const rest = terms.filter(term => !isMovable(term));
  return filtered(where === undefined ? scan : {...scan, where}, rest);
}

/** What reads the hop alone becomes its condition, what does not read it goes below. */
function intoFollow(
  follow: Extract<PlanNode, {kind: 'follow'}>,
  terms: readonly Expression[],
): PlanNode {
  const made = slotSet(follow.to, follow.edge);
  const own = (term: Expression): boolean => {
    const read = [...slotsOf(term)];
    return isMovable(term) && read.length > 0 && read.every(slot => made.has(slot));
  };
  const where = conjunction([...conjunctsOf(follow.where), ...terms.filter(own)]);
  const hop = where === undefined ? follow : {...follow, where};
  const rest = terms.filter(term => !own(term));
  return below(hop, rest, made, inner => ({...hop, input: inner}));
}

function intoJoin(join: Extract<PlanNode, {kind: 'join'}>, terms: readonly Expression[]): PlanNode {
  const leftSlots = boundSlots(join.left);
  const rightSlots = boundSlots(join.right);
  const within = (term: Expression, slots: ReadonlySet<Slot>): boolean => {
    const read = [...slotsOf(term)];
    return isMovable(term) && read.length > 0 && read.every(slot => slots.has(slot));
  };
  const left = terms.filter(term => within(term, leftSlots));
  const right = terms.filter(term => !left.includes(term) && within(term, rightSlots));
  const rest = terms.filter(term => !left.includes(term) && !right.includes(term));
  if (left.length === 0 && right.length === 0) return filtered(join, rest);
  return filtered({...join, left: sink(join.left, left), right: sink(join.right, right)}, rest);
}

/** May be evaluated earlier, and for more or fewer rows, without anybody noticing. */
function isMovable(term: Expression): boolean {
  let movable = true;
  visitExpression(term, part => {
    if (part.kind === 'subplan' || part.kind === 'routine') movable = false;
    if (part.kind !== 'call') return;
    const signature = functionSignature(part.name);
    if (signature === undefined || !signature.deterministic) movable = false;
  });
  return movable;
}
