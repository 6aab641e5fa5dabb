/**
 * `shortestPath`: the vertices of a shortest path, or vertices and edges in turn.
 *
 * Breadth first from both ends; the smaller frontier grows by one whole level in one call of the
 * graph. Each vertex is kept once, with the hop that found it. No path answers an empty list.
 */
import type {MapValue, Rid, Value} from '#server/model/value.ts';
import {type Direction, reversed} from '#server/plan/node.ts';
import type {CallContext} from '../context.ts';
import type {EdgeTypes} from '../graph.ts';
import {type RidKey, ridKey} from '../operators/hops/vertex-ids.ts';
import {argument, integerAt, mapAt, namesFrom, refuse, singleRid} from './arguments.ts';
import {collectHops, knownEdgeTypes} from './hops.ts';
import {recordsOfRids} from './neighbour-records.ts';
import type {FunctionFamily} from '../function-registry.ts';

const visitedBytes = 160;
const frontierPart = 1_024;

/** How a vertex was found: from whom and over which edge; undefined for an end. */
type Arrival = {readonly from: Rid; readonly edge: Rid} | undefined;

interface Side {
  readonly direction: Direction;
  readonly arrivals: Map<RidKey, Arrival>;
  frontier: Rid[];
}

interface Search {
  readonly types: EdgeTypes;
  readonly call: CallContext;
  keptBytes: number;
}

/** `OUT`, `IN` or `BOTH` in any case; of an absent one `otherwise`. */
export function directionOf(value: Value, otherwise: Direction): Direction {
  if (value === null) return otherwise;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (text === 'out' || text === 'in' || text === 'both') return text;
  return refuse("the direction of a path is 'OUT', 'IN' or 'BOTH'");
}

function shortestPath(args: readonly Value[], call: CallContext): Value {
  const start = singleRid(argument(args, 0));
  const end = singleRid(argument(args, 1));
  if (start === undefined || end === undefined) return [];
  const direction = directionOf(argument(args, 2), 'both');
  const known = knownEdgeTypes(namesFrom(args.slice(0, 4), 3), call);
  const options = optionsOf(mapAt(args, 4, 'shortestPath', call));
  const path = findPath({start, end, direction, depthMax: options.depthMax}, known, call);
  const shown = options.edge ? path : path.filter((_, at) => at % 2 === 0);
  return recordsOfRids(shown, call).map((record, at) =>
    options.edge && at % 2 === 1 ? (call.graph.record(record.rid) ?? record.rid) : record,
  );
}

function optionsOf(map: MapValue): {readonly depthMax: number; readonly edge: boolean} {
  for (const key of map.keys()) {
    if (key !== 'maxDepth' && key !== 'edge') {
      refuse(`shortestPath has no option '${key}', only maxDepth and edge`);
    }
  }
  const depthMax = integerAt([map.get('maxDepth') ?? null], 0, 'maxDepth', Number.MAX_SAFE_INTEGER);
  return {depthMax, edge: map.get('edge') === true || map.get('edge') === 'true'};
}

/** Vertex, edge, vertex, ...; empty without a path. */
function findPath(
  requested: {
    readonly start: Rid;
    readonly end: Rid;
    readonly direction: Direction;
    readonly depthMax: number;
  },
  known: {readonly types: EdgeTypes} | undefined,
  call: CallContext,
): Rid[] {
  const {start, end, direction} = requested;
  if (ridKey(start) === ridKey(end)) return [start];
  if (known === undefined) return [];
  const search: Search = {types: known.types, call, keptBytes: 0};
  const forward = newSide(start, direction);
  const backward = newSide(end, reversed[direction]);
  try {
    for (let depth = 0; depth < requested.depthMax; depth++) {
      if (forward.frontier.length === 0 || backward.frontier.length === 0) return [];
      const grows = forward.frontier.length <= backward.frontier.length ? forward : backward;
      const meeting = grow(grows, grows === forward ? backward : forward, search);
      if (meeting === undefined) continue;
      const head = chainTo(forward, meeting).reverse();
      return [...head, ...chainTo(backward, meeting).slice(1)];
    }
    return [];
  } finally {
    call.budget.release(search.keptBytes);
  }
}

function newSide(rid: Rid, direction: Direction): Side {
  return {direction, arrivals: new Map([[ridKey(rid), undefined]]), frontier: [rid]};
}

/** Expands one level; the first vertex that the other side knows ends the search. */
function grow(side: Side, other: Side, search: Search): Rid | undefined {
  const next: Rid[] = [];
  const {direction, arrivals} = side;
  for (let at = 0; at < side.frontier.length; at += frontierPart) {
    const part = side.frontier.slice(at, at + frontierPart);
    for (const hop of collectHops(part, {direction, types: search.types}, search.call)) {
      const key = ridKey(hop.other);
      if (arrivals.has(key)) continue;
      arrivals.set(key, {from: part[hop.source] as Rid, edge: hop.edge});
      if (other.arrivals.has(key)) return hop.other;
      next.push(hop.other);
      search.call.budget.keep(visitedBytes);
      search.keptBytes += visitedBytes;
    }
  }
  side.frontier = next;
  return undefined;
}

/** The way from `rid` back to the side's end: vertex, edge, vertex, ... */
function chainTo(side: Side, rid: Rid): Rid[] {
  const chain = [rid];
  for (let at = side.arrivals.get(ridKey(rid)); at !== undefined; ) {
    chain.push(at.edge, at.from);
    at = side.arrivals.get(ridKey(at.from));
  }
  return chain;
}

export const pathFunctions: FunctionFamily = {scalars: {shortestPath}};
