/**
 * Two checkouts of Svc beside each other, what is changed against what was before: point reads,
 * durable inserts, a bulk load, hops, ranges and scans, starts, and three members: durable inserts,
 * and how long no write is accepted when their leader is killed or hands over.
 *
 * `make bench CLASS=pairs BASE=../before`; the other checkout has its packages and was built. Both
 * servers run at once and are driven in turns, each round in the other order, so that a machine
 * that is slow for a while is slow for both.
 */
import assert from 'node:assert/strict';
import {existsSync, rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';
import type {SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {startSvcBench, SvcPuts} from '../peers/clusters.ts';
import {startSvc} from '../peers/svc.ts';
import {measure, prepare, type Target} from '../peers/target.ts';
import {memoryOf} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';
import {handOverGap, killedGap, svcSide} from '../W16/failover.ts';
import {largerReads} from './larger-reads.ts';
import {add, inTurns, type Pair, type Side} from './turns.ts';

const database = 'bench';
const records = 100_000;
const pad = 'x'.repeat(100);
const keysOfClient = 1_000_000;
const idleMillis = 3_000;
/** Both sides have compiled what they run by then. */
const warmRounds = 5;

/** `make bench CLASS=pairs BASE=../before`. */
export async function pairs(report: Report, options: BenchOptions): Promise<void> {
  const base = resolve(process.env['BASE'] ?? '');
  const program = join(base, 'bin/svc');
  if (process.env['BASE'] === undefined || !existsSync(program)) {
    throw new Error('BASE= names no other checkout of Svc: make bench CLASS=pairs BASE=../before');
  }
  await single(report, options, program);
  await starts(report, options, program);
  await replicated(report, options, program);
}

/**
 * `make bench CLASS=group-of-one`: a server alone beside a Raft group of one member, both of this
 * checkout: what one way to the disk for both would cost.
 */
export async function groupOfOne(report: Report, options: BenchOptions): Promise<void> {
  await using started = new AsyncDisposableStack();
  const alone = await startSvc({pin: false});
  started.defer(alone.dispose);
  const group = await startSvcBench(1);
  started.defer(() => group.dispose());
  const member = group.members[0];
  assert(member !== undefined);
  const client = group.clientOf(member);
  const target: Target = {
    ...alone,
    label: 'group of one',
    client,
    pid: member.process.pid,
    address: {...alone.address, host: member.host, port: member.httpPort},
  };
  await insertsAndReads(report, options, {ours: target, theirs: alone, peer: 'a server alone'});
  memory(report, {ours: target, theirs: alone, peer: 'a server alone'});
}

/** `make bench CLASS=metrics`: a server that counts and times beside one that does not. */
export async function metricsOnAndOff(report: Report, options: BenchOptions): Promise<void> {
  await using started = new AsyncDisposableStack();
  const ours = await startSvc();
  started.defer(ours.dispose);
  const theirs = await startSvc({settings: {'svc.serverMetrics': false}});
  started.defer(theirs.dispose);
  await insertsAndReads(report, options, {ours, theirs, peer: 'metrics off'});
}

const before = 'the commit before';

async function single(report: Report, options: BenchOptions, program: string): Promise<void> {
  await using started = new AsyncDisposableStack();
  const ours = await startSvc();
  started.defer(ours.dispose);
  const theirs = await startSvc({program});
  started.defer(theirs.dispose);
  const pair = {ours, theirs, peer: before};
  await insertsAndReads(report, options, pair);
  await largerReads(report, options, pair);
}

async function insertsAndReads(report: Report, options: BenchOptions, pair: Pair): Promise<void> {
  const {ours, theirs, peer} = pair;
  for (const target of [ours, theirs]) {
    await prepare(target, database, [
      'CREATE VERTEX TYPE Pt',
      'CREATE PROPERTY Pt.id LONG',
      'CREATE INDEX ON Pt (id) UNIQUE',
      'CREATE DOCUMENT TYPE Ins',
      'CREATE PROPERTY Ins.k LONG',
      'CREATE INDEX ON Ins (k) UNIQUE',
    ]);
  }
  const load = (target: Target): Side<number> => {
    let start = 0;
    return {
      round: async () => {
        const startedAt = performance.now();
        const counts = await target.client.batch(database, lines(start), {
          query: {wal: true, idMapping: false},
        });
        assert.equal(counts.verticesCreated, records);
        start += records;
        return (records / (performance.now() - startedAt)) * 1_000;
      },
    };
  };
  const loads = {ours: load(ours), theirs: load(theirs)};
  await inTurns(2, loads);
  add(report, 'batch, records', 'records/s', peer, await inTurns(options.rounds, loads));
  const read = (target: Target): Side<number> => ({
    round: async () => {
      const {perSecond} = await measure(target, {
        path: `/api/v1/query/${database}`,
        before: '{"language":"sql","command":"SELECT FROM Pt WHERE id = :id","params":{"id":',
        after: '}}',
        numbers: {kind: 'random', count: records, seed: 7},
        clients: 16,
        millis: options.seconds * 1_000,
      });
      return perSecond;
    },
  });
  const reads = {ours: read(ours), theirs: read(theirs)};
  await inTurns(3, reads);
  add(report, 'W1, 16 clients', 'ops/s', peer, await inTurns(options.rounds, reads));
  for (const clients of [1, 16, 64]) {
    const inserts = {
      ours: inserting(ours, clients, options),
      theirs: inserting(theirs, clients, options),
    };
    await inTurns(3, inserts);
    const point = `W2, ${clients} client${clients === 1 ? '' : 's'}`;
    add(report, point, 'ops/s', peer, await inTurns(options.rounds, inserts));
  }
}

let runs = 0;

function inserting(target: Target, clients: number, {seconds}: BenchOptions): Side<number> {
  return {
    round: async () => {
      runs += 1;
      const outcome = await measure(target, {
        path: `/api/v1/command/${database}`,
        before: '{"language":"sql","command":"INSERT INTO Ins SET k = :k, v = :v","params":{"k":',
        after: `,"v":"${pad}"}}`,
        numbers: {kind: 'sequence', start: runs * 100 * keysOfClient, stride: keysOfClient},
        clients,
        millis: seconds * 1_000,
      });
      return outcome.perSecond;
    },
  };
}

async function* lines(start: number): AsyncGenerator<string> {
  const linesAtOnce = 1_000;
  for (let from = start; from < start + records; from += linesAtOnce) {
    yield Array.from({length: linesAtOnce}, (_, index) => {
      const id = from + index;
      return `{"@type":"v","@class":"Pt","@id":"p${id}","id":${id},"pad":"${pad}"}\n`;
    }).join('');
  }
}

interface Start {
  readonly ready: number;
  readonly idle: number;
}

async function starts(report: Report, options: BenchOptions, program: string): Promise<void> {
  const start = (other?: string): Side<Start> => ({
    round: async () => {
      const root = temporaryRoot('bench-start');
      try {
        const server = await startSvc({root, pin: false, program: other});
        await new Promise(done => setTimeout(done, idleMillis));
        const idle = memoryOf(server.pid).resident / 1e6;
        const ready = server.readyMillis;
        await server.stop();
        return {ready, idle};
      } finally {
        rmSync(root, {recursive: true, force: true});
      }
    },
  });
  const sides = {ours: start(), theirs: start(program)};
  await inTurns(1, sides);
  const [mine, others] = await inTurns(options.rounds, sides);
  const of = (field: keyof Start): [number[], number[]] => [
    mine.map(one => one[field]),
    others.map(one => one[field]),
  ];
  add(report, 'W20, ready', 'ms', before, of('ready'));
  add(report, 'W20, idle', 'MB', before, of('idle'));
}

function memory(report: Report, {ours, theirs, peer}: Pair): void {
  const resident = ({pid}: Target): number => memoryOf(pid).resident / 1e6;
  add(report, 'memory after all of it', 'MB', peer, [[resident(ours)], [resident(theirs)]]);
}

async function replicated(report: Report, options: BenchOptions, program: string): Promise<void> {
  await using started = new AsyncDisposableStack();
  const cluster = await startSvcBench(3);
  started.defer(() => cluster.dispose());
  const other = await startSvcBench(3, {}, program);
  started.defer(() => other.dispose());
  const ours = new SvcPuts(cluster);
  const theirs = new SvcPuts(other);
  for (const clients of [1, 64]) {
    const side = (puts: SvcPuts): Side<number> => ({
      round: async () => (await puts.put(clients, options.seconds)).perSecond,
    });
    const point = `W15, ${clients} client${clients === 1 ? '' : 's'}`;
    const sides = {ours: side(ours), theirs: side(theirs)};
    // In turns as well: who is warmed up first, and rests while the other is, stays slower, though
    // both are the same program.
    await inTurns(warmRounds, sides);
    add(report, point, 'ops/s', before, await inTurns(options.rounds, sides));
  }
  await failovers(report, options, cluster, other);
}

/** Single gaps scatter by a third, and a round of them takes two seconds. */
const gapsOfRound = 3;

async function failovers(
  report: Report,
  {rounds}: BenchOptions,
  ours: SvcCluster,
  theirs: SvcCluster,
): Promise<void> {
  for (const [point, gap] of [
    ['W16, leader killed', killedGap],
    ['W16, planned step-down', handOverGap],
  ] as const) {
    const side = (cluster: SvcCluster): Side<number> => {
      const system = svcSide(cluster);
      return {round: () => gap(system)};
    };
    const sides = {ours: side(ours), theirs: side(theirs)};
    await inTurns(1, sides);
    add(report, point, 'ms', before, await inTurns(gapsOfRound * rounds, sides));
  }
}
