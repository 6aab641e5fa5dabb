/**
 * W2, growth: durable inserts with more clients, into a larger database, and of many records in one
 * commit; and that a million commits leave no memory behind.
 *
 * Ratios are of our own server against itself, interleaved; the rate of large commits and the slope
 * of memory are figures of their own.
 */
import assert from 'node:assert/strict';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {memoryOf, pinned} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../run.ts';

const schema = [
  'CREATE DOCUMENT TYPE Ins',
  'CREATE PROPERTY Ins.k LONG',
  'CREATE PROPERTY Ins.v STRING',
  'CREATE INDEX ON Ins (k) UNIQUE',
];
const pad = 'x'.repeat(200);
const keysOfClient = 10_000_000;
const keysOfRun = 300 * keysOfClient;
const records = {small: 50_000, large: 500_000} as const;
const rowsOfCommit = 1_000;
const commitsOfSlope = 1_000_000;

/** Counts what it inserts, so that the end can be checked. */
class Inserter {
  readonly #target: Target;
  readonly #database: string;
  #runs = 0;
  records = 0;

  constructor(target: Target, database: string) {
    this.#target = target;
    this.#database = database;
  }

  /** Single records, each a commit. */
  async single(clients: number, millis: number): Promise<Measured> {
    const outcome = await measure(this.#target, {
      ...this.#shape(clients, millis),
      before: '{"language":"sql","command":"INSERT INTO Ins SET k = :k, v = :v","params":{"k":',
      after: `,"v":"${pad}"}}`,
    });
    this.records += outcome.operations;
    return outcome;
  }

  /** A thousand records in one statement with a list of parameters. */
  async many(clients: number, millis: number): Promise<Measured> {
    const values = Array.from({length: rowsOfCommit}, () => '(?, ?)').join();
    const outcome = await measure(this.#target, {
      ...this.#shape(clients, millis),
      before: `{"language":"sql","command":"INSERT INTO Ins (k, v) VALUES ${values}","params":[`,
      rows: {count: rowsOfCommit, each: `,"${pad}"`},
      after: ']}',
    });
    this.records += outcome.operations * rowsOfCommit;
    return outcome;
  }

  /** Inserts about so many. */
  async load(count: number): Promise<void> {
    while (this.records < count) await this.many(4, 1_000);
  }

  async check(): Promise<void> {
    const text = 'SELECT count(*) AS c FROM Ins';
    const {result} = await this.#target.client.query(this.#database, text);
    assert.equal(Number(result[0]?.['c']), this.records, 'every acknowledged record is stored');
  }

  #shape(clients: number, millis: number) {
    const start = ++this.#runs * keysOfRun;
    return {
      path: `/api/v1/command/${this.#database}`,
      numbers: {kind: 'sequence', start, stride: keysOfClient} as const,
      clients,
      millis,
    };
  }
}

/** Every point in one server. */
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
    await largeCommits(report, options, small);
    await memorySlope(report, svc, small);
    for (const inserter of [small, large]) await inserter.check();
  } finally {
    await svc.dispose();
  }
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

async function largeCommits(report: Report, options: BenchOptions, inserter: Inserter) {
  await inserter.many(4, options.seconds * 2_000);
  const rates: Measured[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    rates.push(await inserter.many(4, options.seconds * 1_000));
  }
  report.add({
    ...figure(`${rowsOfCommit} records a commit, 4 clients`, 'records/s'),
    ours: rates.map(({perSecond}) => perSecond * rowsOfCommit),
    peer: 'none',
    theirs: [],
    cpuMicrosPerOpOurs: rates.map(({cpuMicrosPerOp}) => cpuMicrosPerOp / rowsOfCommit),
    gate: {at: 'least', bound: 100_000},
  });
}

/** Resident memory over a million commits of one record, after as many again to warm up. */
async function memorySlope(report: Report, svc: Target, inserter: Inserter): Promise<void> {
  const resident: number[] = [];
  const commits = async (count: number): Promise<void> => {
    for (const goal = inserter.records + count; inserter.records < goal; ) {
      await inserter.single(64, 2_000);
    }
  };
  await commits(commitsOfSlope / 4);
  for (let step = 0; step < 10; step += 1) {
    await commits(commitsOfSlope / 10);
    resident.push(memoryOf(svc.pid).resident / 2 ** 20);
  }
  report.add({
    ...figure('memory over a million commits', 'MB per 100,000'),
    // A slope downwards is as good as none.
    ours: [Math.max(slopeOf(resident), 0.001)],
    peer: 'none',
    theirs: [],
    gate: {at: 'most', bound: 1},
    notes: {residentMB: resident.map(Math.round)},
  });
}

/** Of the line that fits best, a step a value. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let product = 0;
  let square = 0;
  values.forEach((value, at) => {
    product += (at - middle) * (value - mean);
    square += (at - middle) ** 2;
  });
  return product / square;
}

function figure(point: string, unit: string) {
  return {class: 'W2', point, unit, durability: 'fsync'};
}
