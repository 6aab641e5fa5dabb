/**
 * A scan whose condition asks a search index becomes the search itself: records in the order of
 * their scores, and no more than a LIMIT above asks for. What else the condition says is then part
 * of the search, so that it ends with so many records that pass.
 *
 * The predicate's index may be of a supertype; then only the scan's type is asked for. Its score
 * takes the place of `fulltext.score` of the record wherever that stands. Where a record is asked
 * for by two searches nothing is changed, since its score is the sum of both.
 */
import {indexOfKind} from '#server/catalog/change-index.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {
  expressionsOf,
  mapInputs,
  mapParts,
  runsPlan,
  slotsOf,
  visitExpression,
  visitPlan,
} from '#server/plan/tree.ts';
import {mapExpressions} from '#server/plan/map-expressions.ts';
import {conjunctsOf, filtered} from '../../conjuncts.ts';
import type {Rule, RuleContext} from '../../rule.ts';
import type {Scan} from '../access.ts';

type Ranked = PlanNode & {readonly kind: 'ranked'};

export const rankedSearch: Rule = {
  name: 'ranked-search',
  about: ['scan-type', 'fuse'],
  rewrite: (plan, context) => {
    const inPlan = (node: PlanNode): PlanNode =>
      mapExpressions(mapInputs(node, inPlan), inExpression);
    const inExpression = (expression: Expression): Expression => {
      if (!runsPlan(expression)) return expression;
      // One that depends on a row would search anew for each.
      if (expression.kind === 'subplan' && expression.correlated) return expression;
      return mapParts(expression, inExpression, inner => inPlan(searched(inner, context)));
    };
    return inPlan(searched(plan, context));
  },
};

function searched(plan: PlanNode, context: RuleContext): PlanNode {
  let current = plan;
  for (const scan of scansOf(plan)) {
    const found = searchOf(scan, current, context);
    if (found !== undefined) current = replaced(current, scan, found);
  }
  return limited(current);
}

function scansOf(plan: PlanNode): readonly Scan[] {
  const scans: Scan[] = [];
  visitPlan(plan, node => {
    if (node.kind === 'scan-type' && node.where !== undefined) scans.push(node);
  });
  return scans;
}

interface Found {
  readonly ranked: Ranked;
  readonly plan: PlanNode;
}

function searchOf(scan: Scan, plan: PlanNode, context: RuleContext): Found | undefined {
  if (searchesAbout(plan, scan.slot) !== 1) return undefined;
  const terms = conjunctsOf(scan.where);
  const term = terms.find(one => callOf(one, scan.slot) !== undefined);
  const call = term && callOf(term, scan.slot);
  const [name, query] = call?.args ?? [];
  if (name?.kind !== 'literal' || typeof name.value !== 'string' || query === undefined) {
    return undefined;
  }
  const index = indexOfKind(context.catalog, name.value, 'text');
  const type = context.catalog.requireType(scan.type);
  if (index === undefined || !context.catalog.families.of(index).isRanked) return undefined;
  if (index.state !== 'ready' || slotsOf(query).size > 0) return undefined;
  const of = context.catalog.typeById(index.typeId);
  if (of?.familyIds.has(type.id) !== true) return undefined;
  if (!scan.polymorphic && type.subTypes.length > 0) return undefined;
  const ranked: Ranked = {
    kind: 'ranked',
    index: index.name,
    query,
    only: of.id === type.id ? undefined : type.name,
    slot: scan.slot,
    score: context.newSlot(),
    count: undefined,
    scoring: context.catalog.families.of(index).scoringOf?.(index),
  };
  return {
    ranked,
    plan: filtered(
      ranked,
      terms.filter(one => one !== term),
    ),
  };
}

/** `fulltext.searchIndex(...)` of the record, alone or `= true`. */
function callOf(term: Expression, slot: Slot): (Expression & {readonly kind: 'call'}) | undefined {
  if (term.kind !== 'call') return undefined;
  if (term.name === 'op:equal') {
    const [left, right] = term.args;
    const isTrue = (one: Expression | undefined): boolean =>
      one?.kind === 'literal' && one.value === true;
    if (left !== undefined && isTrue(right)) return callOf(left, slot);
    return right !== undefined && isTrue(left) ? callOf(right, slot) : undefined;
  }
  if (term.name !== 'fulltext.searchIndex') return undefined;
  const [, , record] = term.args;
  return isRecord(record, slot) ? term : undefined;
}

/** The record itself: its slot, or `@this` of it. */
function isRecord(expression: Expression | undefined, slot: Slot): boolean {
  if (expression?.kind === 'attribute' && expression.attribute === 'this') {
    return isRecord(expression.of, slot);
  }
  return expression?.kind === 'slot' && expression.slot === slot;
}

const searches: ReadonlySet<string> = new Set([
  'fulltext.searchIndex',
  'fulltext.searchFields',
  'fulltext.searchIndexMore',
  'fulltext.searchFieldsMore',
  'fulltext.containsText',
]);

/** Calls of searches that ask the record in the slot. */
function searchesAbout(plan: PlanNode, slot: Slot): number {
  let count = 0;
  visitPlan(plan, node => {
    for (const expression of expressionsOf(node)) {
      visitExpression(expression, part => {
        if (part.kind !== 'call' || !searches.has(part.name)) return;
        if (part.args.some(arg => isRecord(arg, slot))) count += 1;
      });
    }
  });
  return count;
}

/** The plan with the scan's search in its place, and its score where that is asked for. */
function replaced(plan: PlanNode, scan: Scan, {ranked, plan: search}: Found): PlanNode {
  const inExpression = (expression: Expression): Expression => {
    if (expression.kind === 'call' && expression.name === 'fulltext.score') {
      const [of] = expression.args;
      if (isRecord(of, scan.slot)) return {kind: 'slot', slot: ranked.score};
    }
    return mapParts(expression, inExpression, inPlan);
  };
  const inPlan = (node: PlanNode): PlanNode =>
    node === scan
      ? mapExpressions(search, inExpression)
      : mapExpressions(mapInputs(node, inPlan), inExpression);
  return inPlan(plan);
}

/** Gives searches the LIMIT that stands above them with nothing in between that drops a row. */
function limited(plan: PlanNode): PlanNode {
  const visit = (node: PlanNode): PlanNode => {
    const count = countOf(node);
    const inner =
      count === undefined || !('input' in node)
        ? node
        : {...node, input: withCount(node.input, count, sortedBy(node))};
    return mapInputs(inner, visit);
  };
  return visit(plan);
}

function countOf(node: PlanNode): Expression | undefined {
  if (node.kind !== 'limit' && node.kind !== 'top') return undefined;
  const skip = node.kind === 'top' ? node.skip : undefined;
  if (skip === undefined) return node.count;
  return {kind: 'call', name: 'op:add', args: [node.count, skip]};
}

/** What a top sorts by; undefined: more than one key, or not the greatest first. */
function sortedBy(node: PlanNode): Expression | 'anything' | undefined {
  if (node.kind !== 'top') return 'anything';
  const [key, ...others] = node.keys;
  return key !== undefined && others.length === 0 && key.descending ? key.by : undefined;
}

function withCount(
  node: PlanNode,
  count: Expression,
  by: Expression | 'anything' | undefined,
): PlanNode {
  if (by === undefined) return node;
  switch (node.kind) {
    case 'ranked':
      return by === 'anything' || isSlot(by, node.score) ? {...node, count} : node;
    case 'fuse':
      if (node.count !== undefined) return node;
      return by === 'anything' || isSlot(by, node.score) ? {...node, count} : node;
    case 'filter': {
      const input = withCount(node.input, count, by);
      const {condition} = node;
      if (input === node.input || input.kind !== 'ranked') return node;
      return slotsOf(condition).has(input.score) ? node : {...input, where: condition};
    }
    case 'extend': {
      const bound =
        by !== 'anything' && by.kind === 'slot'
          ? node.bind.find(({slot}) => slot === by.slot)?.value
          : undefined;
      return {...node, input: withCount(node.input, count, bound ?? by)};
    }
    case 'project':
      return {...node, input: withCount(node.input, count, by)};
    case 'skip': {
      if (by !== 'anything') return node;
      const more: Expression = {kind: 'call', name: 'op:add', args: [count, node.count]};
      return {...node, input: withCount(node.input, more, by)};
    }
    default:
      return node;
  }
}

function isSlot(expression: Expression, slot: Slot): boolean {
  return expression.kind === 'slot' && expression.slot === slot;
}
