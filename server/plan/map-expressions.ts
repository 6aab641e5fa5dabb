/** A node with every expression that it evaluates itself mapped: itself if none changed. */
import {unreachable} from '#server/base/assert.ts';
import type {Expression} from './expression.ts';
import type {Assignment, IndexBound, Output, PlanNode, SortKey} from './node.ts';
import {mapItems, withParts} from './tree.ts';

type Map = (expression: Expression) => Expression;

export function mapExpressions(node: PlanNode, map: Map): PlanNode {
  switch (node.kind) {
    case 'unit':
    case 'argument':
    case 'union':
    case 'intersect':
    case 'fallback':
    case 'barrier':
    case 'connect':
    case 'frontier':
    case 'chain':
    case 'apply':
    case 'delete':
    case 'retype':
      return node;
    case 'values':
      return withParts(node, {rows: mapItems(node.rows, row => mapItems(row, map))});
    case 'scan-type':
    case 'scan-bucket':
      return mapScan(node, map);
    case 'follow':
    case 'degree':
      return node.where ? withParts(node, {where: map(node.where)}) : node;
    case 'records':
      return withParts(node, {ids: map(node.ids)});
    case 'index-entries':
      return node.at ? withParts(node, {at: map(node.at)}) : node;
    case 'index-point':
      return withParts(node, {keys: mapItems(node.keys, map)});
    case 'ranked':
      return withParts(node, {
        query: map(node.query),
        count: node.count && map(node.count),
        ...(node.where && {where: map(node.where)}),
      });
    case 'fuse':
      return withParts(node, {
        strategy: node.strategy && map(node.strategy),
        constant: node.constant && map(node.constant),
        weights: node.weights && map(node.weights),
        count: node.count && map(node.count),
      });
    case 'index-range':
      return withParts(node, {from: mapBound(node.from, map), to: mapBound(node.to, map)});
    case 'call':
      return withParts(node, {args: mapItems(node.args, map)});
    case 'filter':
      return withParts(node, {condition: map(node.condition)});
    case 'extend':
      return withParts(node, {bind: mapValues(node.bind, map)});
    case 'project':
      return withParts(node, {output: mapOutput(node.output, map)});
    case 'unnest':
      return withParts(node, {list: map(node.list)});
    case 'walk':
      return withParts(node, {condition: node.condition && map(node.condition)});
    case 'shortest':
      return withParts(node, {
        from: map(node.from),
        to: map(node.to),
        ...(node.condition && {condition: map(node.condition)}),
      });
    case 'join':
      return withParts(node, {
        on: mapItems(node.on, on => withParts(on, {left: map(on.left), right: map(on.right)})),
      });
    case 'repeat':
      return withParts(node, {whileCondition: node.whileCondition && map(node.whileCondition)});
    case 'aggregate':
      return withParts(node, {
        keys: mapValues(node.keys, map),
        aggregates: mapItems(node.aggregates, a => withParts(a, {args: mapItems(a.args, map)})),
      });
    case 'distinct':
      return withParts(node, {by: mapItems(node.by, map)});
    case 'select-per-group':
      return withParts(node, {by: mapItems(node.by, map), measure: map(node.measure)});
    case 'sort':
      return withParts(node, {keys: mapKeys(node.keys, map)});
    case 'top':
      return withParts(node, {
        keys: mapKeys(node.keys, map),
        count: map(node.count),
        skip: node.skip && map(node.skip),
      });
    case 'skip':
    case 'limit':
      return withParts(node, {count: map(node.count)});
    case 'create':
      return withParts(node, {
        ...(typeof node.bucket === 'object' && {bucket: map(node.bucket)}),
        from: node.from && map(node.from),
        to: node.to && map(node.to),
        ...(node.rid && {rid: map(node.rid)}),
        assignments: mapAssignments(node.assignments, map),
      });
    case 'change':
      return withParts(node, {assignments: mapAssignments(node.assignments, map)});
    case 'upsert':
      return withParts(node, {
        seed: mapValues(node.seed, map),
        assignments: mapAssignments(node.assignments, map),
      });
    case 'erase':
      return withParts(node, {values: mapItems(node.values, map)});
    default:
      return unreachable(node);
  }
}

function mapScan(
  node: Extract<PlanNode, {readonly kind: 'scan-type' | 'scan-bucket'}>,
  map: Map,
): PlanNode {
  const scan =
    node.kind === 'scan-bucket' && node.asked
      ? withParts(node, {asked: mapItems(node.asked, map)})
      : node;
  const ids = scan.ids && {from: mapBound(scan.ids.from, map), to: mapBound(scan.ids.to, map)};
  return withParts(scan, {
    ...(scan.where && {where: map(scan.where)}),
    ...(scan.ids && ids && {ids: withParts(scan.ids, ids)}),
  });
}

function mapValues<Column extends {readonly value: Expression}>(
  columns: readonly Column[],
  map: Map,
): readonly Column[] {
  return mapItems(columns, column => {
    const value = map(column.value);
    return value === column.value ? column : {...column, value};
  });
}

function mapBound(bound: IndexBound | undefined, map: Map): IndexBound | undefined {
  return bound && withParts(bound, {values: mapItems(bound.values, map)});
}

function mapKeys(keys: readonly SortKey[], map: Map): readonly SortKey[] {
  return mapItems(keys, key => withParts(key, {by: map(key.by)}));
}

function mapOutput(output: Output, map: Map): Output {
  if (output.kind === 'element') return output;
  return withParts(output, {
    columns: mapItems(output.columns, column =>
      'value' in column
        ? withParts(column, {value: map(column.value)})
        : withParts(column, {spread: map(column.spread)}),
    ),
  });
}

function mapAssignments(assignments: readonly Assignment[], map: Map): readonly Assignment[] {
  return mapItems(assignments, assignment => {
    switch (assignment.kind) {
      case 'set':
      case 'content':
        return withParts(assignment, {value: map(assignment.value)});
      case 'set-inside':
        return withParts(assignment, {
          path: mapPath(assignment.path, map),
          value: map(assignment.value),
        });
      case 'remove':
        return assignment;
      case 'remove-inside':
        return withParts(assignment, {
          path: mapPath(assignment.path, map),
          value: assignment.value && map(assignment.value),
        });
      default:
        return unreachable(assignment);
    }
  });
}

function mapPath(
  path: readonly (string | Expression)[],
  map: Map,
): readonly (string | Expression)[] {
  return mapItems(path, part => (typeof part === 'string' ? part : map(part)));
}
