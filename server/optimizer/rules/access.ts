/**
 * The use of one index by a condition.
 *
 * A term may use an index part when it compares a plain property of the scanned record with
 * something that does not depend on that record: equality, IN, a range, or equality through
 * `toLowerCase()` on a COLLATE CI part. Equality on a prefix of the parts plus at most one range
 * behind it makes the access; what the index answers exactly need not be checked again.
 */
import type {IndexDefinition as Index, IndexProperty} from '#server/catalog/definition.ts';
import {type DataType, hasExactKeys} from '#server/model/data-type.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {IndexBound, PlanNode} from '#server/plan/node.ts';
import {slotsOf} from '#server/plan/tree.ts';
import {type Bound, boundsIn, isStrict} from '../bounds.ts';
import type {RuleContext} from '../rule.ts';

export type Scan = PlanNode & {readonly kind: 'scan-type'};
export type IndexNode = PlanNode & {readonly kind: 'index-point' | 'index-range'};

export interface Access {
  readonly node: IndexNode;
  readonly index: Index;
  /** Terms that need no check any more. */
  readonly answered: ReadonlySet<Expression>;
  readonly equalParts: number;
  readonly ranged: boolean;
  /** Every part has an equality. */
  readonly whole: boolean;
}

/** The best use of one index, or undefined when no term fits its first part. */
export function indexAccess(
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
      ...partOf(scan, index, context),
    };
    return {node, index, answered, equalParts: equal.length, ranged: false, whole: true};
  }
  if (!context.catalog.families.of(index).isOrdered) return undefined;
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
    ...partOf(scan, index, context),
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

/** What an index node says where the scan is about fewer records than the index holds. */
export function partOf(
  {type, polymorphic}: Scan,
  index: Index,
  {catalog}: RuleContext,
): Pick<IndexNode, 'only'> {
  const scanned = catalog.requireType(type);
  const isWhole = index.typeId === scanned.id && (polymorphic || scanned.subTypes.length === 0);
  return isWhole ? {} : {only: {type, polymorphic}};
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
    const isIn = term.name === 'op:in' || term.name === 'op:member';
    if (isIn && inAllowed && !slotsOf(right).has(slot) && isProperty(left, slot, part.name)) {
      const exact = term.name === 'op:in' && !part.ignoreCase;
      return {term, value: right, each: true, exact};
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

interface Range {
  readonly from?: Bound;
  readonly to?: Bound;
}

/** Lower and upper bound on one part; the terms used are added to `answered`. */
function rangeOf(
  slot: Slot,
  part: IndexProperty,
  terms: readonly Expression[],
  answered: Set<Expression>,
): Range | undefined {
  if (part.by !== undefined || part.ignoreCase) return undefined;
  const found: {low?: Bound; high?: Bound} = {};
  for (const term of terms) {
    const bounds = boundsIn(term).filter(({property, value}) => {
      return isProperty(property, slot, part.name) && !slotsOf(value).has(slot);
    });
    // Both bounds of a BETWEEN are used or none.
    const isBetween = term.kind === 'call' && term.name === 'op:between';
    if (bounds.length !== (isBetween ? 2 : 1)) continue;
    if (bounds.some(({side}) => found[side] !== undefined)) continue;
    for (const bound of bounds) found[bound.side] = bound;
    // What values of other classes never meet is asked again behind the index.
    if (!isStrict(term)) answered.add(term);
  }
  const {low, high} = found;
  if (low === undefined && high === undefined) return undefined;
  return {...(low && {from: low}), ...(high && {to: high})};
}
