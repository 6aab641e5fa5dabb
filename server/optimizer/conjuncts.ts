/** Conditions as lists of terms that must all be true. */
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';

/** The terms of a condition: nested ands flattened, in order. */
export function conjunctsOf(condition: Expression | undefined): readonly Expression[] {
  if (condition === undefined) return [];
  return condition.kind === 'and' ? condition.terms.flatMap(conjunctsOf) : [condition];
}

/** One condition from terms; undefined when there is none. */
export function conjunction(terms: readonly Expression[]): Expression | undefined {
  const [first] = terms;
  return terms.length > 1 ? {kind: 'and', terms} : first;
}

/** `input` filtered by the terms; `input` itself when there is none. */
export function filtered(input: PlanNode, terms: readonly Expression[]): PlanNode {
  const condition = conjunction(terms);
  return condition === undefined ? input : {kind: 'filter', input, condition};
}
