/**
 * The input of a write, read to its end before the first write when it reads data at all.
 *
 * Otherwise a scan below could meet the rows that the write above it has just made or moved
 * (the Halloween problem). Inputs that touch no data stream.
 */
import {assert} from '#server/base/assert.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {effectsOf} from '#server/plan/properties.ts';
import type {ExecutionContext} from '../context.ts';
import type {WritableGraph} from '../graph.ts';
import type {Batches, Operator, Preparation} from '../operator.ts';
import {KeptRows} from './kept-rows.ts';

export function prepareWriteInput(input: PlanNode, preparation: Preparation): Operator {
  const operator = preparation.prepare(input);
  const effects = effectsOf(input);
  if (effects.reads.size === 0 && !effects.readsAny) return operator;
  return function* drained(context, argument): Batches {
    const kept = new KeptRows(context);
    try {
      yield* kept.drain(operator(context, argument));
      yield* kept.batches;
    } finally {
      kept.release();
    }
  };
}

/** The writing side; the session sees to it that a plan with writes has one. */
export function writesOf(context: ExecutionContext): WritableGraph {
  assert(context.writes !== undefined, 'a plan that writes runs in a transaction that may');
  return context.writes;
}
