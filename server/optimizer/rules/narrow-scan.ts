/**
 * Narrows a scan to the buckets and the ids that its condition leaves: no other is read.
 *
 * `@type = 'T'` and `INSTANCEOF 'T'` of a subtype make it a scan of that type. Bounds on `@rid`
 * (a page that begins behind the last id of the one before) say where in the buckets it begins and
 * ends; they stay in the condition, because a record whose labels were changed lies elsewhere.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {IndexBound, PlanNode} from '#server/plan/node.ts';
import {isSteady} from '#server/plan/properties.ts';
import {conjunction, conjunctsOf} from '../conjuncts.ts';
import type {Rule} from '../rule.ts';
import {typeTestOf} from '#server/plan/type-test.ts';
import type {Scan} from './access.ts';

type AnyScan = Scan | (PlanNode & {readonly kind: 'scan-bucket'});

export const narrowScan: Rule = {
  name: 'narrow-scan',
  about: ['scan-type', 'scan-bucket'],
  apply: (node, {catalog}) => {
    if (node.kind !== 'scan-type' && node.kind !== 'scan-bucket') return node;
    if (node.where === undefined) return node;
    return withIds(node.kind === 'scan-type' ? ofSubtype(node, catalog) : node);
  },
};

/** The scan of the type that a term names, without the term. */
function ofSubtype(scan: Scan, catalog: Catalog): Scan {
  if (!scan.polymorphic) return scan;
  const family = catalog.requireType(scan.type).familyIds;
  const terms = conjunctsOf(scan.where);
  for (const term of terms) {
    const named = typeNamed(term, scan.slot);
    const type = named && catalog.type(named.type);
    // A name may be an alias of the type, which `@type` never is.
    if (type === undefined || type.name !== named?.type || !family.has(type.id)) continue;
    const where = conjunction(terms.filter(other => other !== term));
    const {where: _, ...rest} = scan;
    const {polymorphic} = named;
    return {...rest, type: type.name, polymorphic, ...(where && {where})};
  }
  return scan;
}

function typeNamed(
  term: Expression,
  slot: Slot,
): {readonly type: string; readonly polymorphic: boolean} | undefined {
  const test = typeTestOf(term);
  if (test !== undefined) {
    return test.slot === slot ? {type: test.type, polymorphic: true} : undefined;
  }
  if (term.kind !== 'call' || term.name !== 'op:equal') return undefined;
  const [left, right] = term.args;
  const [own, other] = isAttribute(left, slot, 'type') ? [left, right] : [right, left];
  if (!isAttribute(own, slot, 'type') || other?.kind !== 'literal') return undefined;
  return typeof other.value === 'string' ? {type: other.value, polymorphic: false} : undefined;
}

/** The sides of `@rid` on which an id bounds it, by the sign of the comparison. */
const bounds: ReadonlyMap<string, readonly ('low' | 'high')[]> = new Map([
  ['op:equal', ['low', 'high']],
  ['op:greater', ['low']],
  ['op:greaterOrEqual', ['low']],
  ['op:less', ['high']],
  ['op:lessOrEqual', ['high']],
]);

const turned: Readonly<Record<'low' | 'high', 'low' | 'high'>> = {low: 'high', high: 'low'};

function withIds(scan: AnyScan): AnyScan {
  let from: IndexBound | undefined;
  let to: IndexBound | undefined;
  for (const term of conjunctsOf(scan.where)) {
    if (term.kind !== 'call') continue;
    const [left, right] = term.args;
    const isLeft = isAttribute(left, scan.slot, 'rid');
    const other = isLeft ? right : isAttribute(right, scan.slot, 'rid') ? left : undefined;
    if (other === undefined || !isSteady(other)) continue;
    for (const side of bounds.get(term.name) ?? []) {
      const bound: IndexBound = {values: [other], inclusive: true};
      if ((isLeft ? side : turned[side]) === 'low') from ??= bound;
      else to ??= bound;
    }
  }
  return from === undefined && to === undefined ? scan : {...scan, ids: {from, to}};
}

function isAttribute(
  expression: Expression | undefined,
  slot: Slot,
  attribute: 'rid' | 'type',
): boolean {
  return (
    expression?.kind === 'attribute' &&
    expression.attribute === attribute &&
    expression.of.kind === 'slot' &&
    expression.of.slot === slot
  );
}
