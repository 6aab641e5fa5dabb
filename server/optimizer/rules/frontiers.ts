/**
 * Hops whose ways do not matter become a frontier: where only the different vertices at the far
 * end are asked for, each vertex between is followed once, however many ways lead to it.
 *
 * Beneath a `distinct` of the far ends (or a count of them) nothing else of the hops is read. A
 * limit above wants its first rows soon, and the hops one by one give them; so it stays with them.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {FrontierStep, PlanNode} from '#server/plan/node.ts';
import {isDeterministic, isReadOnly} from '#server/plan/properties.ts';
import {boundSlots, expressionsOf, mapInputs, slotsOf} from '#server/plan/tree.ts';
import type {Rule} from '../rule.ts';
import {type SlotUse, slotUse} from '../slots.ts';

type Follow = PlanNode & {readonly kind: 'follow'};
type Aggregate = PlanNode & {readonly kind: 'aggregate'};

/** A single hop is as good as it is. */
const hopsMin = 2;

export const frontiers: Rule = {
  name: 'frontiers',
  about: ['follow'],
  rewrite: (plan, {slots}) => rewritten(plan, true, slots),
};

/** @param isWhole - Whether all of its rows will be asked for. */
function rewritten(node: PlanNode, isWhole: boolean, slots: SlotUse): PlanNode {
  const all = isWhole || node.kind === 'aggregate' || node.kind === 'sort';
  const inputs = all && node.kind !== 'limit' && node.kind !== 'top' && node.kind !== 'skip';
  const inner = mapInputs(node, input => rewritten(input, inputs, slots));
  if (inner.kind === 'distinct' && isWhole) return ofDistinct(inner, slots);
  return inner.kind === 'aggregate' ? ofCounts(inner, slots) : inner;
}

function ofDistinct(node: PlanNode & {readonly kind: 'distinct'}, slots: SlotUse): PlanNode {
  const to = onlySlot(node.by);
  const frontier = to === undefined ? undefined : frontierOf(node, node.input, {to, slots});
  return frontier ?? node;
}

/** Counts of different vertices, and of nothing else. */
function ofCounts(node: Aggregate, slots: SlotUse): PlanNode {
  const to = onlySlot(node.aggregates[0]?.args ?? []);
  const isCount = node.aggregates.every(
    ({name, args, distinct}) =>
      name.toLowerCase() === 'count' && distinct && onlySlot(args) === to && to !== undefined,
  );
  if (!isCount || to === undefined || node.keys.length > 0) return node;
  const input = frontierOf(node, node.input, {to, slots});
  if (input === undefined) return node;
  const aggregates = node.aggregates.map(({slot, name}) => {
    return {slot, name, args: [], distinct: false};
  });
  return {...node, input, aggregates};
}

function onlySlot(expressions: readonly Expression[]): Slot | undefined {
  const [only] = expressions;
  return expressions.length === 1 && only?.kind === 'slot' ? only.slot : undefined;
}

interface Ends {
  readonly to: Slot;
  readonly slots: SlotUse;
}

/** The hops that end in `to`, as frontiers; undefined when something else of them is read. */
function frontierOf(above: PlanNode, top: PlanNode, {to, slots}: Ends): PlanNode | undefined {
  const hops: Follow[] = [];
  let end = to;
  let input = top;
  while (input.kind === 'follow' && input.to === end && isPlain(input)) {
    hops.unshift(input);
    end = input.from;
    input = input.input;
  }
  if (hops.length < hopsMin || !isReadOnly(input) || !isDeterministic(input)) return undefined;
  if (isReadAbove(above, top, {to, slots})) return undefined;
  return hops.reduce((below, hop) => behind(below, hop), input);
}

/** Whether a hop asks nothing but where it leads; its condition reads its far end alone. */
function isPlain({to, edge, unlike, where}: Follow): boolean {
  const reads = where === undefined ? [] : [...slotsOf(where)];
  return edge === undefined && (unlike?.length ?? 0) === 0 && reads.every(slot => slot === to);
}

/** The hop behind the rows of `input`: one step more of a frontier, or the first of another. */
function behind(input: PlanNode, {from, to, direction, types, where}: Follow): PlanNode {
  const step: FrontierStep = {direction, types};
  const end = to ?? from;
  const frontier: PlanNode =
    input.kind === 'frontier' && input.to === from
      ? {...input, steps: [...input.steps, step], to: end}
      : {kind: 'frontier', input, from, steps: [step], to: end};
  return where === undefined ? frontier : {kind: 'filter', input: frontier, condition: where};
}

/** Whether anything above, or the node itself, reads a slot of the hops but the far end. */
function isReadAbove(above: PlanNode, hops: PlanNode, {to, slots}: Ends): boolean {
  const inside = slotUse(hops).reads;
  const own = new Set(expressionsOf(above).flatMap(expression => [...slotsOf(expression)]));
  return [...boundSlots(hops)].some(slot => {
    if (slot === to) return false;
    return own.has(slot) || (slots.reads.get(slot) ?? 0) > (inside.get(slot) ?? 0);
  });
}
