/**
 * `walk`: variable length. Modes walk, trail and acyclic give every path within the bounds,
 * depth first; `reach` gives every end once, breadth first (walk-reach.ts).
 *
 * The work is an explicit stack of half-read adjacency lists, so memory follows the depth times
 * the degree, never the number of paths. The stack counts as kept; long paths make short batches.
 *
 * Variable lengths that are told by their relationships are Cypher's. SQL's MATCH and TRAVERSE ask
 * of each vertex whether to go on, which is `repeat`.
 */
import type {Rid} from '#server/model/value.ts';
import {BatchBuilder, pause} from '../../batch.ts';
import type {Batches, Operator, Preparation} from '../../operator.ts';
import {allHops} from './follow.ts';
import {type RidKey, ridKey, ridOf} from './vertex-ids.ts';
import {type Step, WalkStep} from './walk-step.ts';
import {reach} from './walk-reach.ts';
import {bind, type WalkNode, type WalkStart} from './walk-start.ts';

/** What an edge takes on the stack. */
const stepBytes = 96;
/** Edges and vertices in the paths of one batch. */
const batchPartsMax = 1 << 16;

export function prepareWalk(node: WalkNode, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const steps = new WalkStep(node, preparation);
  return function* walk(context, argument) {
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        const start = ridOf(batch.get(node.from, row));
        if (start === undefined) continue;
        const from = {node, steps, context, batch, row, start};
        yield* node.mode === 'reach' ? reach(from) : paths(from);
      }
    }
  };
}

interface Level {
  readonly steps: readonly Step[];
  next: number;
}

function* paths(walk: WalkStart): Batches {
  const {node, steps, context, batch, row, start} = walk;
  const builder = new BatchBuilder();
  const vertices: Rid[] = [start];
  const edges: Step[] = [];
  const used = new Set<RidKey>(node.mode === 'acyclic' ? [ridKey(start)] : []);
  let parts = 0;
  const emit = (): void => {
    builder.copy(batch, row);
    bind(builder, node, {vertices, edges});
    parts += 2 * edges.length + 1;
  };
  if (node.depthMin === 0) emit();
  const stack: Level[] = [];
  const descend = (rid: Rid): void => {
    const deep = node.depthMax !== undefined && edges.length >= node.depthMax;
    const next = deep ? [] : stepsFrom(rid, edges.length + 1, walk);
    context.budget.keep(next.length * stepBytes);
    stack.push({steps: next, next: 0});
  };
  try {
    descend(start);
    while (stack.length > 0) {
      const level = stack[stack.length - 1] as Level;
      const step = level.steps[level.next++];
      if (step === undefined) {
        stack.pop();
        context.budget.release(level.steps.length * stepBytes);
        const left = edges.pop();
        vertices.pop();
        if (left !== undefined) used.delete(markOf(left, node));
        continue;
      }
      if (node.mode !== 'walk' && used.has(markOf(step, node))) continue;
      if (node.mode !== 'walk') used.add(markOf(step, node));
      edges.push(step);
      vertices.push(step.hop.other);
      if (edges.length >= node.depthMin) emit();
      if (builder.rowCount >= context.batchRows || parts >= batchPartsMax) {
        parts = 0;
        yield steps.complete(builder.take(), context);
      }
      if (context.budget.spend(2 + (edges.length >> 4))) yield pause;
      descend(step.hop.other);
    }
    if (builder.rowCount > 0) yield steps.complete(builder.take(), context);
  } finally {
    for (const level of stack) context.budget.release(level.steps.length * stepBytes);
  }
}

function stepsFrom(rid: Rid, depth: number, walk: WalkStart): readonly Step[] {
  const hops = allHops([rid], walk.node, walk.context);
  return walk.steps.passing(hops, {vertices: [rid], depth, walk});
}

/** What may not be met twice on one path. */
function markOf(step: Step, node: WalkNode): RidKey {
  return ridKey(node.mode === 'acyclic' ? step.hop.other : step.hop.edge);
}
