/**
 * mixed: reads of one record by its key over HTTP, with and without one analytical query beside
 * them. What counts is the slowest hundredth of the reads: beside over without, in the same round.
 *
 * The analytical query is one connection that asks for it again and again. Two servers answer the
 * same: one with threads for long reads, one without. Each has all processors, and the clients that
 * read have the second one (`pinned()`) as far as the servers leave it to them: on two processors
 * the thread of the analysis and the clients share one, so the ratio is of a machine that is busy
 * on both.
 */
import assert from 'node:assert/strict';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const records = 200_000;
const clients = 4;
const database = 'bench';
const read = 'SELECT FROM Pt WHERE id = :id';
const analysis = 'SELECT max(util.sha256(pad.append(id.asString()))) AS h FROM Pt';
const bound = 1.5;

export async function readsBesideAnalysis(report: Report, options: BenchOptions): Promise<void> {
  await using started = new AsyncDisposableStack();
  const start = async (settings: Readonly<Record<string, number>>): Promise<Target> => {
    const target = await startSvc({settings, pin: false});
    started.defer(target.dispose);
    await fill(target);
    return target;
  };
  report.say(`mixed: ${records} records, ${clients} clients, pinned clients: ${pinned()}`);
  const withThreads = await start({});
  const without = await start({'svc.scanWorkers': 0});
  const answers = [withThreads, without].map(({client}) => client.query(database, analysis));
  const [one, other] = await Promise.all(answers);
  assert.deepEqual(one?.result, other?.result);
  await rounds(report, options, {withThreads, without});
}

async function fill(target: Target): Promise<void> {
  await prepare(target, database, [
    'CREATE VERTEX TYPE Pt',
    'CREATE PROPERTY Pt.id LONG',
    'CREATE PROPERTY Pt.pad STRING',
    'CREATE INDEX ON Pt (id) UNIQUE',
  ]);
  const counts = await target.client.batch(database, lines(), {
    query: {wal: true, idMapping: false},
  });
  assert.equal(counts.verticesCreated, records);
}

async function* lines(): AsyncGenerator<string> {
  const linesAtOnce = 1_000;
  for (let from = 0; from < records; from += linesAtOnce) {
    const chunk = Array.from({length: linesAtOnce}, (_, index) => {
      const id = from + index;
      return `{"@type":"v","@class":"Pt","@id":"p${id}","id":${id},"pad":"text ${id}"}\n`;
    });
    yield chunk.join('');
  }
}

/** Reads and, when asked to, the analysis beside them; how often that was answered. */
async function reads(
  target: Target,
  {seed, millis, isBeside}: {seed: number; millis: number; isBeside: boolean},
): Promise<Measured & {readonly analyses: number}> {
  let isOver = false;
  let analyses = 0;
  const analysing = async (): Promise<void> => {
    for (; !isOver; analyses += 1) await target.client.query(database, analysis);
  };
  const beside = isBeside ? analysing() : undefined;
  const measured = await measure(target, {
    path: `/api/v1/query/${database}`,
    before: `{"language":"sql","command":"${read}","params":{"id":`,
    after: '}}',
    numbers: {kind: 'random', count: records, seed},
    clients,
    millis,
  });
  isOver = true;
  await beside;
  assert.equal(measured.errors, 0, measured.firstError);
  return {...measured, analyses};
}

async function rounds(
  report: Report,
  {rounds: count, seconds}: BenchOptions,
  targets: {readonly withThreads: Target; readonly without: Target},
): Promise<void> {
  const {withThreads, without} = targets;
  const millis = seconds * 1_000;
  for (const target of [withThreads, without]) {
    const warm = (): Promise<Measured> => reads(target, {seed: 0, millis, isBeside: false});
    await warmUp(warm, {secondsMin: 6, secondsMax: 20});
    await reads(target, {seed: 0, millis, isBeside: true});
  }
  const measured = {
    withThreads: {alone: [] as Measured[], beside: [] as Measured[]},
    without: {alone: [] as Measured[], beside: [] as Measured[]},
  };
  let analyses = 0;
  for (let seed = 1; seed <= count; seed += 1) {
    for (const name of ['withThreads', 'without'] as const) {
      for (const isBeside of [false, true]) {
        const outcome = await reads(targets[name], {seed, millis, isBeside});
        measured[name][isBeside ? 'beside' : 'alone'].push(outcome);
        if (name === 'withThreads') analyses += outcome.analyses;
      }
    }
  }
  const p99 = (outcomes: readonly Measured[]): number[] => outcomes.map(each => each.p99Millis);
  const rate = (outcomes: readonly Measured[]): number[] => outcomes.map(each => each.perSecond);
  for (const [name, {alone, beside}] of Object.entries(measured)) {
    report.add({
      class: 'mixed',
      point: name === 'withThreads' ? 'with threads' : 'svc.scanWorkers=0',
      unit: 'ms p99 of reads beside an analysis',
      ours: p99(beside),
      peer: 'the same reads alone',
      theirs: p99(alone),
      durability: 'reads',
      ...(name === 'withThreads' && {gate: {at: 'most', bound} as const, notes: {analyses}}),
    });
  }
  report.add({
    class: 'mixed',
    point: 'reads alone',
    unit: 'reads/s',
    ours: rate(measured.withThreads.alone),
    peer: 'svc.scanWorkers=0',
    theirs: rate(measured.without.alone),
    durability: 'reads',
  });
}
