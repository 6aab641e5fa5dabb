/**
 * Hops that are only counted are not made: the number of a vertex's edges is known without a row
 * for each, often without looking at any.
 *
 * Where a count of rows stands above, a hop whose end nobody reads makes rows that are all alike:
 * one of them goes on, with their number as its weight. So does each other hop of a star, and an
 * optional one, which counts for one where there is none: the rows of a pattern are multiplied as
 * numbers, however many they are.
 */
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {isDeterministic, isReadOnly} from '#server/plan/properties.ts';
import type {Rule, RuleContext} from '../rule.ts';
import {readBy, rowPreservingInput, withOnRowPreservingPath} from '../row-preserving-path.ts';

type Node<Kind extends PlanNode['kind']> = PlanNode & {readonly kind: Kind};
type Degree = Node<'degree'>;

export const countHops: Rule = {
  name: 'count-hops',
  about: ['follow'],
  apply(node, context) {
    if (node.kind !== 'aggregate') return node;
    const weight = commonWeight(node);
    if (weight === undefined || !isReadOnly(node.input) || !isDeterministic(node.input)) {
      return node;
    }
    const {plan, weight: slot} = weighed(node.input, readBy(node), weight.slot, context);
    if (slot === undefined || slot === weight.slot) return node;
    const aggregates = node.aggregates.map(each => ({...each, weight: slot}));
    return {...node, input: plan, aggregates};
  },
};

/** What a row counts for in every aggregate; undefined when one is no count of rows. */
function commonWeight({
  aggregates,
}: Node<'aggregate'>): {readonly slot: Slot | undefined} | undefined {
  const [first] = aggregates;
  const isCount = aggregates.every(
    ({name, args, weight}) =>
      name.toLowerCase() === 'count' && args.length === 0 && weight === first?.weight,
  );
  return first !== undefined && isCount ? {slot: first.weight} : undefined;
}

interface Weighed {
  readonly plan: PlanNode;
  /** What each row counts for; undefined: for one. */
  readonly weight: Slot | undefined;
}

/** @param live - Slots that are read above; `weight` is that of the rows at the spine's end. */
function weighed(
  node: PlanNode,
  live: ReadonlySet<Slot>,
  weight: Slot | undefined,
  context: RuleContext,
): Weighed {
  const below = rowPreservingInput(node);
  if (below === undefined) return {plan: node, weight};
  const inner = weighed(below, new Set([...live, ...readBy(node)]), weight, context);
  const hop = countedHop(node, live);
  if (hop === undefined) {
    return {plan: withOnRowPreservingPath(node, below, inner.plan), weight: inner.weight};
  }
  const slot = context.newSlot();
  return {plan: {...hop, input: inner.plan, weight: inner.weight, slot}, weight: slot};
}

/** The hop that the node makes, to be counted; undefined where it does more than that. */
function countedHop(
  node: PlanNode,
  live: ReadonlySet<Slot>,
): Omit<Degree, 'weight' | 'slot'> | undefined {
  if (node.kind === 'follow') {
    const {edge, unlike, ...hop} = node;
    const isCounted = edge === undefined && unlike === undefined && !live.has(hop.to ?? -1);
    return isCounted ? {...hop, kind: 'degree'} : undefined;
  }
  const isOptional = node.kind === 'apply' && node.mode === 'left';
  if (!isOptional || node.slots.some(slot => live.has(slot))) return undefined;
  if (node.plan.kind !== 'follow' || node.plan.input.kind !== 'argument') return undefined;
  const hop = countedHop(node.plan, live);
  return hop && {...hop, keepEmpty: true};
}
