/**
 * `follow`: one hop over edges, a row an edge. Order: the input's rows, then edge type, other
 * end, edge.
 *
 * All vertices of a batch are asked for in one go, each once. The node's condition is decided on
 * hops (hop-test.ts), so only what passes becomes a row. Edges and ends stay ids where ids
 * suffice; else they are loaded a batch at a time.
 */
import type {RecordValue, Rid} from '#server/model/value.ts';
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Hop} from '../../graph.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {type HopFilter, HopFanOut, type PlacedHops} from './hop-fan-out.ts';
import {prepareHopTest} from './hop-test.ts';
import {RecordMemo} from '../writes/record-memo.ts';
import {idsOf, ridKey, ridOf} from './vertex-ids.ts';

type Node = PlanNode & {readonly kind: 'follow'};

const firstRows = 64;

export function prepareFollow(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const loadEnds = node.to !== undefined && !preparation.idSuffices(node.to);
  const loadEdges = node.edge !== undefined && !preparation.idSuffices(node.edge);
  const hopTest = prepareHopTest(node, preparation);
  return function* follow(context, argument) {
    const types = context.graph.edgeTypes(node.types);
    const memo = new RecordMemo(context);
    const {filter, ends} = hopTest(context, memo);
    // Small portions first: whoever asks may want only a few.
    let portion = Math.min(firstRows, context.batchRows);
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      const {rids, rows} = idsOf(batch, node.from);
      if (rids.length === 0) continue;
      const fanOut = new HopFanOut(context.graph, rids, {
        choice: {direction: node.direction, types, ends},
        filter: node.loops === 'once' && node.direction === 'both' ? withLoopsOnce(filter) : filter,
      });
      try {
        for (;;) {
          const placed = fanOut.next(portion);
          if (placed === undefined) break;
          portion = Math.min(portion * 4, context.batchRows);
          const {vertices} = fanOut;
          const found = hopRows(placed, {node, batch, vertices, rows, loadEdges, context});
          const complete =
            loadEnds && node.to !== undefined ? memo.complete(found, node.to) : found;
          if (complete.rowCount > 0) yield complete;
          if (context.budget.look()) yield pause;
        }
      } finally {
        fanOut.close();
      }
    }
  };
}

/** Leaves out the second meeting of an edge that leads back to its own start. */
export function withLoopsOnce(filter: HopFilter | undefined): HopFilter {
  return (hops, vertices) => {
    const once = hops.filter(hop => !isLoopAgain(hop, vertices[hop.source]));
    return filter === undefined ? once : filter(once, vertices);
  };
}

/** Whether the hop is a loop from its incoming side: it was met from the outgoing one. */
export function isLoopAgain(hop: Hop, vertex: Rid | undefined): boolean {
  return !hop.outgoing && vertex !== undefined && ridKey(hop.other) === ridKey(vertex);
}

interface HopRows {
  readonly node: Node;
  readonly batch: Batch;
  readonly vertices: readonly Rid[];
  readonly rows: readonly number[];
  readonly loadEdges: boolean;
  readonly context: ExecutionContext;
}

/** A row a hop; a hop whose edge is gone gives none. */
function hopRows({hops, places}: PlacedHops, parts: HopRows): Batch {
  const {node, batch, vertices, rows, loadEdges, context} = parts;
  const edges: readonly (RecordValue | Rid | undefined)[] = loadEdges
    ? context.graph.hopEdges(hops, vertices)
    : hops.map(hop => hop.edge);
  const kept: number[] = [];
  for (let at = 0; at < hops.length; at++) {
    if (edges[at] === undefined) continue;
    const row = rows[places[at] as number] as number;
    if (!isAmong((hops[at] as Hop).edge, node.unlike, batch, row)) kept.push(at);
  }
  let found = batch.gather(kept.map(at => rows[places[at] as number] as number));
  if (node.to !== undefined)
    found = found.with(
      node.to,
      kept.map(at => (hops[at] as Hop).other),
    );
  if (node.edge === undefined) return found;
  return found.with(
    node.edge,
    kept.map(at => edges[at] as RecordValue | Rid),
  );
}

/** Whether the edge is one of those in the row's slots. */
export function isAmong(
  {bucket, position}: Rid,
  slots: readonly Slot[] | undefined,
  batch: Batch,
  row: number,
): boolean {
  if (slots === undefined) return false;
  for (const slot of slots) {
    const other = ridOf(batch.get(slot, row));
    if (other?.position === position && other.bucket === bucket) return true;
  }
  return false;
}

/** All hops of the vertices at once; for callers that need them whole. */
export function allHops(
  rids: readonly Rid[],
  node: {readonly direction: Node['direction']; readonly types: readonly string[]},
  context: ExecutionContext,
): Hop[] {
  const {graph} = context;
  const types = graph.edgeTypes(node.types);
  const source = graph.hops(rids, {direction: node.direction, types});
  const hops: Hop[] = [];
  try {
    for (;;) {
      const part = source.next(context.batchRows);
      if (part === undefined) return hops;
      for (const hop of part) hops.push(hop);
      context.budget.look();
    }
  } finally {
    source.close();
  }
}
