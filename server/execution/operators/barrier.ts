/** `barrier`: passes its first row only when its whole input has been read. */
import type {PlanNode} from '#server/plan/node.ts';
import type {Operator, Preparation} from '../operator.ts';
import {KeptRows} from './kept-rows.ts';

type Node = PlanNode & {readonly kind: 'barrier'};

export function prepareBarrier(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  return function* barrier(context, argument) {
    const kept = new KeptRows(context);
    try {
      yield* kept.drain(input(context, argument));
      yield* kept.batches;
    } finally {
      kept.release();
    }
  };
}
