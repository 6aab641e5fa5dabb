/**
 * W5 in one process: what a hop's statement takes longer than the plan that it means. The graph is
 * the large one's little sister, so that it is ready in seconds; its hubs come up as often.
 */
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {property, slot} from '#server/testing/worlds/hand-built-plan.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {answering, besideEngine} from '../peers/own-engine.ts';
import type {Report} from '../report.ts';
import {drawn, points} from './hops.ts';
import {type EdgeList, rmatEdges} from './network.ts';
import type {BenchOptions} from '../bench-options.ts';

const graph = {vertices: 20_000, edges: 200_000, seed: 11};
const ids = 20;
const perStatement = 10_000;
/** Runs in a round, by the number of hops. */
const repetitions = [0, 2_000, 400, 100];

export async function ownHops(report: Report, options: BenchOptions): Promise<void> {
  report.say(`W5: ${graph.vertices} vertices with ${graph.edges} edges in process`);
  const edges = rmatEdges(graph.vertices, graph.edges, graph.seed);
  const world = await ServiceWorld.open();
  try {
    const database = await world.database([
      'CREATE VERTEX TYPE Node',
      'CREATE PROPERTY Node.id LONG',
      'CREATE INDEX ON Node (id) UNIQUE',
      'CREATE EDGE TYPE Link',
    ]);
    await fill(database, edges);
    const starts = drawn(edges, ids).map(id => new Map<string, Value>([['id', id]]));
    for (const {hops, name, sql} of points) {
      await besideEngine(
        report,
        options,
        {world, database},
        {
          class: 'W5',
          point: `${name.split(',')[0]}, in process`,
          statement: sql,
          plan: planOf(hops),
          parameters: starts,
          repetitions: repetitions[hops] ?? 0,
        },
      );
    }
  } finally {
    await world.close();
  }
}

async function fill(database: TestDatabase, {vertices, from, to}: EdgeList): Promise<void> {
  await database.run(`UNWIND range(0, ${vertices - 1}) AS id CREATE (:Node {id: id})`, {
    language: 'cypher',
  });
  for (let start = 0; start < from.length; start += perStatement) {
    const pairs = Array.from({length: perStatement}, (_, at) => [
      from[start + at] ?? 0,
      to[start + at] ?? 0,
    ]);
    await database.run(
      `UNWIND $pairs AS pair MATCH (a:Node {id: pair[0]}), (b:Node {id: pair[1]})
       CREATE (a)-[:Link]->(b)`,
      {language: 'cypher', parameters: new Map<string, Value>([['pairs', pairs]])},
    );
  }
}

const start: PlanNode = {
  kind: 'index-point',
  index: 'Node[id]',
  keys: [{kind: 'parameter', name: 'id'}],
  each: false,
  slot: 0,
};

function planOf(hops: number): PlanNode {
  const step = {direction: 'out', types: ['Link']} as const;
  if (hops === 1) {
    return answering(
      {kind: 'follow', input: start, from: 0, ...step, to: 1, edge: undefined},
      {id: property(1, 'id')},
    );
  }
  const steps = Array.from({length: hops}, () => step);
  return answering(
    {
      kind: 'aggregate',
      input: {kind: 'frontier', input: start, from: 0, steps, to: 1},
      keys: [],
      aggregates: [{slot: 2, name: 'count', args: [], distinct: false}],
    },
    {n: slot(2)},
  );
}
