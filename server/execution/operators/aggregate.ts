/**
 * `aggregate`: groups in order of first appearance; without keys exactly one row.
 *
 * State: one entry a group, kept against the memory budget. A distinct aggregate keeps the set
 * of argument tuples it has seen. `count` without arguments is a number, not a state machine.
 */
import {Refusal} from '#server/base/errors.ts';
import {joinKeys} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {Aggregate, PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, unitBatch} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import {type Closure, Frame} from '../closure.ts';
import type {AggregateFunction, FunctionRegistry} from '../function-registry.ts';
import {type Operator, type Pause, pause, type Preparation} from '../operator.ts';
import {estimateValue} from '../expressions/value-size.ts';
import {type FrontierNode, prepareReached} from './frontier.ts';
import {VertexSet} from './vertex-set.ts';

type Node = PlanNode & {readonly kind: 'aggregate'};

interface PreparedAggregate {
  readonly node: Aggregate;
  readonly machine: AggregateFunction;
  readonly args: readonly Closure[];
}

interface Group {
  readonly keys: readonly Value[];
  readonly states: unknown[];
  /** Argument tuples seen, for distinct aggregates. */
  readonly seen: (Set<string> | undefined)[];
}

/** Rows counted, whatever is in them. */
const countRows: AggregateFunction = {
  init: () => 0,
  step: state => (state as number) + 1,
  finish: state => state as number,
};

/** Rows that each stand for several. */
const addWeights: AggregateFunction = {
  init: () => 0,
  step: (state, [weight]) => (state as number) + (weight as number),
  finish: state => state as number,
};

export function prepareAggregate(
  node: Node,
  preparation: Preparation,
  functions: FunctionRegistry,
): Operator {
  const counted = countedType(node);
  if (counted !== undefined) return prepareTypeCount(node, counted);
  const frontier = countedFrontier(node);
  if (frontier !== undefined) return prepareFrontierCount(node, frontier, preparation);
  const input = preparation.prepare(node.input);
  const keys = node.keys.map(key => preparation.expression(key.value));
  const aggregates = node.aggregates.map(aggregate => ({
    node: aggregate,
    machine: machineOf(aggregate, functions),
    args: argsOf(aggregate).map(arg => preparation.expression(arg)),
  }));
  return function* aggregate(context, argument) {
    const groups = new Groups(context, keys, aggregates);
    try {
      for (const batch of input(context, argument)) {
        if (batch === pause) yield pause;
        else {
          yield* groups.add(batch);
          if (context.budget.look()) yield pause;
        }
      }
      yield* groups.rows(node, argument);
    } finally {
      groups.release();
    }
  };
}

type TypeScan = PlanNode & {readonly kind: 'scan-type'};

/** The scan of a plan that only counts the records of a type: the counters know the answer. */
function countedType(node: Node): TypeScan | undefined {
  const {input} = node;
  if (input.kind !== 'scan-type' || input.where !== undefined) return undefined;
  return countsAllRows(node) ? input : undefined;
}

/** The frontier of a plan that only counts its vertices: no row is made of any. */
function countedFrontier(node: Node): FrontierNode | undefined {
  return node.input.kind === 'frontier' && countsAllRows(node) ? node.input : undefined;
}

function countsAllRows({keys, aggregates}: Node): boolean {
  const isCount = (each: Aggregate): boolean => isRowCount(each) && each.weight === undefined;
  return keys.length === 0 && aggregates.every(isCount);
}

function isRowCount(aggregate: Aggregate): boolean {
  return aggregate.name.toLowerCase() === 'count' && aggregate.args.length === 0;
}

function prepareTypeCount(node: Node, scan: TypeScan): Operator {
  return function* typeCount(context, argument) {
    yield countRow(node, argument, context.graph.countType(scan.type, scan.polymorphic));
  };
}

function prepareFrontierCount(
  node: Node,
  frontier: FrontierNode,
  preparation: Preparation,
): Operator {
  const reached = prepareReached(frontier, preparation);
  return function* frontierCount(context, argument) {
    const vertices = new VertexSet(context.budget);
    try {
      const {size} = yield* reached(context, argument, vertices);
      yield countRow(node, argument, size);
    } finally {
      vertices.release();
    }
  };
}

function countRow(node: Node, argument: Batch, count: number): Batch {
  const builder = new BatchBuilder();
  builder.copy(argument, 0);
  for (const aggregate of node.aggregates) builder.set(aggregate.slot, count);
  return builder.take();
}

function argsOf({args, weight}: Aggregate): readonly Expression[] {
  return weight === undefined ? args : [{kind: 'slot', slot: weight}];
}

function machineOf(aggregate: Aggregate, functions: FunctionRegistry): AggregateFunction {
  if (isRowCount(aggregate)) return aggregate.weight === undefined ? countRows : addWeights;
  const machine = functions.aggregate(aggregate.name);
  if (machine !== undefined) return machine;
  throw new Refusal('query.unknown-function', `there is no aggregate function ${aggregate.name}`, {
    place: aggregate.place,
  });
}

class Groups {
  readonly #context: ExecutionContext;
  readonly #keys: readonly Closure[];
  readonly #aggregates: readonly PreparedAggregate[];
  readonly #groups = new Map<string, Group>();
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

  *add(batch: Batch): Generator<Pause, void, undefined> {
    const frame = new Frame(this.#context, batch);
    const whole = this.#keys.length === 0 ? this.#group([]) : undefined;
    for (let row = 0; row < batch.rowCount; row++) {
      frame.row = row;
      const group = whole ?? this.#group(this.#keys.map(key => key(frame)));
      this.#aggregates.forEach((aggregate, at) => this.#step(group, aggregate, at, frame));
      if (this.#context.budget.spend(1)) yield pause;
    }
  }

  #step(group: Group, aggregate: PreparedAggregate, at: number, frame: Frame): void {
    const {args, machine, node} = aggregate;
    const [only] = args;
    const values = args.length === 1 && only ? [only(frame)] : args.map(arg => arg(frame));
    if (node.distinct) {
      const seen = group.seen[at] ?? new Set();
      group.seen[at] = seen;
      const key = joinKeys(values);
      if (seen.has(key)) return;
      seen.add(key);
      this.#keep(key.length + 48);
    }
    group.states[at] = machine.step(group.states[at], values, this.#context);
    if (machine !== countRows && isCollection(group.states[at])) this.#keep(estimateAll(values));
  }

  #group(keys: readonly Value[]): Group {
    const key = joinKeys(keys);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group = {
      keys,
      states: this.#aggregates.map(aggregate => aggregate.machine.init()),
      seen: [],
    };
    this.#groups.set(key, group);
    this.#keep(key.length + 64 + 32 * this.#aggregates.length + estimateAll(keys));
    return group;
  }

  #keep(bytes: number): void {
    this.#context.budget.keep(bytes);
    this.#bytes += bytes;
  }

  release(): void {
    this.#context.budget.release(this.#bytes);
  }

  *rows(node: Node, argument: Batch): ReturnType<Operator> {
    if (node.keys.length === 0) this.#group([]);
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

/** Whether a state grows with every row: then its arguments count as kept. */
function isCollection(state: unknown): boolean {
  return Array.isArray(state) || state instanceof Map || state instanceof Set;
}

function estimateAll(values: readonly Value[]): number {
  let bytes = 0;
  for (const value of values) bytes += estimateValue(value);
  return bytes;
}
