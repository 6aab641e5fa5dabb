/**
 * What indexes that nobody searches cost: memory of a server that holds 200,000 dense vectors, and
 * the start of one whose database has all three kinds of search index.
 */
import {rmSync} from 'node:fs';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';
import {startSvc} from '../peers/svc.ts';
import {prepare, type Target} from '../peers/target.ts';
import {memoryOf} from '../processes.ts';
import type {Report} from '../report.ts';
import {lines as sparseLines, sparseSchema} from '../W12/sparse.ts';
import {denseSchema, latentLines, linked} from '../W10/vectors.ts';
import {lines as textLines, textSchema} from '../W9/text.ts';
import type {BenchOptions} from '../bench-options.ts';

const database = 'bench';
const vectorBytes = 512;
const vectorsMax = 200_000;
/** Besides the vectors a server may take so much. */
const otherBytes = 150e6;
/** A server is idle after so long without a request. */
const idleMillis = 40_000;

/** Resident memory, loaded and idle, as a share of what is allowed: raw vectors x 1.6 + 150 MB. */
export async function vectorMemory(report: Report, {megabytes}: BenchOptions): Promise<void> {
  const count = Math.min(vectorsMax, Math.floor((megabytes * 1e6) / vectorBytes));
  const ours = await startSvc();
  try {
    await prepare(ours, database, denseSchema);
    await ours.client.batch(database, latentLines(count, 0), {query: {idMapping: false}});
    const loaded = memoryOf(ours.pid).resident;
    await linked(ours, count);
    const busy = memoryOf(ours.pid).resident;
    await new Promise(resolve => setTimeout(resolve, idleMillis));
    const {resident, peak} = memoryOf(ours.pid);
    report.add({
      class: 'search-memory',
      point: `${count} vectors, idle`,
      unit: 'MB',
      ours: [resident / 1e6],
      peer: 'raw vectors x 1.6 + 150 MB',
      theirs: [(1.6 * count * vectorBytes + otherBytes) / 1e6],
      durability: 'derived',
      gate: {at: 'most', bound: 1},
      notes: {loadedMegabytes: loaded / 1e6, linkedMegabytes: busy / 1e6, peak: peak / 1e6},
    });
  } finally {
    await ours.dispose();
  }
}

const documentsMax = 50_000;

/** How long a start takes to ready, with all three kinds of search index. */
export async function searchRestart(
  report: Report,
  {megabytes, rounds}: BenchOptions,
): Promise<void> {
  const count = Math.min(documentsMax, Math.floor((megabytes * 1e6) / 1_200));
  const root = temporaryRoot('bench');
  try {
    await filled(root, count);
    const ready: number[] = [];
    const first: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const ours = await startSvc({root});
      try {
        ready.push(ours.readyMillis / 1_000);
        first.push(await firstSearches(ours));
      } finally {
        await ours.dispose();
      }
    }
    report.add({
      class: 'search-restart',
      point: `ready, ${count} documents in each of three indexes`,
      unit: 's',
      ours: ready,
      peer: 'one second',
      theirs: ready.map(() => 1),
      durability: 'fsync',
      gate: {at: 'most', bound: 1},
      notes: {firstSearchesMillis: first},
    });
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
}

async function filled(root: string, count: number): Promise<void> {
  const ours = await startSvc({root});
  try {
    await prepare(ours, database, [...denseSchema, ...textSchema, ...sparseSchema]);
    for (const lines of [latentLines, textLines, sparseLines]) {
      await ours.client.batch(database, lines(count, 0), {query: {idMapping: false}});
    }
    await linked(ours, count);
  } finally {
    await ours.dispose();
  }
}

/** One search of each kind, which are answered from the entries until their lists are there. */
async function firstSearches({client}: Target): Promise<number> {
  const startedAt = performance.now();
  const searches = [
    "SELECT expand(vector.neighbors('P[v]', 1, 10).n)",
    "SELECT @rid FROM D WHERE SEARCH_INDEX('D[t]', 'w12 w345') = true " +
      'ORDER BY $score DESC LIMIT 10',
    "SELECT expand(vector.sparseNeighbors('S[ids,weights]', [1, 7], [1.0, 0.5], 10).score)",
  ];
  for (const search of searches) await client.query(database, search);
  return performance.now() - startedAt;
}
