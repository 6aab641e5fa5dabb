/**
 * W2, growth: durable inserts with more clients, into a larger database, and of many records in one
 * commit.
 *
 * Ratios are of our own server against itself, interleaved. The rate of large commits is a figure
 * of its own: nobody is compared with it, so that server runs on every processor of the machine.
 */
import {startSvc} from '../peers/svc.ts';
import {type Measured, prepare} from '../peers/target.ts';
import {pinned} from '../processes.ts';
import type {Report} from '../report.ts';
import {Inserter, rowsOfCommit, schema} from './inserter.ts';
import type {BenchOptions} from '../bench-options.ts';

const records = {small: 50_000, large: 500_000} as const;

export async function insertGrowth(report: Report, options: BenchOptions): Promise<void> {
  const svc = await startSvc();
  try {
    report.say(`W2 growth: pinned: ${pinned()}`);
    await prepare(svc, 'small', schema);
    await prepare(svc, 'large', schema);
    const small = new Inserter(svc, 'small');
    const large = new Inserter(svc, 'large');
    await small.load(records.small);
    await large.load(records.large);
    for (let turn = 0; turn < 4; turn += 1) await small.single(64, options.seconds * 1_000);
    await compareClients(report, options, small);
    await compareSizes(report, options, {small, large});
    for (const inserter of [small, large]) await inserter.check();
  } finally {
    await svc.dispose();
  }
  await largeCommits(report, options);
}

async function compareClients(report: Report, options: BenchOptions, inserter: Inserter) {
  const few: Measured[] = [];
  const many: Measured[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    few.push(await inserter.single(64, options.seconds * 1_000));
    many.push(await inserter.single(256, options.seconds * 1_000));
  }
  report.add({
    ...figure('256 clients', 'ops/s'),
    ours: many.map(({perSecond}) => perSecond),
    peer: 'svc, 64 clients',
    theirs: few.map(({perSecond}) => perSecond),
    gate: {at: 'least', bound: 0.9},
  });
}

async function compareSizes(
  report: Report,
  options: BenchOptions,
  sides: {readonly small: Inserter; readonly large: Inserter},
): Promise<void> {
  const small: Measured[] = [];
  const large: Measured[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    small.push(await sides.small.single(16, options.seconds * 1_000));
    large.push(await sides.large.single(16, options.seconds * 1_000));
  }
  report.add({
    ...figure('a database 10 times larger, 16 clients', 'ms p99'),
    ours: large.map(({p99Millis}) => p99Millis),
    peer: 'svc, the smaller one',
    theirs: small.map(({p99Millis}) => p99Millis),
    gate: {at: 'most', bound: 1.3},
    notes: {records, perSecondLarge: large.map(({perSecond}) => Math.round(perSecond))},
  });
}

async function largeCommits(report: Report, options: BenchOptions) {
  const svc = await startSvc({pin: false});
  const rates: Measured[] = [];
  try {
    await prepare(svc, 'large', schema);
    const inserter = new Inserter(svc, 'large');
    await inserter.load(records.large);
    for (let round = 0; round < options.rounds; round += 1) {
      rates.push(await inserter.many(4, options.seconds * 1_000));
    }
    await inserter.check();
  } finally {
    await svc.dispose();
  }
  report.add({
    ...figure(`${rowsOfCommit} records a commit, 4 clients`, 'records/s'),
    ours: rates.map(({perSecond}) => perSecond * rowsOfCommit),
    peer: 'none',
    theirs: [],
    cpuMicrosPerOpOurs: rates.map(({cpuMicrosPerOp}) => cpuMicrosPerOp / rowsOfCommit),
    gate: {at: 'least', bound: 100_000},
    notes: {pinned: false},
  });
}

function figure(point: string, unit: string) {
  return {class: 'W2', point, unit, durability: 'fsync'};
}
