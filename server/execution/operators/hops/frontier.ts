/**
 * `frontier`: the vertices behind so many hops, each once, by bucket and position.
 *
 * Sets, not paths: of each hop only the set of its ends is kept, so a hub that a thousand ways lead
 * to is followed once. Where edges are packed in memory a hop is a loop over numbers; the other
 * vertices are read as `follow` reads them.
 *
 * Memory: a bit a position of the buckets that are met, for two sets.
 */
import {Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {chunkVertices, type EdgeChoice} from '#server/caches/adjacency-chunk.ts';
import type {PinnedChunk} from '#server/caches/shared-adjacency.ts';
import {Batch, BatchBuilder, type Pause, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {idsOf, withRecords} from './vertex-ids.ts';
import {endsOf, type VertexBlock, vertexIds, VertexSet, wordsPerBlock} from './vertex-set.ts';

export type FrontierNode = PlanNode & {readonly kind: 'frontier'};

/** Vertices whose keys are read in one go. */
const verticesAtOnce = 1_024;
/** This many packed edges cost what a row does. */
const edgesPerUnit = 32;
const edgesPerLook = 16_384;

export function prepareFrontier(node: FrontierNode, preparation: Preparation): Operator {
  const reached = prepareReached(node, preparation);
  const loads = !preparation.idSuffices(node.to);
  return function* frontier(context, argument) {
    const vertices = new VertexSet(context.budget);
    try {
      yield* reached(context, argument, vertices);
      for (const ids of portions(vertices, context.batchRows)) {
        const rows = rowsOf(argument, node.to, ids);
        const complete = loads ? withRecords(rows, node.to, context.graph) : rows;
        if (complete.rowCount > 0) yield complete;
        if (context.budget.look()) yield pause;
      }
    } finally {
      vertices.release();
    }
  };
}

/** Fills an empty set with the vertices of the last hop, and answers it. */
type Reached = (
  context: ExecutionContext,
  argument: Batch,
  into: VertexSet,
) => Generator<Pause, VertexSet, undefined>;

export function prepareReached(node: FrontierNode, preparation: Preparation): Reached {
  const input = preparation.prepare(node.input);
  return function* reached(context, argument, into) {
    const {graph, budget} = context;
    const choices = node.steps.map(({direction, types}) => {
      return {direction, types: graph.edgeTypes(types)};
    });
    let here = new VertexSet(budget);
    let next = new VertexSet(budget);
    try {
      for (const batch of input(context, argument)) {
        if (batch === pause) yield pause;
        else for (const rid of idsOf(batch, node.from).rids) here.add(rid);
      }
      for (const [at, choice] of choices.entries()) {
        const target = at === choices.length - 1 ? into : next;
        yield* new Expansion(context, choice, target).of(here);
        here.release();
        [here, next] = [next, here];
      }
      return into;
    } finally {
      here.release();
      next.release();
    }
  };
}

/** One hop from every vertex of a set. */
class Expansion {
  readonly #context: ExecutionContext;
  readonly #choice: EdgeChoice;
  readonly #into: VertexSet;
  /** Vertices whose edges are not packed. */
  #rest: Rid[] = [];

  constructor(context: ExecutionContext, choice: EdgeChoice, into: VertexSet) {
    this.#context = context;
    this.#choice = choice;
    this.#into = into;
  }

  *of(vertices: VertexSet): Generator<Pause, void, undefined> {
    const {graph} = this.#context;
    for (const block of vertices.blocks()) {
      const held = graph.packedEdges(block.bucket, block.number);
      if (held !== undefined) yield* this.#packed(block, held);
      else {
        for (const rid of vertexIds(block)) {
          this.#rest.push(rid);
          if (this.#rest.length >= verticesAtOnce) yield* this.#read();
        }
      }
    }
    yield* this.#read();
  }

  *#packed(block: VertexBlock, {chunk, dirty}: PinnedChunk): Generator<Pause, void, undefined> {
    const {budget} = this.#context;
    const selection = chunk.select(this.#choice);
    const ends = endsOf(chunk, selection);
    const {bucket, number, words} = block;
    let edges = 0;
    for (let word = 0; word < wordsPerBlock; word++) {
      for (let bits = words[word] as number; bits !== 0; ) {
        const bit = bits & -bits;
        bits ^= bit;
        const vertex = word * 32 + 31 - Math.clz32(bit);
        if (dirty.size > 0 && dirty.has(vertex)) {
          this.#rest.push(new Rid(bucket, number * chunkVertices + vertex));
          continue;
        }
        selection.move(vertex);
        const {start, end} = selection;
        // The edges of a hub alone may be many.
        for (let from = start; from < end; from += edgesPerLook) {
          const to = Math.min(end, from + edgesPerLook);
          this.#into.addEnds(selection, ends, from, to);
          edges += to - from;
          if (edges < edgesPerLook) continue;
          if (budget.spend(edges / edgesPerUnit)) yield pause;
          edges = 0;
        }
        edges++;
      }
    }
    budget.spend(edges / edgesPerUnit);
    if (this.#rest.length >= verticesAtOnce) yield* this.#read();
  }

  *#read(): Generator<Pause, void, undefined> {
    if (this.#rest.length === 0) return;
    const {graph, budget, batchRows} = this.#context;
    const source = graph.hops(this.#rest, this.#choice);
    this.#rest = [];
    try {
      for (let part = source.next(batchRows); part !== undefined; part = source.next(batchRows)) {
        for (const {other} of part) this.#into.add(other);
        if (budget.spend(part.length)) yield pause;
      }
    } finally {
      source.close();
    }
  }
}

function* portions(vertices: VertexSet, max: number): Generator<Rid[], void, undefined> {
  let ids: Rid[] = [];
  for (const block of vertices.blocks()) {
    for (const rid of vertexIds(block)) {
      ids.push(rid);
      if (ids.length < max) continue;
      yield ids;
      ids = [];
    }
  }
  if (ids.length > 0) yield ids;
}

/** The only row of the argument, once for each vertex. */
function rowsOf(argument: Batch, slot: number, ids: readonly Rid[]): Batch {
  if (argument.columns.length === 0) return new Batch([], ids.length).with(slot, ids);
  const builder = new BatchBuilder();
  for (const rid of ids) {
    builder.copy(argument, 0);
    builder.set(slot, rid);
  }
  return builder.take();
}
