/**
 * W19, beside writers: what a backup at full speed leaves to sixteen clients that insert, the
 * longest that one of them waits, and what memory a backup takes of a database four times as large.
 */
import {startSvc} from '../peers/svc.ts';
import {measure, type Measured, type Target} from '../peers/target.ts';
import {memoryOf} from '../processes.ts';
import type {Report} from '../report.ts';
import {database, Items} from './items.ts';
import type {BenchOptions} from '../bench-options.ts';

const writers = 16;
const sampleMillis = 20;
const megabyte = 1e6;
const memoryRounds = 3;
/** Megabytes more for a database four times as large: constant, but for what a collector leaves. */
const growthMax = 16;

export async function besideBackup(report: Report, options: BenchOptions): Promise<void> {
  const ours = await startSvc({pin: false});
  try {
    report.say(`W19: ${writers} writers beside backups of ${options.megabytes} MB`);
    await new Items(options.megabytes).fill(ours);
    const writing = new Writing(ours);
    const [alone, beside]: [Measured[], Measured[]] = [[], []];
    await writing.run(options.seconds);
    await backUp(ours);
    for (let round = 0; round < options.rounds; round += 1) {
      alone.push(await writing.run(options.seconds));
      beside.push(await whileBackingUp(ours, () => writing.run(options.seconds)));
    }
    const rates = (rounds: readonly Measured[]): number[] => rounds.map(round => round.perSecond);
    const waits = (rounds: readonly Measured[]): number[] => rounds.map(round => round.worstMillis);
    const shared = {class: 'W19', durability: 'fsync before each answer'};
    report.add({
      ...shared,
      point: `${writers} writers beside a backup`,
      unit: 'ops/s',
      ours: rates(beside),
      peer: 'the same without',
      theirs: rates(alone),
      gate: {at: 'least', bound: 0.8},
      notes: {aim: 0.95},
    });
    report.add({
      ...shared,
      point: 'longest wait of a writer beside a backup',
      unit: 'ms',
      ours: waits(beside),
      peer: '',
      theirs: [],
      gate: {at: 'most', bound: 100},
      notes: {aim: 20, alone: waits(alone).map(Math.round), p99: beside.map(one => one.p99Millis)},
    });
  } finally {
    await ours.dispose();
  }
}

/** `SIZE` is the middle: from half of it to twice as much. */
export async function backupMemory(report: Report, {megabytes}: BenchOptions): Promise<void> {
  const ours = await startSvc({pin: false});
  try {
    const small = new Items(megabytes / 2);
    const large = new Items(megabytes * 2);
    await small.fill(ours);
    const before = await memoryOfBackups(ours);
    await large.add(ours, small.count);
    const after = await memoryOfBackups(ours);
    report.add({
      class: 'W19',
      point: `memory of a backup of ${megabytes * 2} MB, more than of ${megabytes / 2} MB`,
      unit: 'MB',
      ours: after.map((most, round) => most - (before[round] ?? Number.NaN)),
      peer: '',
      theirs: [],
      durability: 'synced',
      gate: {at: 'most', bound: growthMax},
      notes: {small: before.map(Math.round), large: after.map(Math.round)},
    });
  } finally {
    await ours.dispose();
  }
}

async function backUp({client}: Target): Promise<void> {
  const {fileName} = await client.serverCommand(`trigger backup ${database}`);
  await client.serverCommand(`delete backup ${database} ${String(fileName)}`);
}

async function whileBackingUp<T>(target: Target, work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const backingUp = (async () => {
    while (!isOver) await backUp(target);
  })();
  const result = await work();
  isOver = true;
  await backingUp;
  return result;
}

/** The first backup behind a load has its compactions beside it, and counts for nothing. */
async function memoryOfBackups(target: Target): Promise<readonly number[]> {
  await memoryOfBackup(target);
  const most: number[] = [];
  for (let round = 0; round < memoryRounds; round += 1) most.push(await memoryOfBackup(target));
  return most;
}

/** The most resident memory during a backup, above what there is before it; megabytes. */
async function memoryOfBackup(target: Target): Promise<number> {
  const before = memoryOf(target.pid).resident;
  let most = before;
  const sampling = setInterval(() => {
    most = Math.max(most, memoryOf(target.pid).resident);
  }, sampleMillis);
  try {
    await backUp(target);
  } finally {
    clearInterval(sampling);
  }
  return (most - before) / megabyte;
}

class Writing {
  readonly #target: Target;
  #runs = 0;

  constructor(target: Target) {
    this.#target = target;
  }

  run(seconds: number): Promise<Measured> {
    this.#runs += 1;
    return measure(this.#target, {
      path: `/api/v1/command/${database}`,
      before:
        '{"language":"sql","command":"INSERT INTO Item SET id = :id, text = :text","params":{"id":',
      after: `,"text":"${'x'.repeat(200)}"}}`,
      numbers: {kind: 'sequence', start: this.#runs * 1e10, stride: 1e7},
      clients: writers,
      millis: seconds * 1_000,
    });
  }
}
