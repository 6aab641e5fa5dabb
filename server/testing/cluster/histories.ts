/**
 * `make porcupine RUNS=20 SECONDS=30 SEED=1`: clients work on registers at all members of a real
 * cluster while faults are injected, and every history is judged by porcupine (linearizability of
 * writes and of reads in that mode) and by `session-guarantees.ts` (every mode).
 *
 * SYSTEM=etcd runs the same against etcd, which proves the driver; SIZE=5 starts five members.
 * Exit code 1 when a history is broken or could not be decided; its files are kept then.
 */
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {SeededRandom} from '../property/seeded-random.ts';
import {type ClusterSystem, untilLed} from './cluster-system.ts';
import {startEtcdCluster} from './etcd-cluster.ts';
import {type FaultCounts, injectFaults} from './faults.ts';
import {type Operation, writeLinearizable} from './history.ts';
import {judgeLinearizable} from './porcupine.ts';
import {loadRegisters, readAll} from './register-load.ts';
import {createSvcRegisters, EtcdRegisters, type Registers, SvcRegisters} from './registers.ts';
import {type BrokenGuarantee, brokenGuarantees} from './session-guarantees.ts';
import {startSvcCluster} from './svc-cluster.ts';

export interface HistoryOptions {
  readonly system: 'svc' | 'etcd';
  readonly size: number;
  readonly runs: number;
  readonly seconds: number;
  readonly seed: number;
  readonly onRun: (run: RunReport) => void;
}

export interface RunReport {
  readonly number: number;
  readonly operations: number;
  /** How many operations were answered, and how many of these at followers. */
  readonly answered: number;
  readonly atFollowers: number;
  readonly failed: number;
  readonly unknown: number;
  readonly faults: FaultCounts;
  /** `linearizable`, or what is wrong. */
  readonly verdict: string;
  readonly broken: readonly BrokenGuarantee[];
  readonly surprises: readonly string[];
  /** Where the history lies when something is wrong. */
  readonly kept: string | undefined;
}

interface Bench {
  readonly cluster: ClusterSystem;
  readonly connect: () => Registers;
  readonly create: (keys: readonly string[]) => Promise<void>;
}

/** Enough that a run has its operations also while members are down or the machine is busy. */
const clients = 24;
const keysPerRun = 60;
const checkSecondsMax = 60;
const healedMillisMax = 60_000;
/** Short, so that a run sees many leaders; the same for both systems. */
const electionMillis = 500;

/** Runs so many histories on one cluster; answers what was found. */
export async function runHistories(options: HistoryOptions): Promise<readonly RunReport[]> {
  const random = new SeededRandom(options.seed);
  const bench = await startBench(options, random);
  const folder = mkdtempSync(join(tmpdir(), 'svc-histories-'));
  const reports: RunReport[] = [];
  let isClean = false;
  try {
    for (let number = 1; number <= options.runs; number += 1) {
      const report = await oneRun(bench, options, {number, random, folder});
      reports.push(report);
      options.onRun(report);
    }
    isClean = reports.every(({kept}) => kept === undefined);
    return reports;
  } finally {
    for (const {name, process} of bench.cluster.members) {
      if (!isClean) writeFileSync(join(folder, `${name}.log`), process.log);
    }
    await bench.cluster.dispose();
    if (isClean) rmSync(folder, {recursive: true, force: true});
  }
}

async function startBench(options: HistoryOptions, random: SeededRandom): Promise<Bench> {
  const {size} = options;
  if (options.system === 'etcd') {
    const cluster = await startEtcdCluster({size, electionMillis, heartbeatMillis: 50});
    const connect = (): Registers => new EtcdRegisters(cluster.members);
    return {cluster, connect, create: async () => undefined};
  }
  const settings = {
    'svc.ha.electionTimeoutMin': electionMillis,
    'svc.ha.electionTimeoutMax': 2 * electionMillis,
  };
  const cluster = await startSvcCluster({size, settings, links: {random}});
  return {
    cluster,
    connect: () => new SvcRegisters(cluster),
    create: async keys => createSvcRegisters(cluster, await untilLed(cluster), keys),
  };
}

async function oneRun(
  bench: Bench,
  options: HistoryOptions,
  run: {number: number; random: SeededRandom; folder: string},
): Promise<RunReport> {
  const {number, random, folder} = run;
  const {cluster: system, connect, create} = bench;
  const keys = Array.from({length: keysPerRun}, (_, index) => `r${number}-${index}`);
  const millis = options.seconds * 1_000;
  await untilLed(system);
  await create(keys);
  const load = {system, connect, keys, clients, millis, random, firstClient: 1};
  const [{operations: worked, surprises}, faults] = await Promise.all([
    loadRegisters(load),
    injectFaults(system, performance.now() + millis, random),
  ]);
  await untilLed(system);
  const last = await readAll({...load, firstClient: clients + 1, millis: healedMillisMax});
  const operations = [...worked, ...last];
  const file = join(folder, `run-${number}.jsonl`);
  writeLinearizable(file, operations);
  const judged = await judgeLinearizable(file, checkSecondsMax);
  const broken = brokenGuarantees(operations);
  const verdict = judged.kind === 'linearizable' ? judged.kind : `${judged.kind} ${judged.key}`;
  const isClean = judged.kind === 'linearizable' && broken.length + surprises.length === 0;
  if (isClean) rmSync(file);
  else writeFileSync(file, operations.map(one => `${JSON.stringify(one)}\n`).join(''));
  const having = (outcome: Operation['outcome']): number =>
    operations.filter(one => one.outcome === outcome).length;
  return {
    number,
    operations: operations.length,
    answered: having('ok'),
    atFollowers: operations.filter(one => one.atFollower && one.outcome === 'ok').length,
    failed: having('failed'),
    unknown: having('unknown'),
    faults,
    verdict,
    broken,
    surprises,
    kept: isClean ? undefined : file,
  };
}

function lineOf(run: RunReport): string {
  const faults = [...run.faults].map(([name, count]) => `${name} ${count}`).join(', ');
  const lines = [
    `run ${run.number}: ${run.verdict}, operations ${run.operations}, answered ${run.answered}, ` +
      `at followers ${run.atFollowers}, failed ${run.failed}, unknown ${run.unknown}; ` +
      `faults: ${faults}`,
    ...run.broken.slice(0, 5).map(({guarantee, says}) => `  ${guarantee}: ${says}`),
    ...[...new Set(run.surprises)].slice(0, 5).map(text => `  surprise: ${text}`),
    ...(run.kept === undefined ? [] : [`  kept: ${run.kept}`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** What a run has to hold, so that a series says something. */
const answeredPerSecondMin = 5_000 / 30;
const followersPercentMin = 5;

function summaryOf(reports: readonly RunReport[], seconds: number): string {
  const counts = reports.map(({answered}) => answered).sort((one, other) => one - other);
  const median = counts[counts.length >> 1] ?? 0;
  const all = counts.reduce((sum, count) => sum + count, 0);
  const atFollowers = reports.reduce((sum, run) => sum + run.atFollowers, 0);
  const wrong = reports.filter(({kept}) => kept !== undefined).length;
  const least = Math.ceil(answeredPerSecondMin * seconds);
  const percent = (100 * atFollowers) / Math.max(1, all);
  const verdict = (isMet: boolean): string => (isMet ? 'met' : 'MISSED');
  return (
    `runs ${reports.length}, wrong ${wrong}, operations answered ${all}\n` +
    `median of a run ${median}, at least ${least}: ${verdict(median >= least)}\n` +
    `at followers ${percent.toFixed(1)} %, at least ${followersPercentMin} %: ` +
    `${verdict(percent >= followersPercentMin)}\n`
  );
}

if (import.meta.main) {
  const environment = process.env;
  const system = environment['SYSTEM'] === 'etcd' ? 'etcd' : 'svc';
  const seed = Number(environment['SEED'] || Date.now() % 1_000_000);
  process.stdout.write(`system ${system} seed ${seed}\n`);
  const seconds = Number(environment['SECONDS'] || 30);
  const reports = await runHistories({
    system,
    seed,
    size: Number(environment['SIZE'] || 3),
    runs: Number(environment['RUNS'] || 20),
    seconds,
    onRun: run => process.stdout.write(lineOf(run)),
  });
  process.stdout.write(summaryOf(reports, seconds));
  // Node.js 24 looks for handles to close without end in some processes that had this many.
  process.exit(reports.some(({kept}) => kept !== undefined) ? 1 : 0);
}
