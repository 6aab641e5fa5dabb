/**
 * Mode `reach` of `walk`: every end once, at its least depth.
 *
 * Breadth first over a frontier: each vertex is expanded once, so the cost follows the edges
 * touched and not the paths there are. With `path` or `edges` asked for, each vertex remembers
 * the step that found it. Order: by depth, then in the order of finding.
 */
import type {Rid} from '#server/model/value.ts';
import {BatchBuilder, pause} from '../../batch.ts';
import type {Batches} from '../../operator.ts';
import {allHops} from './follow.ts';
import {ridKey} from './vertex-ids.ts';
import {bind, type WalkStart} from './walk-start.ts';
import type {Step} from './walk-step.ts';

interface Found {
  readonly rid: Rid;
  readonly by: Step | undefined;
  readonly from: Found | undefined;
}

/** Bytes that one visited vertex costs, roughly. */
const visitedBytes = 120;
const frontierPart = 256;

export function* reach(walk: WalkStart): Batches {
  const {node, steps, context, batch, row, start} = walk;
  const builder = new BatchBuilder();
  const visited = new Set([ridKey(start)]);
  let kept = 0;
  const emit = (found: Found): void => {
    builder.copy(batch, row);
    bind(builder, node, pathTo(found));
  };
  let frontier: Found[] = [{rid: start, by: undefined, from: undefined}];
  if (node.depthMin === 0) emit(frontier[0] as Found);
  try {
    for (let depth = 1; frontier.length > 0; depth++) {
      if (node.depthMax !== undefined && depth > node.depthMax) break;
      const next: Found[] = [];
      for (let at = 0; at < frontier.length; at += frontierPart) {
        const part = frontier.slice(at, at + frontierPart);
        const vertices = part.map(found => found.rid);
        const hops = allHops(vertices, node, context).filter(h => !visited.has(ridKey(h.other)));
        for (const step of steps.passing(hops, {vertices, depth, walk})) {
          const key = ridKey(step.hop.other);
          if (visited.has(key)) continue;
          visited.add(key);
          context.budget.keep(visitedBytes);
          kept += visitedBytes;
          const found = {rid: step.hop.other, by: step, from: part[step.hop.source]};
          next.push(found);
          if (depth >= node.depthMin) emit(found);
          if (builder.rowCount >= context.batchRows) yield steps.complete(builder.take(), context);
        }
        if (context.budget.look()) yield pause;
      }
      frontier = next;
    }
    if (builder.rowCount > 0) yield steps.complete(builder.take(), context);
  } finally {
    context.budget.release(kept);
  }
}

function pathTo(found: Found): {
  readonly vertices: readonly Rid[];
  readonly edges: readonly Step[];
} {
  const vertices: Rid[] = [];
  const edges: Step[] = [];
  for (let at: Found | undefined = found; at !== undefined; at = at.from) {
    vertices.push(at.rid);
    if (at.by !== undefined) edges.push(at.by);
  }
  return {vertices: vertices.reverse(), edges: edges.reverse()};
}
