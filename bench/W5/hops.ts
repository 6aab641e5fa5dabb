/**
 * W5: one, two and three hops over HTTP from vertices of a graph with a million vertices and ten
 * million edges, beside Kuzu asked in its own process; and what a hop costs for each edge touched.
 *
 * The vertices are drawn with a seed among those that have edges, so hubs come up as often as
 * others. Both sides must give the same answers first.
 */
import assert from 'node:assert/strict';
import {type Kuzu, startKuzu} from '../peers/kuzu.ts';
import {startSvc} from '../peers/svc.ts';
import type {Target} from '../peers/target.ts';
import {quantileOf, type Report} from '../report.ts';
import {database, large, loadLarge} from '../W4/bulk-edges.ts';
import {type EdgeList, rmatEdges} from './network.ts';
import type {BenchOptions} from '../bench-options.ts';

export interface Point {
  readonly name: string;
  readonly hops: number;
  readonly sql: string;
  readonly kuzu: string;
  readonly ids: number;
  /** The share of the sorted times that is compared. */
  readonly quantile: number;
  /** Ours over theirs. */
  readonly bound: number;
  readonly timeoutMillis: number;
}

const start = '{type: Node, where: (id = :id)}';
const distinct = (hops: number): string => {
  const path = ".out('Link')".repeat(hops);
  return `SELECT count(*) AS n FROM (MATCH ${start}${path}{as: f} RETURN DISTINCT f)`;
};
const reach = (hops: number): string => {
  const path = '-[:E]->()'.repeat(hops - 1);
  return `MATCH (a:V {id: $id})${path}-[:E]->(b) RETURN count(DISTINCT b)`;
};

export const points: readonly Point[] = [
  {
    name: 'one hop, p50',
    hops: 1,
    sql: `MATCH ${start}.out('Link'){as: f} RETURN f.id AS id`,
    kuzu: 'MATCH (a:V {id: $id})-[:E]->(b) RETURN b.id',
    ids: 400,
    quantile: 0.5,
    bound: 0.5,
    timeoutMillis: 10_000,
  },
  {
    name: 'two hops distinct, p99',
    hops: 2,
    sql: distinct(2),
    kuzu: reach(2),
    ids: 200,
    quantile: 0.99,
    bound: 0.1,
    timeoutMillis: 10_000,
  },
  {
    name: 'three hops distinct, p50',
    hops: 3,
    sql: distinct(3),
    kuzu: reach(3),
    ids: 12,
    quantile: 0.5,
    bound: 0.1,
    timeoutMillis: 10_000,
  },
];

/** What may be spent for each edge touched, and beside it. */
const nanosPerEdge = 50;
const millisBeside = 1;

export async function hops(report: Report, options: BenchOptions): Promise<void> {
  report.say(`W5: hops in ${large.vertices} vertices with ${large.edges} edges`);
  const edges = rmatEdges(large.vertices, large.edges, large.seed);
  const kuzu = await startKuzu(edges);
  const svc = await startSvc();
  try {
    await loadLarge(svc);
    for (const point of points) await compare(report, options, {point, kuzu, svc, edges});
  } finally {
    kuzu.stop();
    await svc.dispose();
  }
}

interface Sides {
  readonly point: Point;
  readonly kuzu: Kuzu;
  readonly svc: Target;
  readonly edges: EdgeList;
}

async function compare(report: Report, {rounds}: BenchOptions, sides: Sides): Promise<void> {
  const {point, kuzu, svc, edges} = sides;
  const {name, quantile, timeoutMillis} = point;
  const ids = drawn(edges, point.ids);
  const ours: number[] = [];
  const theirs: number[] = [];
  let cold = 0;
  let warm: readonly number[] = [];
  let ended = 0;
  // The first round is compared and not counted: caches fill, and edges are packed.
  for (let round = 0; round <= Math.min(rounds, 3); round += 1) {
    const own = await askSvc(svc, point, ids);
    const peer = await kuzu.ask({text: point.kuzu, ids, timeoutMillis});
    if (round === 0) {
      cold = quantileOf(own.millis, quantile);
      await untilWarm(svc, point, ids);
      peer.values.forEach((values, at) => {
        if (values) assert.deepEqual(sorted(own.values[at]), sorted(values), `${name} ${ids[at]}`);
      });
      continue;
    }
    ended = peer.values.filter(values => !values).length;
    ours.push(quantileOf(own.millis, quantile));
    theirs.push(quantileOf(peer.millis, quantile));
    warm = own.millis;
  }
  report.add({
    class: 'W5',
    point: name,
    unit: 'ms',
    ours,
    peer: kuzu.label,
    theirs,
    durability: 'reads',
    gate: {at: 'most', bound: point.bound},
    notes: {ids: ids.length, firstRound: cold, endedByTimeOfPeer: ended, timeoutMillis},
  });
  if (point.hops === 1) return;
  const touched = ids.map(id => touchedEdges(edges, id, point.hops));
  const allowed = touched.map(count => millisBeside + (count * nanosPerEdge) / 1e6);
  const shares = warm.map((millis, at) => millis / (allowed[at] ?? Number.NaN));
  report.add({
    class: 'W5',
    point: `${point.hops} hops, time of what is allowed`,
    unit: 'share',
    ours: [quantileOf(shares, 0.5)],
    peer: `${nanosPerEdge} ns an edge touched + ${millisBeside} ms`,
    theirs: [],
    durability: 'reads',
    gate: {at: 'most', bound: 1},
    notes: {
      worst: Math.max(...shares),
      edgesTouched: quantileOf(touched, 0.5),
      edgesTouchedMost: Math.max(...touched),
      nanosPerEdgeInAll: (sum(warm) * 1e6) / sum(touched),
    },
  });
}

async function askSvc(
  {client}: Target,
  {sql}: Point,
  ids: readonly number[],
): Promise<{readonly millis: readonly number[]; readonly values: readonly (readonly number[])[]}> {
  const millis: number[] = [];
  const values: number[][] = [];
  for (const id of ids) {
    const startedAt = performance.now();
    const {result} = await client.query(database, sql, {params: {id}, limit: -1});
    millis.push(performance.now() - startedAt);
    values.push(result.map(row => Number(Object.values(row)[0])));
  }
  return {millis, values};
}

/** Asks on until packed edges no longer grow. */
async function untilWarm(svc: Target, point: Point, ids: readonly number[]): Promise<void> {
  for (let before = -1; ; ) {
    const held = await packedBytes(svc);
    if (held === before) return;
    before = held;
    await askSvc(svc, point, ids);
    await new Promise(resolve => setTimeout(resolve, 500));
  }
}

async function packedBytes({client}: Target): Promise<number> {
  const info = (await client.serverInfo('default')) as {
    metrics?: {profiler?: {graphViewMemory?: {space?: number}}};
  };
  return info.metrics?.profiler?.graphViewMemory?.space ?? 0;
}

/** Vertices with edges, drawn with a fixed seed. */
export function drawn({from}: EdgeList, count: number): number[] {
  const step = Math.floor(from.length / (count + 1));
  return Array.from({length: count}, (_, at) => from[(at + 1) * step] ?? 0);
}

/** Edges that lead from the sets of vertices of each hop, each set's once. */
function touchedEdges({from, to, vertices}: EdgeList, id: number, hopCount: number): number {
  let here = new Uint8Array(vertices);
  here[id] = 1;
  let touched = 0;
  for (let hop = 0; hop < hopCount; hop += 1) {
    const next = new Uint8Array(vertices);
    for (let at = 0; at < from.length; at += 1) {
      if (here[from[at] ?? 0] !== 1) continue;
      next[to[at] ?? 0] = 1;
      touched += 1;
    }
    here = next;
  }
  return touched;
}

function sorted(values: readonly number[] = []): readonly number[] {
  return values.toSorted((one, other) => one - other);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
