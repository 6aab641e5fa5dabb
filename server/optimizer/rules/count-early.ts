/**
 * Counts rows before they are multiplied: where only their number is asked, rows that are alike in
 * all that is still read above become one row with a weight.
 *
 * A pattern that is only counted walks the same edges again for every way that leads to them. With
 * a count by the slots that are still read below a hop, each vertex is followed once, and the
 * counts above add up the weights. Groups come as their first rows came, so the order of groups
 * above stays. Whether it pays is a matter of cost: how many different rows there may be.
 */
import type {Slot} from '#server/plan/expression.ts';
import type {Aggregate, PlanNode} from '#server/plan/node.ts';
import {isDeterministic, isReadOnly} from '#server/plan/properties.ts';
import {boundSlots} from '#server/plan/tree.ts';
import type {Rule, RuleContext} from '../rule.ts';
import {readBy, rowPreservingInput, withOnRowPreservingPath} from '../row-preserving-path.ts';

type Node = PlanNode & {readonly kind: 'aggregate'};

/** How much cheaper it must be: an estimate of different rows is a guess. */
const worthwhile = 0.7;
/** What costs less is not worth another node. */
const costMin = 2_000;

export const countEarly: Rule = {
  name: 'count-early',
  about: ['aggregate'],
  apply: (node, context) => {
    if (node.kind !== 'aggregate' || !isCount(node)) return node;
    if (!isReadOnly(node.input) || !isDeterministic(node.input)) return node;
    if (context.estimates.of(node).cost < costMin) return node;
    return counted(node, context);
  },
};

function isCount({aggregates}: Node): boolean {
  return (
    aggregates.length > 0 &&
    aggregates.every(
      ({name, args, weight}) =>
        name.toLowerCase() === 'count' && args.length === 0 && weight === undefined,
    )
  );
}

function counted(node: Node, context: RuleContext): PlanNode {
  const {estimates} = context;
  let best: {readonly plan: PlanNode; readonly weighed: Node} | undefined;
  let least = estimates.of(node).cost * worthwhile;
  const live = readBy(node);
  for (let above: PlanNode | undefined = node.input; above !== undefined; ) {
    const below = rowPreservingInput(above);
    for (const slot of readBy(above)) live.add(slot);
    if (below !== undefined && multiplies(below)) {
      const weighed = weighedRows(below, live, context.newSlot());
      const plan =
        weighed && added(node, withOnRowPreservingPath(node.input, below, weighed), weighed);
      if (weighed !== undefined && plan !== undefined && estimates.of(plan).cost < least) {
        best = {plan, weighed};
        least = estimates.of(plan).cost;
      }
    }
    above = below;
  }
  if (best === undefined) return node;
  return withOnRowPreservingPath(best.plan, best.weighed, counted(best.weighed, context));
}

/** One row for all that are alike in what is read above, with their number. */
function weighedRows(input: PlanNode, live: ReadonlySet<Slot>, weight: Slot): Node | undefined {
  const keys = [...boundSlots(input)].filter(slot => live.has(slot));
  if (keys.length === 0) return undefined;
  return {
    kind: 'aggregate',
    input,
    keys: keys.map(slot => ({slot, value: {kind: 'slot', slot}})),
    aggregates: [{slot: weight, name: 'count', args: [], distinct: false}],
  };
}

/** Whether a record may be met more than once: a source gives each once. */
function multiplies(node: PlanNode): boolean {
  const below = rowPreservingInput(node);
  if (below === undefined) return false;
  return (node.kind !== 'filter' && node.kind !== 'extend') || multiplies(below);
}

/** The counts of `node`, of rows that have weights. */
function added(node: Node, input: PlanNode, {aggregates: [weight]}: Node): Node | undefined {
  if (weight === undefined) return undefined;
  const aggregates = node.aggregates.map(
    (aggregate): Aggregate => ({...aggregate, weight: weight.slot}),
  );
  return {...node, input, aggregates};
}
