/** Rebuilds a node with every expression that it evaluates itself mapped. */
import {unreachable} from '#server/base/assert.ts';
import type {Expression} from './expression.ts';
import type {Assignment, IndexBound, Output, PlanNode, SortKey} from './node.ts';

type Map = (expression: Expression) => Expression;

export function mapExpressions(node: PlanNode, map: Map): PlanNode {
  switch (node.kind) {
    case 'unit':
    case 'argument':
    case 'union':
    case 'intersect':
    case 'otherwise':
    case 'barrier':
    case 'connect':
    case 'frontier':
    case 'chain':
    case 'apply':
    case 'delete':
    case 'retype':
      return node;
    case 'values':
      return {...node, rows: node.rows.map(row => row.map(map))};
    case 'scan-type':
    case 'scan-bucket':
      return {
        ...node,
        ...(node.kind === 'scan-bucket' && node.asked && {asked: node.asked.map(map)}),
        ...(node.where && {where: map(node.where)}),
        ...(node.ids && {
          ids: {from: mapBound(node.ids.from, map), to: mapBound(node.ids.to, map)},
        }),
      };
    case 'follow':
    case 'degree':
      return node.where ? {...node, where: map(node.where)} : node;
    case 'records':
      return {...node, ids: map(node.ids)};
    case 'index-entries':
      return node.at ? {...node, at: map(node.at)} : node;
    case 'index-point':
      return {...node, keys: node.keys.map(map)};
    case 'index-range':
      return {...node, from: mapBound(node.from, map), to: mapBound(node.to, map)};
    case 'call':
      return {...node, args: node.args.map(map)};
    case 'filter':
      return {...node, condition: map(node.condition)};
    case 'extend':
      return {...node, bind: node.bind.map(b => ({...b, value: map(b.value)}))};
    case 'project':
      return {...node, output: mapOutput(node.output, map)};
    case 'unnest':
      return {...node, list: map(node.list)};
    case 'walk':
      return {...node, condition: node.condition && map(node.condition)};
    case 'shortest':
      return {
        ...node,
        from: map(node.from),
        to: map(node.to),
        ...(node.condition && {condition: map(node.condition)}),
      };
    case 'join':
      return {...node, on: node.on.map(on => ({left: map(on.left), right: map(on.right)}))};
    case 'repeat':
      return {...node, whileCondition: node.whileCondition && map(node.whileCondition)};
    case 'aggregate':
      return {
        ...node,
        keys: node.keys.map(key => ({...key, value: map(key.value)})),
        aggregates: node.aggregates.map(a => ({...a, args: a.args.map(map)})),
      };
    case 'distinct':
      return {...node, by: node.by.map(map)};
    case 'pick':
      return {...node, by: node.by.map(map), measure: map(node.measure)};
    case 'sort':
      return {...node, keys: mapKeys(node.keys, map)};
    case 'top':
      return {
        ...node,
        keys: mapKeys(node.keys, map),
        count: map(node.count),
        skip: node.skip && map(node.skip),
      };
    case 'skip':
    case 'limit':
      return {...node, count: map(node.count)};
    case 'create':
      return {
        ...node,
        from: node.from && map(node.from),
        to: node.to && map(node.to),
        ...(node.rid && {rid: map(node.rid)}),
        assignments: mapAssignments(node.assignments, map),
      };
    case 'change':
      return {...node, assignments: mapAssignments(node.assignments, map)};
    case 'upsert':
      return {
        ...node,
        seed: node.seed.map(column => ({...column, value: map(column.value)})),
        assignments: mapAssignments(node.assignments, map),
      };
    case 'erase':
      return {...node, values: node.values.map(map)};
    default:
      return unreachable(node);
  }
}

function mapBound(bound: IndexBound | undefined, map: Map): IndexBound | undefined {
  return bound && {...bound, values: bound.values.map(map)};
}

function mapKeys(keys: readonly SortKey[], map: Map): readonly SortKey[] {
  return keys.map(key => ({...key, by: map(key.by)}));
}

function mapOutput(output: Output, map: Map): Output {
  if (output.kind === 'element') return output;
  return {
    ...output,
    columns: output.columns.map(column =>
      'value' in column
        ? {...column, value: map(column.value)}
        : {...column, spread: map(column.spread)},
    ),
  };
}

function mapAssignments(assignments: readonly Assignment[], map: Map): readonly Assignment[] {
  return assignments.map(assignment => {
    switch (assignment.kind) {
      case 'set':
      case 'content':
        return {...assignment, value: map(assignment.value)};
      case 'set-inside':
        return {...assignment, path: mapPath(assignment.path, map), value: map(assignment.value)};
      case 'remove':
        return assignment;
      case 'remove-inside':
        return {
          ...assignment,
          path: mapPath(assignment.path, map),
          value: assignment.value && map(assignment.value),
        };
      default:
        return unreachable(assignment);
    }
  });
}

function mapPath(
  path: readonly (string | Expression)[],
  map: Map,
): readonly (string | Expression)[] {
  return path.map(part => (typeof part === 'string' ? part : map(part)));
}
