/**
 * `shortest`: the shortest path (or all of them) between two ends; null when there is none.
 *
 * Bidirectional: the smaller frontier grows by one whole level at a time, so a level is never
 * half known when the two sides meet; for a single path the search ends where they meet first.
 * Each vertex remembers every step that reached it at its least depth; from those the paths are put
 * together at the meeting vertices.
 *
 * A pattern of Cypher: its ends and conditions belong to the plan. SQL asks for the shortest path
 * of two values, by a function (functions/shortest-path.ts).
 */
import {PathValue, type Rid, type Value} from '#server/model/value.ts';
import {type Direction, type PlanNode, reversed} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, type Pause, pause, unitBatch} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {asItems} from '../../expressions/access.ts';
import {RowCursor} from '../../closure.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {allHops} from './follow.ts';
import {type RidKey, ridKey, ridOf} from './vertex-ids.ts';
import {type StepStart, WalkStep} from './walk-step.ts';

type Node = PlanNode & {readonly kind: 'shortest'};

/** Paths that `all` answers at most for one pair of ends. */
const pathsMax = 10_000;
const visitedBytes = 160;
const frontierPart = 1_024;

export function prepareShortest(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const from = preparation.expression(node.from);
  const to = preparation.expression(node.to);
  const steps = new WalkStep({edge: node.edge, condition: node.condition}, preparation);
  return function* shortest(context, argument) {
    const cursor = new RowCursor(context, unitBatch);
    const builder = new BatchBuilder();
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        cursor.enter(batch);
        cursor.row = row;
        const start = ridOf(single(from(cursor)));
        const end = ridOf(single(to(cursor)));
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

/** A vertex as one side knows it: at its least depth, with every step that reached it there. */
interface Found {
  readonly depth: number;
  /** Undefined for the side's root. */
  readonly first: Arrival | undefined;
  others: Arrival[] | undefined;
}

interface Side {
  readonly direction: Direction;
  readonly found: Map<RidKey, Found>;
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
    if (start !== undefined && backward.found.has(ridKey(start))) return [new PathValue([start])];
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
    for (let from = 0; from < frontier.length; from += frontierPart) {
      const part =
        frontier.length <= frontierPart ? frontier : frontier.slice(from, from + frontierPart);
      const hops = allHops(part, {direction, types: this.#node.types}, this.#context);
      const at = {vertices: part, depth, walk: this.#origin};
      for (const hop of this.#steps.passingHops(hops, at)) {
        const key = ridKey(hop.other);
        const known = side.found.get(key);
        if (known !== undefined && (known.depth < depth || !this.#node.all)) continue;
        const arrival = {from: part[hop.source] as Rid, edge: hop.edge};
        if (known !== undefined) {
          known.others ??= [];
          known.others.push(arrival);
          continue;
        }
        side.found.set(key, {depth, first: arrival, others: undefined});
        // For one path the first meeting is as good as any of its level.
        if (!this.#node.all && other.found.has(key)) return [hop.other];
        next.push(hop.other);
        this.#context.budget.keep(visitedBytes);
        this.#keptBytes += visitedBytes;
      }
      if (this.#context.budget.look()) yield pause;
    }
    side.frontier = next;
    side.depth = depth;
    return this.#node.all ? next.filter(rid => other.found.has(ridKey(rid))) : [];
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
    found: new Map([[ridKey(rid), {depth: 0, first: undefined, others: undefined}]]),
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
    const found = side.found.get(ridKey(at));
    if (found?.first === undefined) {
      complete.push(chain);
      continue;
    }
    for (const {from, edge} of [found.first, ...(found.others ?? [])]) {
      open.push({at: from, chain: [...chain, edge, from]});
    }
  }
  return complete;
}
