/**
 * `skip` and `limit`: leave out the first rows, stop after some rows.
 *
 * Order: the input's. Memory: O(1). `limit` stops pulling as soon as it has its rows, which
 * closes the input; with 0 it does not start it, unless the input writes.
 */
import type {PlanNode} from '#server/plan/node.ts';
import {isReadOnly} from '#server/plan/properties.ts';
import {wholeNumber} from '../expressions/arithmetic.ts';
import type {Operator, Preparation} from '../operator.ts';
import {pause} from '../batch.ts';
import {argumentCursor} from './sources/source-rows.ts';

export function prepareSkip(
  node: PlanNode & {readonly kind: 'skip'},
  preparation: Preparation,
): Operator {
  const input = preparation.prepare(node.input);
  const count = preparation.expression(node.count);
  return function* skip(context, argument) {
    let left = wholeNumber(count(argumentCursor(context, argument)), 'SKIP');
    for (const batch of input(context, argument)) {
      if (batch === pause) yield pause;
      else if (left >= batch.rowCount) left -= batch.rowCount;
      else {
        yield batch.slice(left, batch.rowCount);
        left = 0;
      }
    }
  };
}

export function prepareLimit(
  node: PlanNode & {readonly kind: 'limit'},
  preparation: Preparation,
): Operator {
  const input = preparation.prepare(node.input);
  const count = preparation.expression(node.count);
  const writes = !isReadOnly(node.input);
  return function* limit(context, argument) {
    let left = wholeNumber(count(argumentCursor(context, argument)), 'LIMIT');
    if (left === 0) {
      if (writes) for (const batch of input(context, argument)) if (batch === pause) yield pause;
      return;
    }
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      yield batch.slice(0, left);
      left -= Math.min(left, batch.rowCount);
      if (left === 0) return;
    }
  };
}
