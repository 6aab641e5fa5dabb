/**
 * Replaces a filtered scan of a type by the index that answers most of its condition.
 *
 * A term may use an index part when it compares a plain property of the scanned record with
 * something that does not depend on that record: equality, IN, a range, LIKE with a literal
 * prefix, or equality through `toLowerCase()` on a COLLATE CI part. Equality on a prefix of the
 * parts plus at most one range behind it makes the access; what the index answers exactly is
 * dropped from the condition, everything else stays above as a filter. An index of a supertype
 * serves when a test of the type is added. Terms on `@rid` beat every index.
 */
import {type DataType, hasExactKeys} from '#server/model/data-type.ts';
import type {IndexDefinition as Index, IndexProperty} from '#server/catalog/definition.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {IndexBound, PlanNode} from '#server/plan/node.ts';
import {slotsOf} from '#server/plan/tree.ts';
import {conjunctsOf, filtered} from '../conjuncts.ts';
import type {Rule, RuleContext} from '../rule.ts';
import {type Access, cheaper} from './access.ts';

type Scan = Extract<PlanNode, {kind: 'scan-type'}>;

export const chooseIndex: Rule = {
  name: 'choose-index',
  apply: (node, context) =>
    node.kind === 'scan-type' && node.where !== undefined ? access(node, context) : node,
};

function access(scan: Scan, context: RuleContext): PlanNode {
  const terms = conjunctsOf(scan.where);
  const byRid = ridAccess(scan, context, terms);
  if (byRid !== undefined) return byRid;
  let best: Access | undefined;
  for (const index of context.catalog.requireType(scan.type).indexes) {
    if (index.state !== 'ready') continue;
    const usable = usableTerms(index, context, terms);
    const candidate = indexAccess(scan, index, usable, context);
    if (candidate !== undefined && cheaper(candidate, best)) best = candidate;
  }
  if (best === undefined) return scan;
  const rest = terms.filter(term => !best.answered.has(term));
  return filtered(best.node, [...typeTest(scan, best.index, context), ...rest]);
}

/**
 * On a property of any type only comparisons that convert nothing: `'1' = 1` may hold for a value
 * that lies under another key.
 */
function usableTerms(
  index: Index,
  {catalog}: RuleContext,
  terms: readonly Expression[],
): readonly Expression[] {
  const type = catalog.typeById(index.typeId);
  const isAny = index.properties.some(({name}) => type?.properties.get(name)?.type === 'ANY');
  if (!isAny) return terms;
  return terms.filter(
    term => term.kind === 'call' && (term.name === 'op:same' || strictBounds.has(term.name)),
  );
}

/** The access leaves records of other types in when the index or the scan is about fewer. */
function typeTest(scan: Scan, index: Index, context: RuleContext): Expression[] {
  const of: Expression = {kind: 'slot', slot: scan.slot};
  const scanned = context.catalog.requireType(scan.type);
  const type: Expression = {kind: 'literal', value: scanned.name};
  if (!scan.polymorphic && scanned.subTypes.length > 0) {
    const own: Expression = {kind: 'attribute', of, attribute: 'type'};
    return [{kind: 'call', name: 'op:equal', args: [own, type]}];
  }
  if (index.typeId !== scanned.id) {
    return [{kind: 'call', name: 'op:instanceOf', args: [of, type]}];
  }
  return [];
}

function ridAccess(
  scan: Scan,
  context: RuleContext,
  terms: readonly Expression[],
): PlanNode | undefined {
  const {name} = context.catalog.requireType(scan.type);
  for (const term of terms) {
    if (term.kind !== 'call' || (term.name !== 'op:equal' && term.name !== 'op:in')) continue;
    const [left, right] = term.args;
    if (left === undefined || right === undefined) continue;
    const ids = isRidOf(left, scan.slot) ? right : isRidOf(right, scan.slot) ? left : undefined;
    if (ids === undefined || slotsOf(ids).has(scan.slot)) continue;
    if (term.name === 'op:in' && !isRidOf(left, scan.slot)) continue;
    const node: PlanNode = {kind: 'records', ids, slot: scan.slot, loose: false};
    const of: Expression = {kind: 'slot', slot: scan.slot};
    const type: Expression = {kind: 'literal', value: name};
    const test: Expression = scan.polymorphic
      ? {kind: 'call', name: 'op:instanceOf', args: [of, type]}
      : {kind: 'call', name: 'op:equal', args: [{kind: 'attribute', of, attribute: 'type'}, type]};
    // The term itself stays: ids may hold other things than records, and IN may hold lists.
    return filtered(node, [test, ...terms]);
  }
  return undefined;
}

function isRidOf(expression: Expression, slot: Slot): boolean {
  return (
    expression.kind === 'attribute' &&
    expression.attribute === 'rid' &&
    expression.of.kind === 'slot' &&
    expression.of.slot === slot
  );
}

/** The best use of one index, or undefined when no term fits its first part. */
function indexAccess(
  scan: Scan,
  index: Index,
  terms: readonly Expression[],
  context: RuleContext,
): Access | undefined {
  const answered = new Set<Expression>();
  const found: Equality[] = [];
  const equal: Expression[] = [];
  let each = false;
  for (const part of index.properties) {
    const inAllowed = equal.length === 0 && index.properties.length === 1;
    const term = equality(scan.slot, part, terms, inAllowed);
    if (term === undefined) break;
    found.push(term);
    equal.push(term.value);
    each = term.each;
    if (term.exact) answered.add(term.term);
  }
  if (equal.length === index.properties.length) {
    // Where nothing is converted the index answers what `same` asks.
    const isSame = found.every(({term}) => isSameTerm(term));
    const strict = isSame ? exactTypes(index, context) : undefined;
    if (strict !== undefined) for (const {term} of found) answered.add(term);
    const node: PlanNode = {
      kind: 'index-point',
      index: index.name,
      keys: equal,
      each,
      slot: scan.slot,
      ...(strict && {strict}),
    };
    return {node, index, answered, equalParts: equal.length, ranged: false, whole: true};
  }
  if (index.kind === 'hash') return undefined;
  const next = index.properties[equal.length];
  const range = next === undefined ? undefined : rangeOf(scan.slot, next, terms, answered);
  if (equal.length === 0 && range === undefined) return undefined;
  const bound = (values: readonly Expression[], inclusive: boolean): IndexBound | undefined =>
    values.length === 0 ? undefined : {values, inclusive};
  const node: PlanNode = {
    kind: 'index-range',
    index: index.name,
    from: bound(
      [...equal, ...(range?.from ? [range.from.value] : [])],
      range?.from?.inclusive ?? true,
    ),
    to: bound([...equal, ...(range?.to ? [range.to.value] : [])], range?.to?.inclusive ?? true),
    descending: scan.descending,
    slot: scan.slot,
  };
  return {
    node,
    index,
    answered,
    equalParts: equal.length,
    ranged: range !== undefined,
    whole: false,
  };
}

function isSameTerm(term: Expression): boolean {
  return term.kind === 'call' && term.name === 'op:same';
}

/** The parts' types when equal keys are equal values: plain parts, values of one form. */
function exactTypes(
  index: Index,
  {catalog}: RuleContext,
): readonly (DataType | undefined)[] | undefined {
  const properties = catalog.typeById(index.typeId)?.properties;
  const isPlain = index.properties.every(({by, ignoreCase}) => by === undefined && !ignoreCase);
  const types = index.properties.map(({name}) => properties?.get(name)?.type);
  return isPlain && types.every(hasExactKeys) ? types : undefined;
}

interface Equality {
  readonly term: Expression;
  readonly value: Expression;
  readonly each: boolean;
  /** The index answers the term exactly, so that it need not be checked again. */
  readonly exact: boolean;
}

function equality(
  slot: Slot,
  part: IndexProperty,
  terms: readonly Expression[],
  inAllowed: boolean,
): Equality | undefined {
  if (part.by !== undefined) return containment(slot, part, terms);
  for (const term of terms) {
    if (term.kind !== 'call') continue;
    const [left, right] = term.args;
    if (left === undefined || right === undefined) continue;
    if (term.name === 'op:equal' || term.name === 'op:same') {
      const value = otherSide(slot, part, left, right) ?? otherSide(slot, part, right, left);
      // Keys convert what is compared; `same` does not, so it is asked again.
      const exact = term.name === 'op:equal' && !part.ignoreCase;
      if (value !== undefined) return {term, value, each: false, exact};
      const folded = part.ignoreCase ? foldedSide(slot, part, left, right) : undefined;
      if (folded !== undefined) return {term, value: folded, each: false, exact: false};
    }
    if (term.name === 'op:in' && inAllowed && !slotsOf(right).has(slot)) {
      if (isProperty(left, slot, part.name)) {
        return {term, value: right, each: true, exact: !part.ignoreCase};
      }
    }
  }
  return undefined;
}

/** `tags CONTAINS x`, `CONTAINSKEY`, `CONTAINSVALUE` on an index BY ITEM, BY KEY, BY VALUE. */
function containment(
  slot: Slot,
  part: IndexProperty,
  terms: readonly Expression[],
): Equality | undefined {
  const operator = {
    item: 'op:contains',
    key: 'op:containsKey',
    value: 'op:containsValue',
  }[part.by ?? 'item'];
  for (const term of terms) {
    if (term.kind !== 'call' || term.name !== operator) continue;
    const [left, right] = term.args;
    if (left === undefined || right === undefined) continue;
    const value = otherSide(slot, part, left, right);
    if (value !== undefined) return {term, value, each: false, exact: false};
  }
  return undefined;
}

function otherSide(
  slot: Slot,
  part: IndexProperty,
  property: Expression,
  other: Expression,
): Expression | undefined {
  return isProperty(property, slot, part.name) && !slotsOf(other).has(slot) ? other : undefined;
}

/** `name.toLowerCase() = 'x'` reads a COLLATE CI part, whose keys are folded. */
function foldedSide(
  slot: Slot,
  part: IndexProperty,
  left: Expression,
  right: Expression,
): Expression | undefined {
  for (const [call, other] of [
    [left, right],
    [right, left],
  ] as const) {
    if (call.kind !== 'call' || call.name.toLowerCase() !== '.tolowercase') continue;
    const [receiver] = call.args;
    if (receiver === undefined) continue;
    const value = otherSide(slot, part, receiver, other);
    if (value !== undefined) return value;
  }
  return undefined;
}

function isProperty(expression: Expression, slot: Slot, name: string): boolean {
  return (
    expression.kind === 'property' &&
    expression.name === name &&
    expression.of.kind === 'slot' &&
    expression.of.slot === slot
  );
}

interface Side {
  readonly value: Expression;
  readonly inclusive: boolean;
}

/** Bounds that values of other classes never meet: they are asked again behind the index. */
const strictBounds = new Set(['op:before', 'op:notAfter', 'op:after', 'op:notBefore']);
const lowerBounds: ReadonlyMap<string, boolean> = new Map([
  ['op:greater', false],
  ['op:after', false],
  ['op:notBefore', true],
  ['op:greaterOrEqual', true],
]);
const upperBounds: ReadonlyMap<string, boolean> = new Map([
  ['op:less', false],
  ['op:before', false],
  ['op:notAfter', true],
  ['op:lessOrEqual', true],
]);
const mirrored: ReadonlyMap<string, string> = new Map([
  ['op:greater', 'op:less'],
  ['op:greaterOrEqual', 'op:lessOrEqual'],
  ['op:less', 'op:greater'],
  ['op:lessOrEqual', 'op:greaterOrEqual'],
  ['op:before', 'op:after'],
  ['op:notAfter', 'op:notBefore'],
  ['op:after', 'op:before'],
  ['op:notBefore', 'op:notAfter'],
]);

/** Lower and upper bound on one part; the terms used are added to `answered`. */
function rangeOf(
  slot: Slot,
  part: IndexProperty,
  terms: readonly Expression[],
  answered: Set<Expression>,
): {readonly from?: Side; readonly to?: Side} | undefined {
  if (part.by !== undefined || part.ignoreCase) return undefined;
  let from: Side | undefined;
  let to: Side | undefined;
  for (const term of terms) {
    if (term.kind !== 'call') continue;
    const [left, right, high] = term.args;
    if (left === undefined || right === undefined) continue;
    if (term.name === 'op:between' && high !== undefined && !from && !to) {
      const low = otherSide(slot, part, left, right);
      if (low === undefined || otherSide(slot, part, left, high) === undefined) continue;
      from = {value: low, inclusive: true};
      to = {value: high, inclusive: true};
      answered.add(term);
      continue;
    }
    const straight = otherSide(slot, part, left, right);
    const turned = straight === undefined ? otherSide(slot, part, right, left) : undefined;
    const value = straight ?? turned;
    const name = turned === undefined ? term.name : (mirrored.get(term.name) ?? '');
    if (value === undefined) continue;
    const lower = lowerBounds.get(name);
    const upper = upperBounds.get(name);
    if (lower !== undefined && from === undefined) {
      from = {value, inclusive: lower};
      if (!strictBounds.has(term.name)) answered.add(term);
    } else if (upper !== undefined && to === undefined) {
      to = {value, inclusive: upper};
      if (!strictBounds.has(term.name)) answered.add(term);
    }
  }
  if (from === undefined && to === undefined) return undefined;
  return {...(from && {from}), ...(to && {to})};
}
