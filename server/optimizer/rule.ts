/**
 * The shape of a rewrite rule: a node or a whole plan in, an equivalent one out (or the same).
 *
 * A rule for nodes sees one whose inputs are rewritten already. Equivalent means: the same bag of
 * rows, in the same order where the plan promises one. No rule names a language.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Estimates} from './estimates.ts';
import type {PlanKind} from './plan-kinds.ts';
import type {SlotUse} from './slots.ts';

export interface RuleContext {
  readonly catalog: Catalog;
  /** What candidates are compared by. */
  readonly estimates: Estimates;
  /** The value of an expression over literals; undefined for none. Absent: none is worked out. */
  readonly constant?: ((expression: Expression) => Value | undefined) | undefined;
  /** Slots of the statement as the rule finds it. */
  readonly slots: SlotUse;
  /** The ways to the records of scans that rules have decided on (choose-index.ts). */
  readonly accesses: Map<PlanNode, PlanNode>;
  /** A slot that the statement does not use. */
  newSlot(): Slot;
}

export type Rule = {
  readonly name: string;
  /** A plan without a node of these kinds stays as it is; absent: any may change. */
  readonly about?: readonly PlanKind[];
} & (
  | {readonly apply: (node: PlanNode, context: RuleContext) => PlanNode}
  /** Takes its own way through the plan. */
  | {readonly rewrite: (plan: PlanNode, context: RuleContext) => PlanNode}
);
