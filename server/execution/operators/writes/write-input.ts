/**
 * The input of a write, read to its end before the first write when it reads data at all.
 *
 * Otherwise a scan below could meet the rows that the write above it has just made or moved
 * (the Halloween problem). Inputs that touch no data stream. Of the records to be written only
 * the ids are kept: the write reads each again anyway.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {RecordValue, type Value} from '#server/model/value.ts';
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {effectsOf} from '#server/plan/properties.ts';
import {type Batch, type Pause, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import type {NewRecord, WritableGraph} from '../../graph.ts';
import type {Batches, Operator, Preparation} from '../../operator.ts';
import {KeptRows} from '../kept-rows.ts';

/** @param slot - Holds the records that will be written: kept as ids. */
export function prepareWriteInput(
  input: PlanNode,
  preparation: Preparation,
  slot?: Slot,
): Operator {
  const operator = preparation.prepare(input);
  const effects = effectsOf(input);
  if (effects.reads.size === 0 && !effects.readsAny) return operator;
  return function* drained(context, argument): Batches {
    const kept = new KeptRows(context);
    try {
      yield* kept.drain(operator(context, argument), batch =>
        slot === undefined ? batch : withIds(batch, slot),
      );
      yield* kept.batches;
    } finally {
      kept.release();
    }
  };
}

function withIds(batch: Batch, slot: Slot): Batch {
  const column = batch.columns[slot];
  return column === undefined ? batch : batch.with(slot, column.map(idOf));
}

/** A light edge has no record to be read again: it stays as it is. */
function idOf(value: Value): Value {
  return value instanceof RecordValue && value.rid.position >= 0 ? value.rid : value;
}

/** Makes a record that its maker cannot do without. @throws {Refusal} `trigger.refused`. */
export function madeBy(context: ExecutionContext, requested: NewRecord): RecordValue {
  const record = writesOf(context).create(requested);
  if (record !== undefined) return record;
  throw new Refusal('trigger.refused', `a trigger forbids a record of type '${requested.type}'`);
}

/** The writing side; the session sees to it that a plan with writes has one. */
export function writesOf(context: ExecutionContext): WritableGraph {
  assert(context.writes !== undefined, 'a plan that writes runs in a transaction that may');
  return context.writes;
}

/** Removes the edges of a vertex that is deleted next, in turns: a hub may have millions. */
export function* withoutEdges(
  record: RecordValue,
  context: ExecutionContext,
): Generator<Pause, void, undefined> {
  const removal = record.kind === 'vertex' ? writesOf(context).removeEdges(record) : undefined;
  try {
    while (removal?.next() === true) if (context.budget.look()) yield pause;
  } finally {
    removal?.close();
  }
}
