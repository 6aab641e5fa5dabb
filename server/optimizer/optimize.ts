/**
 * Rewrites the binder's plan into one that uses indexes, order and limits.
 *
 * Rules run over the whole tree, inputs first, in the order listed; the list is short enough
 * that one pass each suffices, because every rule leaves its own pattern behind fully treated.
 * Sub-plans inside expressions are optimized the same way. Pure: same plan, catalog and
 * statistics, same result. Patterns are ordered first: hops that other rules make keep theirs.
 */
import {runToCompletion, type Cooperative} from '#server/base/cooperative.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {mapExpressions} from '#server/plan/map-expressions.ts';
import {noStatistics, type Statistics} from '#server/plan/statistics.ts';
import {mapInputs, mapParts, runsPlan} from '#server/plan/tree.ts';

import {Estimates} from './estimates.ts';
import {PlanKinds} from './plan-kinds.ts';
import type {Rule, RuleContext} from './rule.ts';
import {chooseIndex} from './rules/choose-index.ts';
import {countEarly} from './rules/count-early.ts';
import {countHops} from './rules/count-hops.ts';
import {covered} from './rules/covered.ts';
import {foldConstants} from './rules/fold-constants.ts';
import {frontiers} from './rules/frontiers.ts';
import {fuseRankings} from './rules/rankings/fuse-rankings.ts';
import {hopFromUnnest} from './rules/hop-from-unnest.ts';
import {inlineColumns} from './rules/inline-columns.ts';
import {loneRecord} from './rules/lone-record.ts';
import {narrowScan} from './rules/narrow-scan.ts';
import {orderPatterns} from './rules/order-patterns.ts';
import {pushFilter} from './rules/push-filter.ts';
import {rankedSearch} from './rules/rankings/ranked-search.ts';
import {semiFromExists} from './rules/semi-from-exists.ts';
import {sortByIndex} from './rules/sort-by-index.ts';
import {top} from './rules/top.ts';
import {unreadEdge} from './rules/unread-edge.ts';
import {type SlotUse, slotUse} from './slots.ts';

export const rules: readonly Rule[] = [
  fuseRankings,
  foldConstants,
  orderPatterns,
  hopFromUnnest,
  loneRecord,
  pushFilter,
  semiFromExists,
  narrowScan,
  top,
  rankedSearch,
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
  return runToCompletion(optimizing(plan, options));
}

/** Works like `optimize`; each rule that changes something is a portion. */
export function* optimizing(plan: PlanNode, options: OptimizeOptions): Cooperative<PlanNode> {
  const {catalog, constant, statistics = noStatistics, without} = options;
  const estimates = new Estimates(catalog, statistics);
  let next: Slot | undefined;
  const newSlot = (): Slot => {
    const slot = next ?? slotUse(plan).next;
    next = slot + 1;
    return slot;
  };
  const kinds = new PlanKinds();
  let current = plan;
  let slots: {readonly of: PlanNode; readonly use: SlotUse} | undefined;
  const context: RuleContext = {
    catalog,
    constant,
    estimates,
    newSlot,
    accesses: new Map(),
    // Few rules ask, and the answer is a walk through the whole plan.
    get slots() {
      if (slots?.of !== current) slots = {of: current, use: slotUse(current)};
      return slots.use;
    },
  };
  for (const rule of rules) {
    if (without?.has(rule.name) === true) continue;
    if (rule.about !== undefined && !kinds.holdsAny(current, rule.about)) continue;
    if ('rewrite' in rule) current = rule.rewrite(current, context);
    else current = new Everywhere(rule, context, kinds).node(current);
    yield;
  }
  return current;
}

/** A rule for nodes, applied to all of a plan that it may be about. */
class Everywhere {
  readonly #rule: Extract<Rule, {readonly apply: unknown}>;
  readonly #context: RuleContext;
  readonly #kinds: PlanKinds;

  constructor(
    rule: Extract<Rule, {readonly apply: unknown}>,
    context: RuleContext,
    kinds: PlanKinds,
  ) {
    this.#rule = rule;
    this.#context = context;
    this.#kinds = kinds;
  }

  readonly node = (node: PlanNode): PlanNode => {
    const {about, apply} = this.#rule;
    if (about !== undefined && !this.#kinds.holdsAny(node, about)) return node;
    const inner = mapInputs(node, this.node);
    // Most nodes have no sub-plan.
    const within = this.#kinds.runsPlan(node) ? mapExpressions(inner, this.#expression) : inner;
    return apply(within, this.#context);
  };

  readonly #expression = (expression: Expression): Expression =>
    runsPlan(expression) ? mapParts(expression, this.#expression, this.node) : expression;
}
