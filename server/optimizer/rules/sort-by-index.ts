/**
 * Takes a sort away where an index gives the records in its order already.
 *
 * The sort's keys must be the parts of an ordered index behind those that a condition holds equal,
 * all in one direction, and every record must be found in it: an index that leaves out nulls
 * serves where a part's property is mandatory and not null, or behind a condition that no null
 * meets. Elsewhere a scan looks for the nulls: behind the index where they stand last, which a
 * limit seldom reaches, else before it, which costs little where columns tell that there are none.
 * Where nulls stand, and in which order classes of values come, must be the index's own way, or not
 * matter. Nodes between that keep the order of their input are looked through. Whether it pays is a
 * matter of cost: a few of the first rows are soon found, while all rows in the index's order are
 * fetched one by one.
 */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {IndexDefinition as Index} from '#server/catalog/definition.ts';
import {hasExactKeys} from '#server/model/data-type.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import type {PlanNode, SortKey} from '#server/plan/node.ts';
import {conjunction, conjunctsOf} from '../conjuncts.ts';
import {cost} from '../cost.ts';
import {countOf} from '../estimates.ts';
import type {Rule, RuleContext} from '../rule.ts';
import {rowPreservingInput, withOnRowPreservingPath} from '../row-preserving-path.ts';
import type {Scan} from './access.ts';
import {cheapestAccess} from './choose-index.ts';
import {accessBy} from './single-access.ts';

type Sorted = PlanNode & {readonly kind: 'sort' | 'top'};

export const sortByIndex: Rule = {
  name: 'sort-by-index',
  about: ['sort', 'top'],
  apply: (node, context) =>
    node.kind === 'sort' || node.kind === 'top' ? (unsorted(node, context) ?? node) : node,
};

function unsorted(node: Sorted, context: RuleContext): PlanNode | undefined {
  const order = orderOf(node);
  if (order === undefined) return undefined;
  const source = sourceOf(node.input, order.slot);
  if (source === undefined) return undefined;
  const {catalog, estimates} = context;
  if (source.kind === 'index-range') {
    const index = catalog.requireIndex(source.index);
    const type = catalog.typeById(index.typeId);
    if (type === undefined || !isWhole(source, index, type, [])) return undefined;
    if (!gives(source, index, type, order)) return undefined;
    return withoutSort(node, source, {...source, descending: order.descending});
  }
  if (source.kind !== 'scan-type') return undefined;
  const found = catalog
    .requireType(source.type)
    .indexes.flatMap(index => orderedAccess(source, index, order, context) ?? []);
  let best: PlanNode | undefined;
  const plain = withOnRowPreservingPath(node, source, cheapestAccess(source, context));
  let least = estimates.of(plain).cost;
  for (const access of found) {
    const plan = withoutSort(node, source, access.plan);
    const whole = access.readWhole === undefined ? 0 : estimates.of(access.readWhole).cost;
    const shared = (estimates.of(plan).cost - whole) * shareRead(node, plan, context);
    const spent = whole + shared + cost.seek;
    if (spent >= least) continue;
    best = plan;
    least = spent;
  }
  return best;
}

interface Ordered {
  readonly plan: PlanNode;
  /** What a limit does not shorten. */
  readonly readWhole?: PlanNode;
}

interface Order {
  readonly slot: Slot;
  readonly names: readonly string[];
  readonly descending: boolean;
  readonly keys: readonly SortKey[];
}

/** What the rows are sorted by, when that is properties of one record, all in one direction. */
function orderOf({keys, input}: Sorted): Order | undefined {
  const [first] = keys;
  if (first === undefined) return undefined;
  const names: string[] = [];
  let slot: Slot | undefined;
  for (const {by, descending} of keys) {
    const property = valueOf(by, input);
    if (property.kind !== 'property' || property.each) return undefined;
    if (property.of.kind !== 'slot') return undefined;
    if (descending !== first.descending || (slot ?? property.of.slot) !== property.of.slot) {
      return undefined;
    }
    slot = property.of.slot;
    names.push(property.name);
  }
  return slot === undefined ? undefined : {slot, names, descending: first.descending, keys};
}

/** What a slot was bound to, where a node right below binds it. */
function valueOf(expression: Expression, input: PlanNode): Expression {
  if (expression.kind !== 'slot') return expression;
  if (input.kind === 'filter') return valueOf(expression, input.input);
  if (input.kind !== 'extend') return expression;
  const bind = input.bind.find(({slot}) => slot === expression.slot);
  return bind === undefined ? valueOf(expression, input.input) : valueOf(bind.value, input.input);
}

/** The source of the slot's records, below nodes that keep the order of their input. */
function sourceOf(node: PlanNode, slot: Slot): PlanNode | undefined {
  const input = rowPreservingInput(node);
  if (input !== undefined) return sourceOf(input, slot);
  const isSource = node.kind === 'scan-type' || node.kind === 'index-range';
  return isSource && node.slot === slot ? node : undefined;
}

function withoutSort(node: Sorted, source: PlanNode, other: PlanNode): PlanNode {
  const input = withOnRowPreservingPath(node.input, source, other);
  if (node.kind === 'sort') return input;
  const {count, skip} = node;
  const rest: PlanNode = skip === undefined ? input : {kind: 'skip', input, count: skip};
  return {kind: 'limit', input: rest, count};
}

/** The share of the input that is read until the limit is reached. */
function shareRead(node: Sorted, plan: PlanNode, {estimates}: RuleContext): number {
  if (node.kind === 'sort' || plan.kind !== 'limit') return 1;
  const wanted = (countOf(node.count) ?? 0) + (node.skip ? (countOf(node.skip) ?? 0) : 0);
  // A limit that is known only when the statement runs is a page of rows.
  const count = countOf(node.count) === undefined ? rowsOfPage : wanted;
  return Math.min(1, count / Math.max(1, estimates.of(withoutLimit(plan)).rows));
}

const rowsOfPage = 100;

/** Most parts of a column may have no null below this share of them. */
const fewShare = 0.01;

function withoutLimit(plan: PlanNode): PlanNode {
  return plan.kind === 'limit' || plan.kind === 'skip' ? withoutLimit(plan.input) : plan;
}

/** The records of the scan in the index's order, with its condition. */
function orderedAccess(
  scan: Scan,
  index: Index,
  order: Order,
  context: RuleContext,
): Ordered | undefined {
  if (index.state !== 'ready' || !context.catalog.families.of(index).isOrdered) return undefined;
  const {node, plan} = accessBy(scan, index, context);
  const type = context.catalog.requireType(scan.type);
  if (node.kind !== 'index-range' || !gives(node, index, type, order)) return undefined;
  const found = withOnRowPreservingPath(plan, node, {...node, descending: order.descending});
  if (isWhole(node, index, type, conjunctsOf(scan.where))) return {plan: found};
  const [place] = new Set(order.keys.map(({nulls}) => nulls));
  const isOnePlace = order.keys.every(({nulls}) => nulls === place);
  if (!isOnePlace || order.names.length !== index.properties.length) return undefined;
  const leftOut = withTerms(scan, areNull(order));
  if (place === 'last') return {plan: {kind: 'union', inputs: [found, leftOut]}};
  const {rows} = context.estimates.of(leftOut);
  const fewNulls = !scan.descending && rows < fewShare * context.estimates.recordCount(scan.type);
  const first = fewNulls ? {...leftOut, fewNulls} : leftOut;
  return {plan: {kind: 'union', inputs: [first, found]}, readWhole: first};
}

function withTerms(scan: Scan, terms: readonly Expression[]): Scan {
  const where = conjunction([...terms, ...conjunctsOf(scan.where)]);
  return where === undefined ? scan : {...scan, where};
}

function areNull({slot, names}: Order): readonly Expression[] {
  const of: Expression = {kind: 'slot', slot};
  return names.map(name => ({kind: 'is-null', of: {kind: 'property', of, name, each: false}}));
}

/** Whether every record of the type that meets the condition is among the entries. */
function isWhole(
  {from, to}: PlanNode & {readonly kind: 'index-range'},
  index: Index,
  type: CatalogType,
  terms: readonly Expression[],
): boolean {
  if (index.nullStrategy !== 'SKIP' || from !== undefined || to !== undefined) return true;
  // An entry is left out when all of its parts are null.
  if (index.properties.some(({name}) => isNeverNull(type, name))) return true;
  const names = new Set(index.properties.map(({name}) => name));
  return terms.some(term => namesNotNull(term).some(name => names.has(name)));
}

/**
 * Whether every record of the type and its subtypes, which inherit the rules, has a value there.
 * One that the same statement has made and not completed yet has none, and no place in the order.
 */
function isNeverNull({properties}: CatalogType, name: string): boolean {
  const property = properties.get(name);
  return property !== undefined && property.mandatory && property.notNull;
}

/** Properties of which a null never meets the term. */
function namesNotNull(term: Expression): readonly string[] {
  if (term.kind === 'not' && term.of.kind === 'is-null') return propertyNames([term.of.of]);
  if (term.kind !== 'call' || functionSignature(term.name)?.nulls === 'handled') return [];
  return propertyNames(term.args);
}

function propertyNames(expressions: readonly Expression[]): readonly string[] {
  return expressions.flatMap(expression =>
    expression.kind === 'property' && expression.of.kind === 'slot' ? [expression.name] : [],
  );
}

/** Whether the access gives the records of the type in the order that is asked. */
function gives(
  node: PlanNode & {readonly kind: 'index-range'},
  index: Index,
  type: CatalogType,
  order: Order,
): boolean {
  if (index.properties.some(({by, ignoreCase}) => by !== undefined || ignoreCase)) return false;
  const [low, high] = [node.from?.values ?? [], node.to?.values ?? []];
  let equal = 0;
  while (equal < low.length && equal < high.length && low[equal] === high[equal]) equal += 1;
  const parts = index.properties.slice(equal, equal + order.names.length);
  if (parts.length < order.names.length) return false;
  if (parts.some(({name}, at) => name !== order.names[at])) return false;
  const isBounded = low.length > equal || high.length > equal;
  return order.keys.every((key, at) => {
    const name = order.names[at] ?? '';
    const bounded = at === 0 && isBounded;
    const hasNulls = !bounded && mayHoldNulls(index) && !isNeverNull(type, name);
    const nullsAgree = (key.nulls === 'first') !== key.descending;
    const isOneClass = bounded || hasExactKeys(type.properties.get(name)?.type);
    return (nullsAgree || !hasNulls) && (key.classes === undefined || isOneClass);
  });
}

/** An index that leaves out entries of nulls only never holds null in its only part. */
function mayHoldNulls({nullStrategy, properties}: Index): boolean {
  return nullStrategy === 'INDEX' || (nullStrategy === 'SKIP' && properties.length > 1);
}
