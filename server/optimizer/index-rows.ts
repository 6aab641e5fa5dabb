/** How many entries of an index an access reads, and how many keys it looks for. */
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {listLength} from '#server/plan/written-list.ts';
import {assumed, equalShare, type RowFacts, shareOfAll} from './selectivity.ts';

type Access = PlanNode & {readonly kind: 'index-point' | 'index-range'};

export function indexRows(
  node: Access,
  index: IndexDefinition,
  records: number,
  facts: RowFacts,
): {readonly rows: number; readonly keys: number} {
  if (node.kind === 'index-range') {
    return {rows: records * rangeShare(node, index, facts), keys: 1};
  }
  if (!node.each) {
    if (index.unique) return {rows: Math.min(1, records), keys: 1};
    return {rows: records * equalParts(node.slot, index, node.keys, facts), keys: 1};
  }
  const [list] = node.keys;
  const length = list && listLength(list);
  const keys = length ?? assumed.listItems;
  const usual: Expression = {kind: 'parameter', name: ''};
  const parts = length === 0 ? 0 : equalParts(node.slot, index, [usual], facts);
  return {rows: Math.min(records, keys * (index.unique ? 1 : records * parts)), keys};
}

function equalParts(
  slot: Slot,
  index: IndexDefinition,
  values: readonly Expression[],
  facts: RowFacts,
): number {
  return values.reduce((share, value, at) => {
    const property = partOf(slot, index, at);
    return property === undefined ? share : share * equalShare(property, value, facts);
  }, 1);
}

/** Equal first parts, and bounds on the part behind them. */
function rangeShare(
  {slot, from, to}: PlanNode & {readonly kind: 'index-range'},
  index: IndexDefinition,
  facts: RowFacts,
): number {
  const [low, high] = [from?.values ?? [], to?.values ?? []];
  let equal = 0;
  while (equal < low.length && equal < high.length && low[equal] === high[equal]) equal += 1;
  // The side that only repeats the equal parts is open.
  const share = equalParts(slot, index, low.slice(0, equal), facts);
  const property = partOf(slot, index, equal);
  if (property === undefined) return share;
  const bounds: Expression[] = [];
  const [lower, upper] = [low[equal], high[equal]];
  if (lower !== undefined) bounds.push(call('op:greaterOrEqual', property, lower));
  if (upper !== undefined) bounds.push(call('op:lessOrEqual', property, upper));
  return share * shareOfAll(bounds, facts);
}

function partOf(slot: Slot, index: IndexDefinition, at: number): Expression | undefined {
  const part = index.properties[at];
  if (part === undefined) return undefined;
  return {kind: 'property', of: {kind: 'slot', slot}, name: part.name, each: false};
}

function call(name: string, ...args: readonly Expression[]): Expression {
  return {kind: 'call', name, args};
}
