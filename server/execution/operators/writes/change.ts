/**
 * `change` and `upsert`: assign to the record in a slot, and bind it anew.
 *
 * The record is read again right before it is changed, so two rows with the same record change
 * it twice, the second on top of the first. A record that is gone drops its row. `upsert`
 * creates a record when its input has no row at all; it is SQL's, as Cypher's MERGE makes whole
 * patterns (`fallback`). Sub-plans of what is assigned may pause.
 */
import type {MapValue, RecordValue} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {expressionsOf, runsPlan} from '#server/plan/tree.ts';
import {type Batch, BatchBuilder, type Pause, pause, unitBatch} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {propertiesOf} from '../../expressions/access.ts';
import {RowCursor} from '../../closure.ts';
import {resumed, Resumption} from '../../expressions/resumption.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {type Assign, prepareAssignments} from './assignments.ts';
import {ridOf} from '../hops/vertex-ids.ts';
import {prepareWriteInput, writesOf} from './write-input.ts';

type Change = PlanNode & {readonly kind: 'change'};
type Upsert = PlanNode & {readonly kind: 'upsert'};

export function prepareChange(node: Change, preparation: Preparation): Operator {
  const input = prepareWriteInput(node.input, preparation, node.slot);
  const assign = prepareAssignments(node.assignments, preparation);
  const mayPause = expressionsOf(node).some(runsPlan);
  return function* change(context, argument) {
    const builder = new BatchBuilder();
    const resumption = mayPause ? new Resumption() : undefined;
    try {
      for (const batch of input(context, argument)) {
        if (batch === pause) {
          yield pause;
          continue;
        }
        for (let row = 0; row < batch.rowCount; row++) {
          yield* changeRow({node, assign, context, resumption, batch, row, builder});
          if (builder.rowCount >= context.batchRows) yield builder.take();
          if (context.budget.spend(8)) yield pause;
        }
        if (builder.rowCount > 0) yield builder.take();
      }
    } finally {
      resumption?.clear();
    }
  };
}

function* changeRow(parts: {
  readonly node: Change | Upsert;
  readonly assign: Assign;
  readonly context: ExecutionContext;
  readonly resumption: Resumption | undefined;
  readonly batch: Batch;
  readonly row: number;
  readonly builder: BatchBuilder;
}): Generator<Pause, void, undefined> {
  const {node, assign, context, resumption, batch, row, builder} = parts;
  const rid = ridOf(batch.get(node.slot, row));
  const old = rid && context.graph.record(rid);
  if (old === undefined) {
    if (node.kind === 'change' && node.keepsRows === true) builder.copy(batch, row);
    return;
  }
  const cursor = new RowCursor(context, batch.row(row).with(node.slot, [old]), resumption);
  const {properties, assigned} = yield* assignedTo(() => propertiesOf(old), assign, cursor);
  const applyDefaults = node.kind === 'change' && node.applyDefaults;
  const changed = writesOf(context).replace(old.rid, properties, {applyDefaults});
  if (changed === undefined) {
    if (node.kind === 'change' && node.keepsRows === true) builder.copy(batch, row);
    return;
  }
  context.counts.propertiesSet += assigned;
  builder.copy(batch, row);
  bind(builder, node, changed, old);
}

/** The properties with what is assigned to them, which may take several turns to work out. */
function* assignedTo(
  properties: () => MapValue,
  assign: Assign,
  cursor: RowCursor,
): Generator<Pause, {readonly properties: MapValue; readonly assigned: number}, undefined> {
  const work = () => {
    const changed = new Map(properties());
    return {properties: changed, assigned: assign(changed, cursor)};
  };
  return cursor.resumption === undefined ? work() : yield* resumed(cursor.resumption, work);
}

function bind(
  builder: BatchBuilder,
  node: Change | Upsert,
  changed: RecordValue,
  old: RecordValue | null,
): void {
  builder.set(node.slot, changed);
  if (node.before !== undefined) builder.set(node.before, old);
}

export function prepareUpsert(node: Upsert, preparation: Preparation): Operator {
  const input = prepareWriteInput(node.input, preparation, node.slot);
  const assign = prepareAssignments(node.assignments, preparation);
  const seed = node.seed.map(({name, value}) => ({name, value: preparation.expression(value)}));
  const mayPause = expressionsOf(node).some(runsPlan);
  return function* upsert(context, argument) {
    const builder = new BatchBuilder();
    const resumption = mayPause ? new Resumption() : undefined;
    let rows = 0;
    try {
      for (const batch of input(context, argument)) {
        if (batch === pause) {
          yield pause;
          continue;
        }
        rows += batch.rowCount;
        for (let row = 0; row < batch.rowCount; row++) {
          yield* changeRow({node, assign, context, resumption, batch, row, builder});
          if (context.budget.spend(8)) yield pause;
        }
        if (builder.rowCount > 0) yield builder.take();
      }
      if (rows > 0) return;
      const empty = argument.columns.length === 0 ? unitBatch : argument;
      const cursor = new RowCursor(context, empty, resumption);
      const seeded = (): MapValue => new Map(seed.map(({name, value}) => [name, value(cursor)]));
      const {properties} = yield* assignedTo(seeded, assign, cursor);
      const requested = {what: 'any', type: node.type, bucket: undefined, properties} as const;
      const made = writesOf(context).create(requested);
      if (made === undefined) return;
      builder.copy(argument, 0);
      bind(builder, node, made, null);
      yield builder.take();
    } finally {
      resumption?.clear();
    }
  };
}
