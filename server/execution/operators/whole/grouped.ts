/**
 * The groups of an aggregation in order of first appearance, and the state of each aggregate.
 *
 * What a group keeps counts against the memory budget. A distinct aggregate keeps the set of
 * argument tuples it has seen. `count` without arguments is a number, not a state machine.
 */
import {joinKeys} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import type {Aggregate, PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, type Pause, pause, unitBatch} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {type Closure, RowCursor} from '../../closure.ts';
import {estimateValue} from '../../expressions/value-size.ts';
import {aggregate, type AggregateFunction} from '../../function-registry.ts';
import type {Batches, Operator} from '../../operator.ts';
import {ridKey, ridOf} from '../hops/vertex-ids.ts';

type Node = PlanNode & {readonly kind: 'aggregate'};

export interface PreparedAggregate {
  readonly node: Aggregate;
  readonly machine: AggregateFunction;
  readonly args: readonly Closure[];
}

export interface Group {
  readonly keys: readonly Value[];
  readonly states: unknown[];
  /** Argument tuples seen, for distinct aggregates. */
  readonly seen: (Set<string> | undefined)[];
}

/** Rows counted, whatever is in them. */
export const countRows: AggregateFunction = aggregate<number>({
  init: () => 0,
  step: state => state + 1,
  finish: state => state,
  numbers: {kind: 'count', counted: (state, more) => state + more},
});

export class Groups {
  readonly #context: ExecutionContext;
  readonly #keys: readonly Closure[];
  readonly #aggregates: readonly PreparedAggregate[];
  readonly #groups = new Map<string | number, Group>();
  #bytes = 0;

  constructor(
    context: ExecutionContext,
    keys: readonly Closure[],
    aggregates: readonly PreparedAggregate[],
  ) {
    this.#context = context;
    this.#keys = keys;
    this.#aggregates = aggregates;
  }

  /** Takes all rows of an input. */
  *addAll(input: Batches): Generator<Pause, void, undefined> {
    for (const batch of input) {
      if (batch === pause) yield pause;
      else {
        yield* this.add(batch);
        if (this.#context.budget.look()) yield pause;
      }
    }
  }

  *add(batch: Batch): Generator<Pause, void, undefined> {
    const cursor = new RowCursor(this.#context, batch);
    const whole = this.#keys.length === 0 ? this.group([]) : undefined;
    for (let row = 0; row < batch.rowCount; row++) {
      cursor.row = row;
      const group = whole ?? this.group(this.#keys.map(key => key(cursor)));
      this.#aggregates.forEach((aggregate, at) => this.#step(group, aggregate, at, cursor));
      if (this.#context.budget.spend(1)) yield pause;
    }
  }

  #step(group: Group, {args}: PreparedAggregate, at: number, cursor: RowCursor): void {
    const [only] = args;
    this.take(group, at, args.length === 1 && only ? [only(cursor)] : args.map(arg => arg(cursor)));
  }

  /** Takes the arguments of one row into the aggregate with the number `at`. */
  take(group: Group, at: number, values: readonly Value[]): void {
    const {machine, node} = this.#aggregates[at] as PreparedAggregate;
    if (node.distinct) {
      const seen = group.seen[at] ?? new Set();
      group.seen[at] = seen;
      const key = joinKeys(values);
      if (seen.has(key)) return;
      seen.add(key);
      this.keep(key.length + 48);
    }
    group.states[at] = machine.step(group.states[at], values, this.#context);
    if (machine !== countRows && isCollection(group.states[at])) this.keep(estimateAll(values));
  }

  /** The group of a tuple of keys, a new one if need be. */
  group(keys: readonly Value[]): Group {
    const key = tupleKey(keys);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group = {
      keys,
      states: this.#aggregates.map(aggregate => aggregate.machine.init()),
      seen: [],
    };
    this.#groups.set(key, group);
    const keyBytes = typeof key === 'number' ? 8 : key.length;
    this.keep(keyBytes + 64 + 32 * this.#aggregates.length + estimateAll(keys));
    return group;
  }

  /** Counts memory that goes with the groups. */
  keep(bytes: number): void {
    this.#context.budget.keep(bytes);
    this.#bytes += bytes;
  }

  release(): void {
    this.#context.budget.release(this.#bytes);
  }

  *rows(node: Node, argument: Batch): ReturnType<Operator> {
    if (node.keys.length === 0) this.group([]);
    const builder = new BatchBuilder();
    for (const group of this.#groups.values()) {
      builder.copy(argument.columns.length === 0 ? unitBatch : argument, 0);
      node.keys.forEach((key, at) => builder.set(key.slot, group.keys[at] ?? null));
      this.#aggregates.forEach((aggregate, at) => {
        const value = aggregate.machine.finish(group.states[at], this.#context);
        builder.set(aggregate.node.slot, value);
      });
      if (builder.rowCount >= this.#context.batchRows) yield builder.take();
      if (this.#context.budget.spend(1)) yield pause;
    }
    if (builder.rowCount > 0) yield builder.take();
  }
}

/** A number for the record or id that is the only key: no text is put together for it. */
function tupleKey(keys: readonly Value[]): string | number {
  const rid = keys.length === 1 ? ridOf(keys[0]) : undefined;
  const key = rid === undefined ? undefined : ridKey(rid);
  return typeof key === 'number' ? key : joinKeys(keys);
}

/** Whether a state grows with every row: then its arguments count as kept. */
function isCollection(state: unknown): boolean {
  return Array.isArray(state) || state instanceof Map || state instanceof Set;
}

function estimateAll(values: readonly Value[]): number {
  let bytes = 0;
  for (const value of values) bytes += estimateValue(value);
  return bytes;
}
