/**
 * `follow`: one hop over edges, a row an edge. Order: the input's rows, then edge type, other
 * end, edge.
 *
 * All vertices of a batch are asked for in one go. Edges and ends stay ids where ids suffice;
 * else they are loaded a batch at a time.
 */
import type {RecordValue, Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import type {Hop} from '../graph.ts';
import {type Operator, pause, type Preparation} from '../operator.ts';
import {idsOf, withRecords} from './vertex-ids.ts';

type Node = PlanNode & {readonly kind: 'follow'};

const firstRows = 64;

export function prepareFollow(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const loadEnds = node.to !== undefined && !preparation.idSuffices(node.to);
  const loadEdges = node.edge !== undefined && !preparation.idSuffices(node.edge);
  return function* follow(context, argument) {
    const types = context.graph.edgeTypes(node.types);
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      const {rids, rows} = idsOf(batch, node.from);
      if (rids.length === 0) continue;
      const source = context.graph.hops(rids, node.direction, types);
      try {
        // Small portions first: whoever asks may want only a few.
        for (let portion = firstRows; ; portion *= 4) {
          const hops = source.next(Math.min(portion, context.batchRows));
          if (hops === undefined) break;
          const found = hopRows(hops, {node, batch, rids, rows, loadEdges, context});
          const complete = loadEnds ? ends(found, node, context) : found;
          if (complete.rowCount > 0) yield complete;
          if (context.budget.look()) yield pause;
        }
      } finally {
        source.close();
      }
    }
  };
}

interface HopRows {
  readonly node: Node;
  readonly batch: Batch;
  readonly rids: readonly Rid[];
  readonly rows: readonly number[];
  readonly loadEdges: boolean;
  readonly context: ExecutionContext;
}

function hopRows(hops: readonly Hop[], parts: HopRows): Batch {
  const {node, batch, rids, rows, loadEdges, context} = parts;
  const builder = new BatchBuilder();
  const edges: readonly (RecordValue | undefined)[] = loadEdges
    ? context.graph.hopEdges(hops, rids)
    : [];
  for (let at = 0; at < hops.length; at++) {
    const hop = hops[at] as Hop;
    const edge = loadEdges ? edges[at] : hop.edge;
    if (edge === undefined) continue;
    builder.copy(batch, rows[hop.source] as number);
    if (node.to !== undefined) builder.set(node.to, hop.other);
    if (node.edge !== undefined) builder.set(node.edge, edge);
  }
  return builder.take();
}

function ends(batch: Batch, node: Node, context: ExecutionContext): Batch {
  return node.to === undefined || batch.rowCount === 0
    ? batch
    : withRecords(batch, node.to, context.graph);
}

/** All hops of the vertices at once; for callers that need them whole. */
export function allHops(
  rids: readonly Rid[],
  node: {readonly direction: Node['direction']; readonly types: readonly string[]},
  context: ExecutionContext,
): Hop[] {
  const source = context.graph.hops(rids, node.direction, context.graph.edgeTypes(node.types));
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
