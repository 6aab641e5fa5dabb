/**
 * How many edges a search for the shortest path touches, beside a search that visits everybody.
 *
 * Counted where the search reads the graph: every edge that is handed to it, as often as it is.
 */
import type {Graph, Source} from '#server/execution/graph.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {literal, World} from '#server/testing/worlds/hand-built-plan.ts';
import {powerLawNetwork} from './network.ts';

export interface Effort {
  readonly edges: number;
  /** Lists, for each pair, the edges that both searches touch and the steps between the two. */
  readonly pairs: readonly {
    readonly searched: number;
    readonly visited: number;
    readonly steps: number;
  }[];
}

/** @param pairs - So many pairs of vertices, spread over the network. */
export function shortestEffort(vertices: number, pairs: number, seed: number): Effort {
  const world = new World();
  const network = powerLawNetwork(vertices, 8, seed);
  const rids = Array.from(
    {length: network.vertices},
    (_, id) => world.add('Person', {name: `v${id}`}).rid,
  );
  for (const [from, to] of network.edges) world.link('Knows', `v${from}`, `v${to}`, {});
  const counter = {edges: 0};
  const counted = world.over({graph: counting(world.graph, counter), writes: world.writes});
  const touched = (plan: PlanNode): {readonly edges: number; readonly rows: unknown[][]} => {
    counter.edges = 0;
    const rows = counted.run(plan, [1]);
    return {edges: counter.edges, rows};
  };
  const stride = Math.floor(network.vertices / pairs);
  return {
    edges: network.edges.length,
    pairs: Array.from({length: pairs}, (_, at) => {
      const from = rids[at * stride];
      const to = rids[(at * stride + Math.floor(network.vertices / 2)) % network.vertices];
      if (from === undefined || to === undefined) throw new Error('a pair has two vertices');
      const search = touched({
        kind: 'shortest',
        input: {kind: 'unit'},
        from: literal(from),
        to: literal(to),
        direction: 'both',
        types: ['Knows'],
        depthMax: undefined,
        all: false,
        path: 1,
      });
      const visit = touched({
        kind: 'walk',
        input: {kind: 'values', slots: [0], rows: [[literal(from)]]},
        from: 0,
        direction: 'both',
        types: ['Knows'],
        depthMin: 1,
        depthMax: undefined,
        mode: 'reach',
        to: 1,
        edges: undefined,
        path: undefined,
        depth: undefined,
        edge: undefined,
        condition: undefined,
      });
      const steps = stepsOf(search.rows);
      return {searched: search.edges, visited: visit.edges, steps};
    }),
  };
}

/** A path prints as its elements in turn. */
function stepsOf(rows: readonly (readonly unknown[])[]): number {
  const path = rows[0]?.[0];
  return Array.isArray(path) ? (path.length - 1) / 2 : -1;
}

/** The same graph, with every hop that it hands out counted. */
function counting(graph: Graph, counter: {edges: number}): Graph {
  return new Proxy(graph, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (name !== 'hops') return member.bind(target) as unknown;
      return (...args: Parameters<Graph['hops']>) => countingSource(target.hops(...args), counter);
    },
  });
}

function countingSource<T>(source: Source<T>, counter: {edges: number}): Source<T> {
  return {
    next(max) {
      const part = source.next(max);
      counter.edges += part?.length ?? 0;
      return part;
    },
    close: () => source.close(),
  };
}
