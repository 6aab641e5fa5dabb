/**
 * A scan's condition by way of one index, with all that the index does not answer asked above it.
 *
 * An index of a supertype serves when a test of the type is added.
 */
import type {IndexDefinition as Index} from '#server/catalog/definition.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {isStrict} from '../bounds.ts';
import {conjunctsOf, filtered} from '../conjuncts.ts';
import type {RuleContext} from '../rule.ts';
import {type Access, indexAccess, type IndexNode, partOf, type Scan} from './access.ts';

/** An index's access with everything above it that the scan's condition still asks. */
export interface SingleAccess {
  readonly access: Access;
  readonly plan: PlanNode;
}

/** The accesses through one index each, those that promise most first. */
export function singleAccesses(scan: Scan, context: RuleContext): readonly SingleAccess[] {
  const terms = conjunctsOf(scan.where);
  const found: SingleAccess[] = [];
  for (const index of context.catalog.requireType(scan.type).indexes) {
    if (index.state !== 'ready' || !context.catalog.families.of(index).isKeyed) continue;
    const access = indexAccess(scan, index, usableTerms(index, context, terms), context);
    if (access !== undefined) found.push({access, plan: above(access, scan, context)});
  }
  return found.sort((a, b) => rank(b.access) - rank(a.access));
}

/** What the scan's condition and its type still ask of what an access finds. */
function above({node, index, answered}: Access, scan: Scan, context: RuleContext): PlanNode {
  const rest = conjunctsOf(scan.where).filter(term => !answered.has(term));
  return filtered(node, [...typeTest(scan, index, context), ...rest]);
}

/** The records of the scan by way of one index: all of its entries where no term narrows it. */
export function accessBy(
  scan: Scan,
  index: Index,
  context: RuleContext,
): {readonly node: IndexNode; readonly plan: PlanNode} {
  const terms = usableTerms(index, context, conjunctsOf(scan.where));
  const access = indexAccess(scan, index, terms, context) ?? wholeAccess(scan, index, context);
  return {node: access.node, plan: above(access, scan, context)};
}

function wholeAccess(scan: Scan, index: Index, context: RuleContext): Access {
  const [from, to] = [undefined, undefined];
  const {slot, descending} = scan;
  const all = {kind: 'index-range', index: index.name, from, to, descending, slot} as const;
  return {
    node: {...all, ...partOf(scan, index, context)},
    index,
    answered: new Set(),
    equalParts: 0,
    ranged: false,
    whole: false,
  };
}

/** What is promised whatever the data: a whole unique key, a whole key, more equal parts. */
function rank(access: Access): number {
  if (access.whole && access.index.unique) return 1_000;
  if (access.whole) return 500 + access.equalParts;
  return access.equalParts * 10 + (access.ranged ? 5 : 0);
}

/** Comparisons that convert nothing. */
const exactNames = new Set(['op:same', 'op:member']);

/**
 * Leaves only comparisons that convert nothing on a property of any type: `'1' = 1` may hold for a
 * value that lies under another key.
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
    term => term.kind === 'call' && (exactNames.has(term.name) || isStrict(term)),
  );
}

/** The access leaves records of other types in when the index or the scan is about fewer. */
export function typeTest(scan: Scan, index: Index, context: RuleContext): Expression[] {
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
