/**
 * Hops that are only counted are not made: the number of a vertex's edges is known without a row
 * for each, often without looking at any.
 */
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {slotsOf} from '#server/plan/tree.ts';
import type {Rule} from '../rule.ts';

type Aggregate = PlanNode & {readonly kind: 'aggregate'};

export const countHops: Rule = {
  name: 'count-hops',
  apply(node, context) {
    if (node.kind !== 'aggregate' || node.input.kind !== 'follow') return node;
    const {edge, unlike, ...hop} = node.input;
    const weight = commonWeight(node);
    const isCounted =
      weight !== undefined &&
      edge === undefined &&
      unlike === undefined &&
      (hop.to === undefined || !node.keys.some(key => slotsOf(key.value).has(hop.to ?? -1)));
    if (!isCounted) return node;
    const slot = context.newSlot();
    const input: PlanNode = {...hop, kind: 'degree', weight: weight.slot, slot};
    return {...node, input, aggregates: node.aggregates.map(each => ({...each, weight: slot}))};
  },
};

/** What a row counts for in every aggregate; undefined when one is no count of rows. */
function commonWeight({aggregates}: Aggregate): {readonly slot: Slot | undefined} | undefined {
  const [first] = aggregates;
  const isCount = aggregates.every(
    ({name, args, weight}) =>
      name.toLowerCase() === 'count' && args.length === 0 && weight === first?.weight,
  );
  return first !== undefined && isCount ? {slot: first.weight} : undefined;
}
