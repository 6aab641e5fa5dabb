/**
 * `records`: records by id, in the order of the ids.
 *
 * Ids come as rids, their texts, records or (nested) lists of them; absent records are dropped.
 * Other values pass as they are when `loose`, else they are dropped too. With `typeNames` a text
 * that is no id names a type, all of whose records come in storage order.
 */
import {ridOfText} from '#server/model/rid.ts';
import {RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {itemsOf} from '../../expressions/access.ts';
import type {Graph} from '../../graph.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {pause} from '../../batch.ts';
import {scanRecords} from './scan.ts';
import {argumentCursor, sourceBatch} from './source-rows.ts';

type Node = PlanNode & {readonly kind: 'records'};

export function prepareRecords(node: Node, preparation: Preparation): Operator {
  const ids = preparation.expression(node.ids);
  return function* records(context, argument) {
    const value = ids(argumentCursor(context, argument));
    if (node.typeNames === true && typeof value === 'string' && ridOfText(value) === undefined) {
      return yield* scanRecords(context.graph.scanType(value, true, anyOrder), {
        context,
        argument,
        slot: node.slot,
      });
    }
    const wanted = flatten(value, []);
    for (let start = 0; start < wanted.length; start += context.batchRows) {
      const part = wanted.slice(start, start + context.batchRows);
      const found = load(part, context.graph, node.loose);
      if (found.length > 0) yield sourceBatch(argument, node.slot, found);
      if (context.budget.look()) yield pause;
    }
  };
}

const anyOrder = {descending: false, test: undefined};

function flatten(value: Value, into: Value[]): Value[] {
  const items = itemsOf(value);
  if (items === undefined) {
    if (typeof value === 'string') into.push(ridOfText(value) ?? value);
    else if (value !== null) into.push(value);
  } else {
    for (const item of items) flatten(item, into);
  }
  return into;
}

function load(wanted: readonly Value[], graph: Graph, loose: boolean): Value[] {
  const rids = wanted.filter(value => value instanceof Rid);
  const loaded = rids.length === 0 ? [] : graph.records(rids);
  const found: Value[] = [];
  let next = 0;
  for (const value of wanted) {
    if (value instanceof Rid) {
      const record = loaded[next++];
      if (record !== undefined) found.push(record);
    } else if (loose || value instanceof RecordValue) found.push(value);
  }
  return found;
}
