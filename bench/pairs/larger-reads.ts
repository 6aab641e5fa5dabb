/**
 * W5, W7 and W8 in a short form, on both checkouts: hops through a graph, sums over ranges of an
 * index, and scans of columns, on less data than those classes have. Both sides are loaded with the
 * same, and must answer the same before either is timed.
 */
import assert from 'node:assert/strict';
import {measure, type Target} from '../peers/target.ts';
import type {Report} from '../report.ts';
import {loadGraph} from '../W4/bulk-edges.ts';
import {points as hops} from '../W5/hops.ts';
import {rmatEdges} from '../W5/network.ts';
import {fillTypes, rows, sumOf} from '../W7/range-sums.ts';
import {fillFacts, questions} from '../W8/scans.ts';
import type {BenchOptions} from '../bench-options.ts';
import {add, inTurns, type Pair, type Side} from './turns.ts';

const database = 'bench';
const graph = {vertices: 20_000, edges: 200_000, seed: 11};
const ranged = {types: ['Covered', 'Plain'], records: 100_000} as const;
const facts = 500_000;
/** The share of a round of other points that these take. */
const roundShare = 0.75;
const warmRounds = 2;
const compared = 20;

/** A query with one parameter: a number below `count`. */
interface Reading {
  readonly point: string;
  readonly sql: string;
  readonly parameter: string;
  readonly count: number;
  readonly clients: number;
}

export async function largerReads(
  report: Report,
  options: BenchOptions,
  pair: Pair,
): Promise<void> {
  const edges = rmatEdges(graph.vertices, graph.edges, graph.seed);
  await onBoth(pair, target => loadGraph(target, edges));
  for (const {name, sql} of hops) {
    const point = `W5, ${name.split(',')[0]}`;
    const reading = {point, sql, parameter: 'id', count: graph.vertices, clients: 1};
    await readInTurns(report, options, pair, reading);
  }
  await onBoth(pair, target => fillTypes(target, ranged.types, ranged.records));
  for (const type of ranged.types) {
    await readInTurns(report, options, pair, {
      point: `W7, ${type.toLowerCase()}, 4 clients`,
      sql: sumOf(type, rows),
      parameter: 'k',
      count: ranged.records - rows,
      clients: 4,
    });
  }
  await onBoth(pair, target => fillFacts(target, facts));
  for (const {name, sql} of questions) {
    const reading = {point: `W8, ${name}`, sql, parameter: 'unused', count: 1_000, clients: 1};
    await readInTurns(report, options, pair, reading);
  }
}

async function onBoth(
  {ours, theirs}: Pair,
  load: (target: Target) => Promise<unknown>,
): Promise<void> {
  await load(theirs);
  await load(ours);
}

async function readInTurns(
  report: Report,
  {rounds, seconds}: BenchOptions,
  pair: Pair,
  reading: Reading,
): Promise<void> {
  await compare(pair, reading);
  const {point, sql, parameter, count, clients} = reading;
  const side = (target: Target): Side<number> => ({
    round: async () => {
      const {perSecond, errors, firstError} = await measure(target, {
        path: `/api/v1/query/${database}`,
        before: `{"language":"sql","command":${JSON.stringify(sql)},"params":{"${parameter}":`,
        after: '}}',
        numbers: {kind: 'random', count, seed: 7},
        clients,
        millis: seconds * 1_000 * roundShare,
      });
      assert.equal(errors, 0, firstError);
      return perSecond;
    },
  });
  const sides = {ours: side(pair.ours), theirs: side(pair.theirs)};
  await inTurns(warmRounds, sides);
  add(report, point, 'ops/s', pair.peer, await inTurns(rounds, sides));
}

/** Both sides answer the same to values from all over the range of the parameter. */
async function compare({ours, theirs}: Pair, reading: Reading): Promise<void> {
  const {point, sql, parameter, count} = reading;
  const rowsOf = async ({client}: Target, value: number): Promise<readonly string[]> => {
    const params = {[parameter]: value};
    const {result} = await client.query(database, sql, {params, limit: -1});
    return result.map(row => JSON.stringify(row)).sort();
  };
  let rowCount = 0;
  for (let at = 0; at < compared; at += 1) {
    const value = Math.floor((count * at) / compared);
    const expected = await rowsOf(theirs, value);
    assert.deepEqual(await rowsOf(ours, value), expected, `${point}, ${parameter} = ${value}`);
    rowCount += expected.length;
  }
  assert.ok(rowCount > 0, `${point} answers nothing`);
}
