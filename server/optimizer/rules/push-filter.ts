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
import {boundSlots, mapParts, partsOf, slotsOf, visitExpression} from '#server/plan/tree.ts';
import {conjunction, conjunctsOf, filtered} from '../conjuncts.ts';
import type {Rule} from '../rule.ts';

export const pushFilter: Rule = {
  name: 'push-filter',
  about: ['filter'],
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
    case 'walk':
    case 'chain':
    case 'shortest':
      return below(input, terms, madeBy(input), inner => ({...input, input: inner}));
    case 'apply':
      if (input.mode === 'for-each') return filtered(input, terms);
      return below(input, terms, madeBy(input), inner => ({...input, input: inner}));
    case 'distinct':
      return intoDistinct(input, terms);
    case 'aggregate':
      return intoAggregate(input, terms);
    case 'union':
      return intoUnion(input, terms);
    case 'join':
      return intoJoin(input, terms);
    default:
      return filtered(input, terms);
  }
}

function slotSet(...slots: readonly (Slot | undefined)[]): Set<Slot> {
  return new Set(slots.filter(slot => slot !== undefined));
}

/** What the node binds beside its input. */
function madeBy(
  node: Extract<PlanNode, {kind: 'walk' | 'chain' | 'shortest' | 'apply'}>,
): Set<Slot> {
  return boundSlots({...node, input: {kind: 'unit'}});
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

/** A term about the tuple alone decides the same of each of its rows. */
function intoDistinct(
  node: Extract<PlanNode, {kind: 'distinct'}>,
  terms: readonly Expression[],
): PlanNode {
  const [down, stay] = parted(terms, term => isMovable(term) && readsOnly(term, node.by));
  if (down.length === 0) return filtered(node, stay);
  return filtered({...node, input: sink(node.input, down)}, stay);
}

/** Whether the rows are read by the parts alone, slots or properties of them. */
function readsOnly(term: Expression, parts: readonly Expression[]): boolean {
  if (parts.some(part => isSameRead(term, part))) return true;
  return term.kind !== 'slot' && partsOf(term).every(inner => readsOnly(inner, parts));
}

function isSameRead(left: Expression, right: Expression): boolean {
  if (left.kind === 'slot') return right.kind === 'slot' && left.slot === right.slot;
  if (left.kind !== 'property' || right.kind !== 'property') return false;
  return left.name === right.name && left.each === right.each && isSameRead(left.of, right.of);
}

/** A term about the keys alone decides the same of each row of a group. */
function intoAggregate(
  node: Extract<PlanNode, {kind: 'aggregate'}>,
  terms: readonly Expression[],
): PlanNode {
  const keys = new Map(node.keys.map(({slot, value}) => [slot, value]));
  const [down, stay] = parted(terms, term => {
    const read = [...slotsOf(term)];
    return isMovable(term) && read.length > 0 && read.every(slot => isMovable(keys.get(slot)));
  });
  if (down.length === 0) return filtered(node, stay);
  const ofRows = down.map(term => withSlots(term, keys));
  return filtered({...node, input: sink(node.input, ofRows)}, stay);
}

/** The expression with each slot's value in its place. */
function withSlots(expression: Expression, values: ReadonlyMap<Slot, Expression>): Expression {
  if (expression.kind === 'slot') return values.get(expression.slot) ?? expression;
  return mapParts(expression, part => withSlots(part, values));
}

function intoUnion(
  node: Extract<PlanNode, {kind: 'union'}>,
  terms: readonly Expression[],
): PlanNode {
  const [down, stay] = parted(terms, isMovable);
  if (down.length === 0) return filtered(node, stay);
  return filtered({...node, inputs: node.inputs.map(input => sink(input, down))}, stay);
}

function parted(
  terms: readonly Expression[],
  goes: (term: Expression) => boolean,
): readonly [down: readonly Expression[], stay: readonly Expression[]] {
  return [terms.filter(goes), terms.filter(term => !goes(term))];
}

/** Pushes to both sides; but what the right side keeps or leaves out is not asked of it. */
function intoJoin(join: Extract<PlanNode, {kind: 'join'}>, terms: readonly Expression[]): PlanNode {
  const leftSlots = boundSlots(join.left);
  const rightSlots = boundSlots(join.right);
  const within = (term: Expression, slots: ReadonlySet<Slot>): boolean => {
    const read = [...slotsOf(term)];
    return isMovable(term) && read.length > 0 && read.every(slot => slots.has(slot));
  };
  const left = terms.filter(term => within(term, leftSlots));
  const right = terms.filter(term => {
    return join.mode === 'inner' && !left.includes(term) && within(term, rightSlots);
  });
  const rest = terms.filter(term => !left.includes(term) && !right.includes(term));
  if (left.length === 0 && right.length === 0) return filtered(join, rest);
  return filtered({...join, left: sink(join.left, left), right: sink(join.right, right)}, rest);
}

/** May be evaluated earlier, and for more or fewer rows, without anybody noticing. */
function isMovable(term: Expression | undefined): boolean {
  if (term === undefined) return false;
  let movable = true;
  visitExpression(term, part => {
    if (part.kind === 'subplan' || part.kind === 'routine') movable = false;
    if (part.kind !== 'call') return;
    const signature = functionSignature(part.name);
    if (signature === undefined || !signature.deterministic) movable = false;
  });
  return movable;
}
