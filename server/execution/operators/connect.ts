/**
 * `connect`: the edges between two bound ends, a row an edge; without an `edge` slot each pair
 * that is connected passes once.
 *
 * The hops of the batch's `from` ends are walked and kept where they meet the row's `to`.
 */
import type {RecordValue, Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {BatchBuilder} from '../batch.ts';
import type {Hop} from '../graph.ts';
import {type Operator, pause, type Preparation} from '../operator.ts';
import {allHops} from './follow.ts';
import {type RidKey, ridKey, ridOf} from './vertex-ids.ts';

type Node = PlanNode & {readonly kind: 'connect'};

/** Rows looked at together: bounds the hops kept at once. */
const groupRows = 64;

export function prepareConnect(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const loadEdges = node.edge !== undefined && !preparation.idSuffices(node.edge);
  return function* connect(context, argument) {
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let start = 0; start < batch.rowCount; start += groupRows) {
        const rows: number[] = [];
        const from: Rid[] = [];
        const to: RidKey[] = [];
        for (let row = start; row < Math.min(start + groupRows, batch.rowCount); row++) {
          const fromRid = ridOf(batch.get(node.from, row));
          const toRid = ridOf(batch.get(node.to, row));
          if (fromRid === undefined || toRid === undefined) continue;
          rows.push(row);
          from.push(fromRid);
          to.push(ridKey(toRid));
        }
        const hops = allHops(from, node, context).filter(
          hop => ridKey(hop.other) === to[hop.source],
        );
        const edges: readonly (RecordValue | undefined)[] = loadEdges
          ? context.graph.hopEdges(hops, from)
          : [];
        const builder = new BatchBuilder();
        let lastSource = -1;
        hops.forEach((hop: Hop, at) => {
          const edge = loadEdges ? edges[at] : hop.edge;
          if (edge === undefined || (node.edge === undefined && hop.source === lastSource)) return;
          lastSource = hop.source;
          builder.copy(batch, rows[hop.source] as number);
          if (node.edge !== undefined) builder.set(node.edge, edge);
        });
        if (builder.rowCount > 0) yield builder.take();
        if (context.budget.look()) yield pause;
      }
    }
  };
}
