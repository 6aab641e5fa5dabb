/**
 * Which kinds of nodes stand in a plan, so that rules pass over the parts that they do not change.
 *
 * A statement is optimized while somebody waits for its first answer, and most rules are about
 * nodes that it does not have. What is known of a node is kept, and the rules share the nodes that
 * they leave as they are, so a plan is looked through once and what is new in it once more.
 */
import type {PlanNode} from '#server/plan/node.ts';
import {expressionsOf, inputsOf, visitExpression} from '#server/plan/tree.ts';

export type PlanKind = PlanNode['kind'];

interface Held {
  /** The kinds of the node, of everything below it, and of the plans in its expressions. */
  readonly kinds: ReadonlySet<PlanKind>;
  /** Sub-plans in the node's own expressions. */
  readonly subplans: readonly PlanNode[];
}

export class PlanKinds {
  readonly #known = new Map<PlanNode, Held>();

  holdsAny(node: PlanNode, kinds: readonly PlanKind[]): boolean {
    const held = this.#of(node).kinds;
    return kinds.some(kind => held.has(kind));
  }

  runsPlan(node: PlanNode): boolean {
    return this.#of(node).subplans.length > 0;
  }

  #of(node: PlanNode): Held {
    const known = this.#known.get(node);
    if (known !== undefined) return known;
    const subplans = subplansOf(node);
    const [first, ...more] = [...inputsOf(node), ...subplans].map(each => this.#of(each).kinds);
    // A chain of nodes shares one set as long as nothing new is met.
    const isNew = first?.has(node.kind) !== true || more.length > 0;
    const kinds = isNew ? union(node.kind, first, more) : first;
    const held = {kinds, subplans};
    this.#known.set(node, held);
    return held;
  }
}

function union(
  kind: PlanKind,
  first: Iterable<PlanKind> = [],
  more: readonly Iterable<PlanKind>[],
): ReadonlySet<PlanKind> {
  const all = new Set(first).add(kind);
  for (const each of more) for (const inner of each) all.add(inner);
  return all;
}

function subplansOf(node: PlanNode): readonly PlanNode[] {
  const found: PlanNode[] = [];
  for (const expression of expressionsOf(node)) {
    visitExpression(expression, part => {
      if (part.kind === 'subplan') found.push(part.plan);
    });
  }
  return found;
}
