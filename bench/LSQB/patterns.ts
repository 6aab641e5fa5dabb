/**
 * LSQB: nine patterns counted over the social network of LDBC, beside the reference system; every
 * count must be the one that plain loops over the files give.
 */
import assert from 'node:assert/strict';
import {dataFolder} from '../../examples/ldbc-snb/files.ts';
import {loadSocialNetwork} from '../../examples/ldbc-snb/load.ts';
import {startReference} from '../peers/reference.ts';
import {startSvc} from '../peers/svc.ts';
import type {Target} from '../peers/target.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../run.ts';
import {lsqbCounts} from './counts.ts';
import {type LsqbQuery, lsqbQueries} from './queries.ts';

const database = 'ldbc';
/** Runs before the first round: the peer compiles its code while it runs. */
const warmUps = 5;

export async function labelledPatterns(report: Report, {rounds}: BenchOptions): Promise<void> {
  const folder = dataFolder(process.env);
  const counts = lsqbCounts(folder);
  report.say(`LSQB: ${counts.join(', ')} matches`);
  const ours = await startSvc();
  const theirs = await startReference();
  if (theirs === undefined)
    report.say('the reference system is not here: its figures are left out');
  try {
    for (const target of [ours, theirs]) {
      if (target !== undefined) await loadSocialNetwork(target.client, {database, folder});
    }
    const sums = {ours: zeros(rounds), theirs: zeros(theirs === undefined ? 0 : rounds)};
    for (const [at, query] of lsqbQueries.entries()) {
      const wanted = counts[at] ?? 0;
      const figure = {ours: [] as number[], theirs: [] as number[]};
      for (const target of [ours, theirs]) {
        for (let run = 0; target !== undefined && run < warmUps; run += 1) {
          await timed(target, query, wanted);
        }
      }
      for (let round = 0; round < rounds; round += 1) {
        figure.ours.push(await timed(ours, query, wanted));
        if (theirs !== undefined) figure.theirs.push(await timed(theirs, query, wanted));
      }
      add(sums.ours, figure.ours);
      add(sums.theirs, figure.theirs);
      report.add({...plain(theirs), point: query.name, ...figure});
    }
    report.add({
      ...plain(theirs),
      point: 'all nine',
      ...sums,
      ...(theirs && {gate: {at: 'most', bound: 1} as const}),
    });
  } finally {
    await ours.dispose();
    await theirs?.dispose();
  }
}

function plain(peer: Target | undefined) {
  return {class: 'LSQB', unit: 'ms', peer: peer?.label ?? 'nobody', durability: 'reads'};
}

function zeros(length: number): number[] {
  return Array.from({length}, () => 0);
}

function add(to: number[], values: readonly number[]): void {
  values.forEach((value, at) => {
    to[at] = (to[at] ?? 0) + value;
  });
}

/** Milliseconds of one run, whose answer is checked. */
async function timed({client}: Target, {name, text}: LsqbQuery, wanted: number): Promise<number> {
  const started = performance.now();
  const {result} = await client.query(database, text, {language: 'opencypher'});
  const elapsed = performance.now() - started;
  assert.deepEqual(result, [{n: wanted}], name);
  return elapsed;
}
