/**
 * `intersect`: records that several inputs find, in the order of the first.
 *
 * The ids of every input but the first are kept, as numbers where they fit; the first streams, and
 * only records that are in all inputs are fetched.
 */
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, type Pause, pause} from '../../batch.ts';
import type {Operator, Preparation} from '../../operator.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Batches} from '../../operator.ts';
import {idsOf, type RidKey, ridKey, withRecords} from '../hops/vertex-ids.ts';

type Node = PlanNode & {readonly kind: 'intersect'};

/** Bytes of an id in a set, roughly. */
const bytesPerId = 24;

export function prepareIntersect(node: Node, preparation: Preparation): Operator {
  const inputs = node.inputs.map(input => preparation.prepare(input));
  const idSuffices = preparation.idSuffices(node.slot);
  return function* intersect(context, argument) {
    const kept: Set<RidKey>[] = [];
    const [first, ...others] = inputs;
    if (first === undefined) return;
    try {
      for (const [at, other] of others.entries()) {
        kept.push(yield* idSet(other(context, argument), node.ids[at + 1] ?? -1, context));
      }
      for (const batch of first(context, argument)) {
        if (batch === pause) {
          yield pause;
          continue;
        }
        const found = common(batch, node, kept);
        const rows = idSuffices ? found : withRecords(found, node.slot, context.graph);
        if (rows.rowCount > 0) yield rows;
        if (context.budget.spend(batch.rowCount)) yield pause;
      }
    } finally {
      context.budget.release(kept.reduce((sum, ids) => sum + ids.size * bytesPerId, 0));
    }
  };
}

function* idSet(
  input: Batches,
  slot: number,
  {budget}: ExecutionContext,
): Generator<Pause, Set<RidKey>, undefined> {
  const ids = new Set<RidKey>();
  let complete = false;
  try {
    for (const batch of input) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      const before = ids.size;
      for (const rid of idsOf(batch, slot).rids) ids.add(ridKey(rid));
      budget.keep((ids.size - before) * bytesPerId);
      if (budget.spend(batch.rowCount)) yield pause;
    }
    complete = true;
    return ids;
  } finally {
    if (!complete) budget.release(ids.size * bytesPerId);
  }
}

/** The rows of the batch whose ids are in all sets, with the id in the node's slot. */
function common(batch: Batch, {ids, slot}: Node, sets: readonly Set<RidKey>[]): Batch {
  const found = idsOf(batch, ids[0] ?? -1);
  const passing = found.rids.flatMap((rid, at) => {
    const key = ridKey(rid);
    return sets.every(set => set.has(key)) ? [at] : [];
  });
  const rids = passing.map(at => found.rids[at] ?? null);
  return batch.gather(passing.map(at => found.rows[at] ?? 0)).with(slot, rids);
}
