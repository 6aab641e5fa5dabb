/**
 * `aggregate`: groups in order of first appearance; without keys exactly one row.
 *
 * Rows come from the input, or as packed columns where the input has them and nothing else is asked
 * of it (aggregate-columns.ts): the groups are the same (groups.ts).
 */
import {Refusal} from '#server/base/errors.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {Aggregate, PlanNode} from '#server/plan/node.ts';
import {BatchBuilder} from '../batch.ts';
import {aggregate, type AggregateFunction, type FunctionRegistry} from '../function-registry.ts';
import type {Operator, Preparation} from '../operator.ts';
import {prepareColumnAggregate} from './aggregate-columns.ts';
import {countRows, Groups} from './groups.ts';

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
  const {input, keys, aggregates} = node;
  if (input.kind !== 'scan-type' || input.where !== undefined || keys.length > 0) return undefined;
  return aggregates.every(each => isRowCount(each) && each.weight === undefined)
    ? input
    : undefined;
}

function isRowCount(aggregate: Aggregate): boolean {
  return aggregate.name.toLowerCase() === 'count' && aggregate.args.length === 0;
}

function prepareTypeCount(node: Node, scan: TypeScan): Operator {
  return function* typeCount(context, argument) {
    const count = context.graph.countType(scan.type, scan.polymorphic);
    const builder = new BatchBuilder();
    builder.copy(argument, 0);
    for (const aggregate of node.aggregates) builder.set(aggregate.slot, count);
    yield builder.take();
  };
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
