/** What both ways of walking share: one start row, and how a path found from it is bound. */
import {PathValue, type Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Batch, BatchBuilder} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Step, WalkStep} from './walk-step.ts';

export type WalkNode = PlanNode & {readonly kind: 'walk'};

/** One start row of a walk. */
export interface WalkStart {
  readonly node: WalkNode;
  readonly steps: WalkStep;
  readonly context: ExecutionContext;
  readonly batch: Batch;
  readonly row: number;
  readonly start: Rid;
}

/** Binds the slots of one path in the row started last. */
export function bind(
  builder: BatchBuilder,
  node: WalkNode,
  path: {readonly vertices: readonly Rid[]; readonly edges: readonly Step[]},
): void {
  const {vertices, edges} = path;
  builder.set(node.to, vertices[vertices.length - 1] as Rid);
  if (node.depth !== undefined) builder.set(node.depth, edges.length);
  if (node.edges !== undefined) builder.set(node.edges, edges.map(edgeOf));
  if (node.path !== undefined) {
    const elements: (Rid | Exclude<Step['edge'], undefined>)[] = [vertices[0] as Rid];
    edges.forEach((step, at) => {
      elements.push(edgeOf(step), vertices[at + 1] as Rid);
    });
    builder.set(node.path, new PathValue(elements));
  }
}

function edgeOf(step: Step): Exclude<Step['edge'], undefined> | Rid {
  return step.edge ?? step.hop.edge;
}
