/**
 * W20: from the start of the process to ready with an empty root, resident memory of a server
 * that has been idle for five seconds, and the start with a million records against an empty one.
 * Nothing is pinned here: a start uses what processors there are.
 */
import assert from 'node:assert/strict';
import {rmSync} from 'node:fs';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';
import {startReference} from '../peers/reference.ts';
import {startSvc} from '../peers/svc.ts';
import {prepare} from '../peers/target.ts';
import {memoryOf} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const records = 1_000_000;
const idleMillis = 5_000;
const megabyte = 1e6;
const database = 'bench';

/** What one start came to. */
interface Start {
  readonly readyMillis: number;
  readonly idleBytes: number;
}

export async function starts(report: Report, options: BenchOptions): Promise<void> {
  report.say(`W20: empty root, then ${records} records`);
  const filled = temporaryRoot('bench-filled');
  try {
    await fill(filled);
    const empty: Start[] = [];
    const full: Start[] = [];
    const reference: Start[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      empty.push(await startEmpty());
      full.push(await startFilled(filled));
      // Two starts of the reference tell enough of its memory; each takes seconds.
      if (round < 2) reference.push(...(await startTheReference()));
    }
    if (reference.length === 0) report.say('the tools of the reference system are not here');
    addFigures(report, {empty, full, reference});
  } finally {
    rmSync(filled, {recursive: true, force: true});
  }
}

async function fill(root: string): Promise<void> {
  const svc = await startSvc({root});
  await prepare(svc, database, [
    'CREATE VERTEX TYPE Pt',
    'CREATE PROPERTY Pt.id LONG',
    'CREATE INDEX ON Pt (id) UNIQUE',
  ]);
  const counts = await svc.client.batch(database, lines(), {query: {wal: true, idMapping: false}});
  assert.equal(counts.verticesCreated, records);
  await svc.stop();
}

async function* lines(): AsyncGenerator<string> {
  const linesAtOnce = 1_000;
  for (let from = 0; from < records; from += linesAtOnce) {
    const chunk = Array.from({length: linesAtOnce}, (_, index) => {
      const id = from + index;
      return `{"@type":"v","@class":"Pt","@id":"${id}","id":${id},"name":"record ${id}"}\n`;
    });
    yield chunk.join('');
  }
}

async function startEmpty(): Promise<Start> {
  const svc = await startSvc({pin: false});
  const start = await idle(svc.pid, svc.readyMillis);
  await svc.dispose();
  return start;
}

async function startFilled(root: string): Promise<Start> {
  const svc = await startSvc({root, pin: false});
  const start = await idle(svc.pid, svc.readyMillis);
  const {result} = await svc.client.query(database, 'SELECT count(*) AS c FROM Pt');
  assert.equal(result[0]?.['c'], records, 'records are missing after a start');
  await svc.stop();
  return start;
}

async function startTheReference(): Promise<Start[]> {
  const reference = await startReference(false);
  if (reference === undefined) return [];
  const start = await idle(reference.pid, reference.readyMillis);
  await reference.dispose();
  return [start];
}

async function idle(pid: number, readyMillis: number): Promise<Start> {
  await new Promise(resolve => setTimeout(resolve, idleMillis));
  return {readyMillis, idleBytes: memoryOf(pid).resident};
}

function addFigures(
  report: Report,
  starts: {empty: readonly Start[]; full: readonly Start[]; reference: readonly Start[]},
): void {
  const {empty, full, reference} = starts;
  const common = {class: 'W20', durability: 'none', notes: {pinned: false}} as const;
  const ready = (list: readonly Start[]): number[] => list.map(start => start.readyMillis);
  const megabytes = (list: readonly Start[]): number[] =>
    list.map(start => start.idleBytes / megabyte);
  report.add({
    ...common,
    point: 'start to ready, empty root',
    unit: 'ms',
    ours: ready(empty),
    peer: 'bound',
    theirs: [],
    gate: {at: 'most', bound: 350},
  });
  report.add({
    ...common,
    point: 'resident memory, idle for 5 s',
    unit: 'MB',
    ours: megabytes(empty),
    peer: 'bound',
    theirs: [],
    gate: {at: 'most', bound: 130},
  });
  report.add({
    ...common,
    point: 'start to ready, 1 million records',
    unit: 'ms',
    ours: ready(full),
    peer: 'svc with an empty root',
    theirs: ready(empty),
    gate: {at: 'most', bound: 1.2},
  });
  if (reference.length === 0) return;
  const label = 'reference 26.11.1 (flush 2)';
  report.add({
    ...common,
    point: 'resident memory, idle for 5 s',
    unit: 'MB',
    ours: megabytes(empty.slice(0, reference.length)),
    peer: label,
    theirs: megabytes(reference),
    gate: {at: 'most', bound: 0.7},
  });
  report.add({
    ...common,
    point: 'start to ready, empty root',
    unit: 'ms',
    ours: ready(empty.slice(0, reference.length)),
    peer: label,
    theirs: ready(reference),
  });
}
