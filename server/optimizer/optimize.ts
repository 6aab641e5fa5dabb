/**
 * Rewrites the binder's plan into one that uses indexes, order and limits.
 *
 * Rules run over the whole tree, inputs first, in the order listed; the list is short enough
 * that one pass each suffices, because every rule leaves its own pattern behind fully treated.
 * Sub-plans inside expressions are optimized the same way. Pure: same plan, catalog and
 * statistics, same result. Patterns are ordered first: hops that other rules make keep theirs.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {mapExpressions} from '#server/plan/map-expressions.ts';
import {noStatistics, type Statistics} from '#server/plan/statistics.ts';
import {expressionsOf, mapInputs, mapParts, runsPlan} from '#server/plan/tree.ts';

import {Estimates} from './estimates.ts';
import type {Rule, RuleContext} from './rule.ts';
import {chooseIndex} from './rules/choose-index.ts';
import {countEarly} from './rules/count-early.ts';
import {countHops} from './rules/count-hops.ts';
import {covered} from './rules/covered.ts';
import {foldConstants} from './rules/fold-constants.ts';
import {frontiers} from './rules/frontiers.ts';
import {hopFromUnnest} from './rules/hop-from-unnest.ts';
import {inlineColumns} from './rules/inline-columns.ts';
import {narrowScan} from './rules/narrow-scan.ts';
import {orderPatterns} from './rules/order-patterns.ts';
import {pushFilter} from './rules/push-filter.ts';
import {semiFromExists} from './rules/semi-from-exists.ts';
import {sortByIndex} from './rules/sort-by-index.ts';
import {top} from './rules/top.ts';
import {unreadEdge} from './rules/unread-edge.ts';
import {type SlotUse, slotUse} from './slots.ts';

export const rules: readonly Rule[] = [
  foldConstants,
  orderPatterns,
  hopFromUnnest,
  pushFilter,
  semiFromExists,
  narrowScan,
  top,
  sortByIndex,
  chooseIndex,
  countEarly,
  unreadEdge,
  frontiers,
  countHops,
  inlineColumns,
  covered,
];

export interface OptimizeOptions {
  readonly catalog: Catalog;
  /** Absent: nothing is known, and the same is assumed of all data. */
  readonly statistics?: Statistics;
  /** Works out expressions over literals. */
  readonly constant?: RuleContext['constant'];
  /** Names of rules that are switched off. */
  readonly without?: ReadonlySet<string>;
}

export function optimize(plan: PlanNode, options: OptimizeOptions): PlanNode {
  const {catalog, constant, statistics = noStatistics, without} = options;
  const estimates = new Estimates(catalog, statistics);
  let next: Slot | undefined;
  const newSlot = (): Slot => {
    const slot = next ?? slotUse(plan).next;
    next = slot + 1;
    return slot;
  };
  return rules
    .filter(rule => without?.has(rule.name) !== true)
    .reduce((current, rule) => {
      let slots: SlotUse | undefined;
      const context: RuleContext = {
        catalog,
        constant,
        estimates,
        newSlot,
        // Few rules ask, and the answer is a walk through the whole plan.
        get slots() {
          return (slots ??= slotUse(current));
        },
      };
      if ('rewrite' in rule) return rule.rewrite(current, context);
      return applyEverywhere(current, rule, context);
    }, plan);
}

type NodeRule = Extract<Rule, {readonly apply: unknown}>;

function applyEverywhere(node: PlanNode, rule: NodeRule, context: RuleContext): PlanNode {
  const inner = mapInputs(node, input => applyEverywhere(input, rule, context));
  // Most nodes have no sub-plan, and their expressions need not be made anew for every rule.
  const within = expressionsOf(inner).some(runsPlan)
    ? mapExpressions(inner, expression => inSubplans(expression, rule, context))
    : inner;
  return rule.apply(within, context);
}

function inSubplans(expression: Expression, rule: NodeRule, context: RuleContext): Expression {
  return mapParts(
    expression,
    part => inSubplans(part, rule, context),
    plan => applyEverywhere(plan, rule, context),
  );
}
