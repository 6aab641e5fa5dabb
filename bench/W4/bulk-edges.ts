/**
 * W4: ten million edges in one stream through the bulk route, between a million vertices with hubs.
 *
 * Three figures: whether the last million comes as fast as the first, what the server holds when it
 * is left alone afterwards, and the rate beside the reference system's on a graph that both can
 * load in reasonable time (`wal=true`, both durable).
 */
import assert from 'node:assert/strict';
import {startReference} from '../peers/reference.ts';
import {startSvc} from '../peers/svc.ts';
import {prepare, type Target} from '../peers/target.ts';
import {memoryOf} from '../processes.ts';
import type {Report} from '../report.ts';
import {type EdgeList, rmatEdges} from '../W5/network.ts';
import type {BenchOptions} from '../bench-options.ts';

export const database = 'bench';
export const large = {vertices: 1_000_000, edges: 10_000_000, seed: 11};
const small = {vertices: 50_000, edges: 500_000, seed: 11};
const million = 1_000_000;
const linesAtOnce = 1_000;
/** Left alone for so long before its memory is read. */
const idleMillis = 20_000;

const schema = [
  'CREATE VERTEX TYPE Node',
  'CREATE PROPERTY Node.id LONG',
  'CREATE INDEX ON Node (id) UNIQUE',
  'CREATE EDGE TYPE Link',
];

export async function bulkEdges(report: Report, options: BenchOptions): Promise<void> {
  report.say(`W4: ${large.vertices} vertices, ${large.edges} edges in one stream`);
  const svc = await startSvc();
  try {
    const seconds = await loadLarge(svc);
    const first = million / (seconds[0] ?? Number.NaN);
    const last = million / (seconds.at(-1) ?? Number.NaN);
    report.add({
      class: 'W4',
      point: 'rate of the last million edges',
      unit: 'edges/s',
      ours: [last],
      peer: 'the first million',
      theirs: [first],
      durability: 'durable at the end',
      gate: {at: 'least', bound: 0.7},
      notes: {perMillion: seconds.map(value => Math.round(million / value))},
    });
    await new Promise(resolve => setTimeout(resolve, idleMillis));
    const {resident, peak} = memoryOf(svc.pid);
    report.add({
      class: 'W4',
      point: 'resident memory, idle behind ten million edges',
      unit: 'GB',
      ours: [resident / 1e9],
      peer: 'bound',
      theirs: [],
      durability: 'durable at the end',
      gate: {at: 'most', bound: 1.5},
      notes: {peakGigabytes: Number((peak / 1e9).toFixed(2))},
    });
  } finally {
    await svc.dispose();
  }
  await besideReference(report, options);
}

/** Loads the large graph of W4 and W5; the seconds that each million of its edges took. */
export async function loadLarge(target: Target): Promise<readonly number[]> {
  return loadGraph(target, rmatEdges(large.vertices, large.edges, large.seed));
}

/** Loads a graph into a fresh database, as `loadLarge` does. */
export async function loadGraph(target: Target, edges: EdgeList): Promise<readonly number[]> {
  await prepare(target, database, schema);
  return load(target, edges);
}

async function besideReference(report: Report, options: BenchOptions): Promise<void> {
  const edges = rmatEdges(small.vertices, small.edges, small.seed);
  const reference = await startReference();
  if (reference === undefined) {
    report.say('the reference system is not here: its load is left out');
    return;
  }
  const svc = await startSvc();
  const ours: number[] = [];
  const theirs: number[] = [];
  try {
    // One round of a cold compiler before the rounds that count.
    for (let round = 0; round <= Math.min(3, options.rounds); round += 1) {
      const rates: number[] = [];
      for (const target of [svc, reference]) {
        await prepare(target, database, schema);
        const startedAt = performance.now();
        await load(target, edges);
        rates.push((small.edges * 1_000) / (performance.now() - startedAt));
      }
      if (round === 0) continue;
      ours.push(rates[0] ?? Number.NaN);
      theirs.push(rates[1] ?? Number.NaN);
    }
  } finally {
    await svc.dispose();
    await reference.dispose();
  }
  report.add({
    class: 'W4',
    point: `${small.edges} edges with their vertices`,
    unit: 'edges/s',
    ours,
    peer: reference.label,
    theirs,
    durability: 'wal=true, both synced',
    gate: {at: 'least', bound: 1.5},
  });
}

/** Seconds of each million edges, taken when the server has accepted it off the stream. */
async function load(target: Target, edges: EdgeList): Promise<readonly number[]> {
  const seconds: number[] = [];
  let since = 0;
  async function* lines(): AsyncGenerator<string> {
    yield* vertexLines(edges.vertices);
    since = performance.now();
    for (let from = 0; from < edges.from.length; from += linesAtOnce) {
      if (from > 0 && from % million === 0) lap();
      yield edgeLines(edges, from);
    }
  }
  const lap = (): void => {
    const now = performance.now();
    seconds.push((now - since) / 1_000);
    since = now;
  };
  const query = {wal: true, idMapping: false};
  const counts = await target.client.batch(database, lines(), {query});
  lap();
  assert.equal(counts.edgesCreated, edges.from.length);
  assert.equal(counts.verticesCreated, edges.vertices);
  return seconds;
}

function* vertexLines(vertices: number): Generator<string> {
  for (let from = 0; from < vertices; from += linesAtOnce) {
    let chunk = '';
    for (let id = from; id < Math.min(vertices, from + linesAtOnce); id += 1) {
      chunk += `{"@type":"vertex","@class":"Node","@id":"${id}","id":${id}}\n`;
    }
    yield chunk;
  }
}

function edgeLines({from, to}: EdgeList, start: number): string {
  let chunk = '';
  for (let at = start; at < Math.min(from.length, start + linesAtOnce); at += 1) {
    chunk += `{"@type":"edge","@class":"Link","@from":"${from[at]}","@to":"${to[at]}"}\n`;
  }
  return chunk;
}
