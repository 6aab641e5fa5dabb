/**
 * `out`, `in`, `both`, `outE`, ..., `outV`: hops from a record, an id or a list of either.
 *
 * All starting vertices are asked for in one call. Of one vertex and of lists the answer is a
 * list, duplicates kept; `outV` and `inV` of a single edge answer a single vertex. What is
 * neither vertex nor edge has no neighbours.
 */
import type {Direction} from '#server/plan/node.ts';
import {type ListValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import {itemsOf} from '../expressions/access.ts';
import type {EdgeTypes, Hop} from '../graph.ts';
import {itemCountMax, namesFrom, refuse, singleRid} from './arguments.ts';
import {neighbourEdges, neighbourVertices, recordsOfRids} from './neighbour-records.ts';
import {degreeOf} from '../stored/hop-counts.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';

const portion = 4_096;

/** Edge types by name; unknown names have no edges. Undefined: nothing can be found. */
export function knownEdgeTypes(
  names: readonly string[],
  call: CallContext,
): {readonly types: EdgeTypes} | undefined {
  const known = names.filter(name => call.graph.typeExists(name));
  if (names.length > 0 && known.length === 0) return undefined;
  return {types: call.graph.edgeTypes(known)};
}

/** All hops of the vertices, in one list. */
export function collectHops(
  vertices: readonly Rid[],
  step: {readonly direction: Direction; readonly types: EdgeTypes},
  call: CallContext,
): Hop[] {
  const hops: Hop[] = [];
  const source = call.graph.hops(vertices, step);
  try {
    for (;;) {
      const part = source.next(portion);
      if (part === undefined) return hops;
      for (const hop of part) hops.push(hop);
      if (hops.length > itemCountMax * 4) refuse('one step reaches more than 4,000,000 edges');
      call.budget.spend(part.length + 1);
    }
  } finally {
    source.close();
  }
}

/** Ids of the vertices that a value stands for, lists in lists included. */
export function startsOf(value: Value): Rid[] {
  const rids: Rid[] = [];
  addStarts(value, rids);
  return rids;
}

function addStarts(value: Value, into: Rid[]): void {
  if (value instanceof RecordValue) {
    into.push(value.rid);
    return;
  }
  const items = itemsOf(value);
  if (items === undefined) {
    const rid = singleRid(value);
    if (rid !== undefined) into.push(rid);
    return;
  }
  for (const item of items) addStarts(item, into);
}

function vertexHop(direction: Direction, edges: boolean): ScalarFunction {
  return ([value = null, ...names], call) => {
    if (value === null) return null;
    const vertices = startsOf(value);
    const known = knownEdgeTypes(namesFrom(names, 0), call);
    if (known === undefined || vertices.length === 0) return [];
    const hops = collectHops(vertices, {direction, types: known.types}, call);
    return edges ? neighbourEdges(hops, vertices, call) : neighbourVertices(hops, call);
  };
}

/** How many there are, without making any of them. */
function hopCount(direction: Direction): ScalarFunction {
  return ([value = null, ...names], call) => {
    const known = knownEdgeTypes(namesFrom(names, 0), call);
    if (known === undefined) return 0;
    let sum = 0;
    for (const vertex of startsOf(value)) {
      sum += degreeOf(call.graph, vertex, {direction, types: known.types});
      call.budget.spend(1);
    }
    return sum;
  };
}

/** What `size()` of a hop's vertices comes to, by the name of the hop. */
export const hopCounts: Readonly<Record<string, ScalarFunction>> = {
  '.out': hopCount('out'),
  '.in': hopCount('in'),
  '.both': hopCount('both'),
};

/** The ends of edges: ids first, their records when somebody looks inside. */
function edgeEnds(ends: readonly ('from' | 'to')[]): ScalarFunction {
  return ([value = null], call) => {
    const items = itemsOf(value);
    const edges = items === undefined ? [value] : flattened(items);
    const rids: Rid[] = [];
    for (const item of edges) {
      const edge = item instanceof Rid ? call.graph.record(item) : item;
      if (!(edge instanceof RecordValue)) continue;
      for (const end of ends) {
        const rid = edge[end];
        if (rid !== undefined) rids.push(rid);
      }
      call.budget.spend(1);
    }
    const records = recordsOfRids(rids, call);
    return items === undefined && ends.length === 1 ? (records[0] ?? null) : records;
  };
}

function flattened(items: ListValue): Value[] {
  return items.flatMap(item => itemsOf(item) ?? [item]);
}

export const hopFunctions: FunctionFamily = {
  scalars: {
    '.out': vertexHop('out', false),
    '.in': vertexHop('in', false),
    '.both': vertexHop('both', false),
    '.outE': vertexHop('out', true),
    '.inE': vertexHop('in', true),
    '.bothE': vertexHop('both', true),
    '.outV': edgeEnds(['from']),
    '.inV': edgeEnds(['to']),
    '.bothV': edgeEnds(['from', 'to']),
  },
};
