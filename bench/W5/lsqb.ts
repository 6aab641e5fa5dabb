/**
 * LSQB: its nine patterns over the small LDBC network and over a seeded one ten times as large, in
 * Cypher, beside the reference system. Every count must be what plain loops over the same lines
 * come to.
 *
 * What the reference system does not answer within `patienceMillis` counts as having taken that
 * long, and its figure says so. Its triangles take minutes, and go on when nobody waits for them:
 * they are asked last and once.
 */
import assert from 'node:assert/strict';
import {graphLines} from '#examples/ldbc-snb/convert.ts';
import {schemaStatements} from '#examples/ldbc-snb/load.ts';
import {patternCounts} from '#examples/ldbc-snb/patterns/counts.ts';
import {type PatternQuery, patternQueries} from '#examples/ldbc-snb/patterns/queries.ts';
import {dataSetOf} from '#examples/ldbc-snb/source.ts';
import {startReference} from '../peers/reference.ts';
import {startSvc} from '../peers/svc.ts';
import {prepare, type Target} from '../peers/target.ts';
import {median, type Report} from '../report.ts';
import {xorshift} from './network.ts';
import {socialLines} from './social.ts';
import type {BenchOptions} from '../bench-options.ts';

const database = 'lsqb';
const patienceMillis = 30_000;
const linesAtOnce = 1_000;
const triangles = patternQueries.findIndex(({name}) => name.includes('triangles'));
const seed = 5;
/** Rounds that let the compilers of both warm up. */
const warmRounds = 4;

export async function lsqb(report: Report, options: BenchOptions): Promise<void> {
  // A figure over another network would bear the name of this one.
  if (process.env['SVC_SHARED'])
    await over(report, options, {name: 'mini', lines: [...graphLines(dataSetOf(process.env))]});
  else report.say('LSQB over the mini data set is left out: SVC_SHARED is not set');
  await over(report, options, {name: 'ten times', lines: [...socialLines(xorshift(seed))]});
}

interface Graph {
  readonly name: string;
  readonly lines: readonly string[];
}

async function over(report: Report, {rounds}: BenchOptions, graph: Graph): Promise<void> {
  report.say(`LSQB over the graph '${graph.name}': ${graph.lines.length} lines`);
  const expected = patternCounts(graph.lines);
  const svc = await startSvc();
  const reference = await startReference();
  const targets = reference === undefined ? [svc] : [svc, reference];
  try {
    for (const target of targets) {
      await prepare(target, database, schemaStatements());
      await target.client.batch(database, chunks(graph.lines), {query: {idMapping: false}});
    }
    const times = new Map(
      targets.map(target => [target, patternQueries.map(() => [] as number[])]),
    );
    const tooSlow = new Set<number>();
    const measured = async (target: Target, at: number, counts: boolean): Promise<void> => {
      const query = patternQueries[at];
      if (query === undefined) return;
      const millis = await ask(target, query, expected[at]);
      if (millis === undefined) tooSlow.add(at);
      if (counts) times.get(target)?.[at]?.push(millis ?? patienceMillis);
    };
    const others = [...patternQueries.keys()].filter(at => at !== triangles);
    for (let round = 1 - warmRounds; round <= rounds; round += 1) {
      for (const at of others) {
        for (const target of targets) await measured(target, at, round > 0);
      }
      await measured(svc, triangles, round > 0);
    }
    if (reference !== undefined) await measured(reference, triangles, true);
    add(report, graph, {times, svc, reference, tooSlow});
  } finally {
    await svc.dispose();
    await reference?.dispose();
  }
}

interface Outcome {
  readonly times: ReadonlyMap<Target, readonly (readonly number[])[]>;
  readonly svc: Target;
  readonly reference: Target | undefined;
  readonly tooSlow: ReadonlySet<number>;
}

function add(report: Report, graph: Graph, {times, svc, reference, tooSlow}: Outcome): void {
  const ours = times.get(svc)?.map(median) ?? [];
  const theirs = (reference && times.get(reference)?.map(median)) ?? [];
  const sum = (list: readonly number[]): number => list.reduce((all, one) => all + one, 0);
  report.add({
    class: 'W5',
    point: `LSQB, ${graph.name}, sum of nine`,
    unit: 'ms',
    ours: [sum(ours)],
    peer: reference?.label ?? 'none',
    theirs: theirs.length === 0 ? [] : [sum(theirs)],
    durability: 'reads',
    ...(reference === undefined ? {} : {gate: {at: 'most', bound: 1}}),
    notes: {
      patterns: patternQueries.map(({name}, at) => ({
        name,
        ours: ours[at],
        theirs: theirs[at],
        ...(tooSlow.has(at) ? {endedAfter: patienceMillis} : {}),
      })),
    },
  });
}

/** Milliseconds; undefined when patience ended. A wrong count ends the run. */
async function ask(
  {client, label}: Target,
  {name, text}: PatternQuery,
  expected: number | undefined,
): Promise<number | undefined> {
  const startedAt = performance.now();
  const {promise, resolve} = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), patienceMillis);
  const answer = client.query(database, text, {language: 'cypher'});
  // It may go on alone, and be cut off when its server ends.
  answer.catch(() => undefined);
  const outcome = await Promise.race([answer, promise]);
  clearTimeout(timer);
  if (outcome === undefined) return undefined;
  assert.equal(outcome.result[0]?.['n'], expected, `${name}, ${label}`);
  return performance.now() - startedAt;
}

async function* chunks(lines: readonly string[]): AsyncGenerator<string> {
  for (let from = 0; from < lines.length; from += linesAtOnce) {
    yield `${lines.slice(from, from + linesAtOnce).join('\n')}\n`;
  }
}
