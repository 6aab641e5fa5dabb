/**
 * The order that sort keys ask for: by `compareTotal`, each key ascending or descending, null
 * where the key says. Equal rows keep the input's order (the callers see to it).
 */
import {compareStructuresFirst, compareTotal} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import type {SortKey} from '#server/plan/node.ts';

export type TupleOrder = (left: readonly Value[], right: readonly Value[]) => number;

export function tupleOrder(keys: readonly SortKey[]): TupleOrder {
  const orders = keys.map(keyOrder);
  const [only] = orders;
  if (orders.length === 1 && only !== undefined) {
    return (left, right) => only(left[0] as Value, right[0] as Value);
  }
  return (left, right) => {
    for (let at = 0; at < orders.length; at++) {
      const order = (orders[at] as ValueOrder)(left[at] as Value, right[at] as Value);
      if (order !== 0) return order;
    }
    return 0;
  };
}

type ValueOrder = (left: Value, right: Value) => number;

function keyOrder(key: SortKey): ValueOrder {
  const nullOrder = key.nulls === 'first' ? -1 : 1;
  const sign = key.descending ? -1 : 1;
  const order = key.classes === undefined ? compareTotal : compareStructuresFirst;
  return (left, right) => {
    if (left === null) return right === null ? 0 : nullOrder;
    if (right === null) return -nullOrder;
    return sign * order(left, right);
  };
}
