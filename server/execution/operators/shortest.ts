/**
 * `shortest`: the shortest path (or all of them) between two ends; null when there is none.
 *
 * Bidirectional: the smaller frontier grows by one whole level at a time, so a level is never
 * half known when the two sides meet. Each vertex remembers every step that reached it at its
 * least depth; from those the paths are put together at the meeting vertices.
 */
import {PathValue, type Rid, type Value} from '#server/model/value.ts';
import type {Direction, PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, unitBatch} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import {asItems} from '../expressions/access.ts';
import {Frame} from '../closure.ts';
import {type Operator, type Pause, pause, type Preparation} from '../operator.ts';
import {allHops} from './follow.ts';
import {type RidKey, ridKey, ridOf} from './vertex-ids.ts';
import {type StepStart, WalkStep} from './walk-step.ts';

type Node = PlanNode & {readonly kind: 'shortest'};

const reversed: Readonly<Record<Direction, Direction>> = {out: 'in', in: 'out', both: 'both'};
/** Paths that `all` answers at most for one pair of ends. */
const pathsMax = 10_000;
const visitedBytes = 160;

export function prepareShortest(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const from = preparation.expression(node.from);
  const to = preparation.expression(node.to);
  const steps = new WalkStep({edge: node.edge, condition: node.condition}, preparation);
  return function* shortest(context, argument) {
    const frame = new Frame(context, unitBatch);
    const builder = new BatchBuilder();
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        frame.enter(batch);
        frame.row = row;
        const start = ridOf(single(from(frame)));
        const end = ridOf(single(to(frame)));
        const search = start && end && new Search({node, steps, context, batch, row, start, end});
        const paths = search === undefined ? [] : yield* search.run();
        for (const path of paths.length === 0 ? [null] : paths) {
          builder.copy(batch, row);
          builder.set(node.path, path);
        }
        if (builder.rowCount >= context.batchRows) yield builder.take();
        if (context.budget.look()) yield pause;
      }
      if (builder.rowCount > 0) yield builder.take();
    }
  };
}

/** A list of one record counts as the record. */
function single(value: Value): Value {
  const items = asItems(value);
  return items.length === 1 ? (items[0] ?? null) : value;
}

/** How a vertex was reached: from whom, over which edge. */
interface Arrival {
  readonly from: Rid;
  readonly edge: Rid;
}

interface Side {
  readonly direction: Direction;
  readonly arrivals: Map<RidKey, Arrival[]>;
  readonly depths: Map<RidKey, number>;
  frontier: Rid[];
  depth: number;
}

class Search {
  readonly #node: Node;
  readonly #context: ExecutionContext;
  readonly #steps: WalkStep;
  readonly #origin: StepStart;
  readonly #forward: Side;
  readonly #backward: Side;
  #keptBytes = 0;

  constructor(parts: {
    readonly node: Node;
    readonly steps: WalkStep;
    readonly context: ExecutionContext;
    readonly batch: Batch;
    readonly row: number;
    readonly start: Rid;
    readonly end: Rid;
  }) {
    this.#node = parts.node;
    this.#context = parts.context;
    this.#steps = parts.steps;
    this.#origin = parts;
    this.#forward = newSide(parts.start, parts.node.direction);
    this.#backward = newSide(parts.end, reversed[parts.node.direction]);
  }

  *run(): Generator<Pause, PathValue[], undefined> {
    const forward = this.#forward;
    const backward = this.#backward;
    const [start] = forward.frontier;
    if (start !== undefined && backward.depths.has(ridKey(start))) return [new PathValue([start])];
    try {
      while (forward.frontier.length > 0 && backward.frontier.length > 0) {
        const depth = forward.depth + backward.depth;
        if (this.#node.depthMax !== undefined && depth >= this.#node.depthMax) return [];
        const grown = forward.frontier.length <= backward.frontier.length ? forward : backward;
        const meeting = yield* this.#grow(grown, grown === forward ? backward : forward);
        if (meeting.length > 0) return this.#paths(meeting);
      }
      return [];
    } finally {
      this.#context.budget.release(this.#keptBytes);
    }
  }

  /** Expands one level; answers the vertices where it met the other side. */
  *#grow(side: Side, other: Side): Generator<Pause, Rid[], undefined> {
    const {frontier} = side;
    const depth = side.depth + 1;
    const next: Rid[] = [];
    const {direction} = side;
    for (let from = 0; from < frontier.length; from += 256) {
      const part = frontier.slice(from, from + 256);
      const hops = allHops(part, {direction, types: this.#node.types}, this.#context);
      const at = {vertices: part, depth, walk: this.#origin};
      for (const {hop} of this.#steps.passing(hops, at)) {
        const key = ridKey(hop.other);
        const known = side.depths.get(key);
        if (known !== undefined && (known < depth || !this.#node.all)) continue;
        const arrival = {from: part[hop.source] as Rid, edge: hop.edge};
        const arrivals = side.arrivals.get(key);
        if (arrivals === undefined) side.arrivals.set(key, [arrival]);
        else arrivals.push(arrival);
        if (known !== undefined) continue;
        side.depths.set(key, depth);
        next.push(hop.other);
        this.#context.budget.keep(visitedBytes);
        this.#keptBytes += visitedBytes;
      }
      if (this.#context.budget.look()) yield pause;
    }
    side.frontier = next;
    side.depth = depth;
    return next.filter(rid => other.depths.has(ridKey(rid)));
  }

  #paths(meeting: readonly Rid[]): PathValue[] {
    const paths: PathValue[] = [];
    for (const middle of this.#node.all ? meeting : meeting.slice(0, 1)) {
      const heads = chains(this.#forward, middle);
      const tails = chains(this.#backward, middle);
      for (const head of heads) {
        for (const tail of tails) {
          if (paths.length >= pathsMax) return paths;
          paths.push(new PathValue([...[...head].reverse(), middle, ...tail]));
        }
      }
    }
    return this.#node.all ? paths : paths.slice(0, 1);
  }
}

function newSide(rid: Rid, direction: Direction): Side {
  return {
    direction,
    arrivals: new Map(),
    depths: new Map([[ridKey(rid), 0]]),
    frontier: [rid],
    depth: 0,
  };
}

/** Every way from `rid` back to the side's root: edge, vertex, edge, vertex, ... */
function chains(side: Side, rid: Rid): Rid[][] {
  const complete: Rid[][] = [];
  const open: {readonly at: Rid; readonly chain: Rid[]}[] = [{at: rid, chain: []}];
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    if (complete.length >= pathsMax) break;
    const {at, chain} = entry;
    if (side.depths.get(ridKey(at)) === 0) {
      complete.push(chain);
      continue;
    }
    for (const arrival of side.arrivals.get(ridKey(at)) ?? []) {
      open.push({at: arrival.from, chain: [...chain, arrival.edge, arrival.from]});
    }
  }
  return complete;
}
