/** Ways to reach records through an index, and which of two is likely the cheaper one. */
import type {IndexDefinition as Index} from '#server/catalog/definition.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';

export interface Access {
  readonly node: PlanNode;
  readonly index: Index;
  /** Terms that need no check any more. */
  readonly answered: ReadonlySet<Expression>;
  readonly equalParts: number;
  readonly ranged: boolean;
  /** Every part has an equality. */
  readonly whole: boolean;
}

/** Without statistics: a whole unique key, then a whole key, then more equal parts. */
export function cheaper(a: Access, b: Access | undefined): boolean {
  return b === undefined || rank(a) > rank(b);
}

function rank(access: Access): number {
  if (access.whole && access.index.unique) return 1_000;
  if (access.whole) return 500 + access.equalParts;
  return access.equalParts * 10 + (access.ranged ? 5 : 0);
}
