/**
 * `dijkstra`, `duanSSSP`, `astar` and `bellmanFord`: the path with the least sum of a property of
 * its edges.
 *
 * An edge without the property weighs nothing. All but the last settle the nearest open vertex
 * first (a binary heap), `astar` by the distance so far plus an estimate from coordinates of the
 * vertices; negative weights are refused there. `bellmanFord` relaxes a queue of vertices and
 * refuses a cycle that gets lighter for ever. Work and memory count against the statement.
 */
import {Refusal} from '#server/base/errors.ts';
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {MapValue, Rid} from '#server/model/value.ts';
import type {Direction} from '#server/plan/node.ts';
import type {CallContext} from '../context.ts';
import type {EdgeTypes} from '../graph.ts';
import {type RidKey, ridKey} from '../operators/hops/vertex-ids.ts';
import {argument, doubleAt, integerAt, namesFrom, refuse, singleRid, textAt} from './arguments.ts';
import {collectHops, knownEdgeTypes} from './hops.ts';
import {recordsOfRids} from './neighbour-records.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';
import {directionOf} from './shortest-path.ts';

const vertexBytes = 200;

interface Request {
  readonly name: string;
  readonly start: Rid;
  readonly end: Rid;
  readonly weight: string;
  readonly direction: Direction;
  readonly types: EdgeTypes;
  readonly depthMax: number;
  readonly estimate: (rid: Rid) => number;
}

interface Reached {
  readonly rid: Rid;
  readonly from: RidKey | undefined;
  readonly distance: number;
  readonly depth: number;
}

interface Step {
  readonly other: Rid;
  readonly weight: number;
}

/** The edges that leave a vertex, with their weights. */
function stepsFrom(rid: Rid, requested: Request, call: CallContext): Step[] {
  const hops = collectHops([rid], requested, call);
  const edges = call.graph.hopEdges(hops, [rid]);
  call.budget.spend(hops.length);
  return hops.map((hop, at) => {
    const weight = edges[at]?.get(requested.weight);
    return {other: hop.other, weight: isNumberValue(weight) ? numberOf(weight) : 0};
  });
}

/** Settles the open vertex of the least estimated distance until it is the end. */
function nearestFirst(requested: Request, call: CallContext): Rid[] {
  const reached = new Map<RidKey, Reached>();
  const settled = new Set<RidKey>();
  const open = new DistanceHeap();
  const endKey = ridKey(requested.end);
  const startKey = ridKey(requested.start);
  reached.set(startKey, {rid: requested.start, from: undefined, distance: 0, depth: 0});
  open.push(startKey, 0);
  try {
    for (let key = open.pop(); key !== undefined; key = open.pop()) {
      if (settled.has(key)) continue;
      settled.add(key);
      if (key === endKey) return chainOf(reached, key);
      const here = reached.get(key) as Reached;
      if (here.depth >= requested.depthMax) continue;
      for (const {other, weight} of stepsFrom(here.rid, requested, call)) {
        if (weight < 0) {
          throw new Refusal(
            'query.execution',
            `${requested.name} needs weights from 0, not ${weight}`,
          );
        }
        const otherKey = ridKey(other);
        const distance = here.distance + weight;
        const known = reached.get(otherKey);
        if (settled.has(otherKey) || (known !== undefined && known.distance <= distance)) continue;
        if (known === undefined) call.budget.keep(vertexBytes);
        reached.set(otherKey, {rid: other, from: key, distance, depth: here.depth + 1});
        open.push(otherKey, distance + requested.estimate(other));
      }
    }
    return [];
  } finally {
    call.budget.release((reached.size - 1) * vertexBytes);
  }
}

/** Relaxes the edges of every vertex whose distance fell, until none does. */
function untilStable(requested: Request, call: CallContext): Rid[] {
  const startKey = ridKey(requested.start);
  const reached = new Map<RidKey, Reached>([
    [startKey, {rid: requested.start, from: undefined, distance: 0, depth: 0}],
  ]);
  const queue = [startKey];
  const queued = new Set(queue);
  const outgoing = new Map<RidKey, Step[]>();
  let keptBytes = 0;
  try {
    for (let at = 0; at < queue.length; at++) {
      const key = queue[at] as RidKey;
      queued.delete(key);
      const here = reached.get(key) as Reached;
      let steps = outgoing.get(key);
      if (steps === undefined) {
        steps = stepsFrom(here.rid, requested, call);
        outgoing.set(key, steps);
        keptBytes += vertexBytes * (steps.length + 1);
        call.budget.keep(vertexBytes * (steps.length + 1));
      }
      call.budget.spend(steps.length + 1);
      for (const {other, weight} of steps) {
        const otherKey = ridKey(other);
        const distance = here.distance + weight;
        const known = reached.get(otherKey);
        if (known !== undefined && known.distance <= distance) continue;
        // A least path has no more edges than there are vertices: a longer one runs in a circle.
        if (otherKey === startKey || here.depth > reached.size) lighterForEver();
        reached.set(otherKey, {rid: other, from: key, distance, depth: here.depth + 1});
        if (queued.has(otherKey)) continue;
        queued.add(otherKey);
        queue.push(otherKey);
      }
    }
  } finally {
    call.budget.release(keptBytes);
  }
  const endKey = ridKey(requested.end);
  return reached.has(endKey) ? chainOf(reached, endKey) : [];
}

function lighterForEver(): never {
  throw new Refusal('query.execution', 'the weights of a cycle sum up to less than zero');
}

function chainOf(reached: ReadonlyMap<RidKey, Reached>, end: RidKey): Rid[] {
  const chain: Rid[] = [];
  for (let key: RidKey | undefined = end; key !== undefined; ) {
    const vertex = reached.get(key) as Reached;
    chain.push(vertex.rid);
    key = vertex.from;
  }
  return chain.reverse();
}

/** Keys by distance, the least first; a key may be in it several times. */
class DistanceHeap {
  readonly #keys: RidKey[] = [];
  readonly #distances: number[] = [];

  push(key: RidKey, distance: number): void {
    let at = this.#keys.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((this.#distances[parent] as number) <= distance) break;
      this.#put(at, this.#keys[parent] as RidKey, this.#distances[parent] as number);
      at = parent;
    }
    this.#put(at, key, distance);
  }

  pop(): RidKey | undefined {
    const top = this.#keys[0];
    const key = this.#keys.pop();
    const distance = this.#distances.pop();
    if (key === undefined || distance === undefined || this.#keys.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#keys.length) break;
      const right = this.#distances[child + 1];
      if (right !== undefined && right < (this.#distances[child] as number)) child++;
      if ((this.#distances[child] as number) >= distance) break;
      this.#put(at, this.#keys[child] as RidKey, this.#distances[child] as number);
      at = child;
    }
    this.#put(at, key, distance);
    return top;
  }

  #put(at: number, key: RidKey, distance: number): void {
    this.#keys[at] = key;
    this.#distances[at] = distance;
  }
}

const knownOptions: ReadonlySet<string> = new Set([
  'direction',
  'edgeTypeNames',
  'vertexAxisNames',
  'parallel',
  'tieBreaker',
  'emptyIfMaxDepth',
  'maxDepth',
  'dFactor',
  'heuristicFormula',
]);

function pathFunction(
  name: string,
  search: (requested: Request, call: CallContext) => Rid[],
): ScalarFunction {
  return (args, call) => {
    const start = singleRid(argument(args, 0));
    const end = singleRid(argument(args, 1));
    if (start === undefined || end === undefined) return [];
    const last = argument(args, 3);
    const options: MapValue = last instanceof Map ? last : new Map([['direction', last]]);
    for (const key of options.keys()) {
      if (!knownOptions.has(key)) refuse(`${name} has no option '${key}'`);
    }
    const known = knownEdgeTypes(namesFrom([options.get('edgeTypeNames') ?? null], 0), call);
    if (known === undefined) return [];
    const requested: Request = {
      name,
      start,
      end,
      weight: textAt(args, 2, 'weight'),
      direction: directionOf(options.get('direction') ?? null, 'out'),
      types: known.types,
      depthMax: integerAt([options.get('maxDepth') ?? null], 0, 'maxDepth', 1e9),
      estimate: estimateOf(end, options, call),
    };
    return recordsOfRids(search(requested, call), call);
  };
}

/** Distance to the end by the coordinates that `vertexAxisNames` names; 0 without them. */
function estimateOf(end: Rid, options: MapValue, call: CallContext): (rid: Rid) => number {
  const axes = namesFrom([options.get('vertexAxisNames') ?? null], 0);
  const formula = textAt([options.get('heuristicFormula') ?? null], 0, 'MANHATTAN').toUpperCase();
  const measure = formulas[formula] ?? refuse(`there is no heuristicFormula '${formula}'`);
  if (axes.length === 0) return () => 0;
  const factorGiven = options.get('dFactor') ?? null;
  const factor = factorGiven === null ? 1 : doubleAt([factorGiven], 0, 'dFactor');
  const target = coordinates(end, axes, call);
  return rid => {
    const here = coordinates(rid, axes, call);
    return factor * measure(here.map((value, at) => Math.abs(value - (target[at] ?? 0))));
  };
}

function coordinates(rid: Rid, axes: readonly string[], call: CallContext): number[] {
  const record = call.graph.record(rid);
  return axes.map(axis => {
    const value = record?.get(axis);
    return isNumberValue(value) ? numberOf(value) : 0;
  });
}

const sum = (parts: readonly number[]): number => parts.reduce((total, part) => total + part, 0);

const formulas: Readonly<Record<string, (differences: readonly number[]) => number>> = {
  MANHATTAN: sum,
  MAXAXIS: differences => Math.max(...differences),
  DIAGONAL: differences => {
    const least = Math.min(...differences);
    return least * Math.SQRT2 + (sum(differences) - differences.length * least);
  },
  EUCLIDEAN: differences => Math.hypot(...differences),
  EUCLIDEANNOSQR: differences => sum(differences.map(part => part * part)),
};

export const weightedPathFunctions: FunctionFamily = {
  scalars: {
    dijkstra: pathFunction('dijkstra', nearestFirst),
    duanSSSP: pathFunction('duanSSSP', nearestFirst),
    astar: pathFunction('astar', nearestFirst),
    bellmanFord: pathFunction('bellmanFord', untilStable),
  },
};
