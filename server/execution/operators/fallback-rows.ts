/**
 * `otherwise`: the rows of the input, or, when it has none, those of the fallback.
 *
 * The fallback is started only after the input has ended without a row. Cypher's MERGE alone asks
 * for it, which matches a pattern or else makes it; SQL's UPSERT is of one record (`upsert`).
 */
import type {PlanNode} from '#server/plan/node.ts';
import type {Operator, Preparation} from '../operator.ts';
import {pause} from '../batch.ts';

type Node = PlanNode & {readonly kind: 'fallback'};

export function prepareFallbackRows(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const fallback = preparation.prepare(node.fallback);
  return function* otherwise(context, argument) {
    let found = false;
    for (const batch of input(context, argument)) {
      if (batch !== pause && batch.rowCount > 0) found = true;
      yield batch;
    }
    if (!found) yield* fallback(context, argument);
  };
}
