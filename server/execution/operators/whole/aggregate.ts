/**
 * `aggregate`: groups in order of first appearance; without keys exactly one row.
 *
 * Rows come from the input, or as packed columns where the input has them and nothing else is asked
 * of it (aggregate-columns.ts): the groups are the same (groups.ts).
 */
import {Refusal} from '#server/base/errors.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {Aggregate, PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder} from '../../batch.ts';
import {aggregate, type AggregateFunction, type FunctionRegistry} from '../../function-registry.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {prepareColumnAggregate} from './aggregate-columns.ts';
import {type FrontierNode, prepareReached} from '../hops/frontier.ts';
import {countRows, Groups} from './grouped.ts';
import {VertexSet} from '../hops/vertex-set.ts';

type Node = PlanNode & {readonly kind: 'aggregate'};

/** Rows that each stand for several. */
const addWeights: AggregateFunction = aggregate<number>({
  init: () => 0,
  step: (state, [weight]) => state + (weight as number),
  finish: state => state,
});

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
  const columns = prepareColumnAggregate(node, preparation, aggregates);
  return function* aggregateRows(context, argument) {
    const groups = new Groups(context, keys, aggregates);
    try {
      const run = columns?.(context, argument, groups);
      yield* run ?? groups.addAll(input(context, argument));
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
