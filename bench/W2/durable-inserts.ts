/**
 * W2: durable inserts of one record each over HTTP, 1 and 64 clients, fsync on both sides, against
 * PostgreSQL's prepared insert and the reference system with durable commits.
 *
 * Every side inserts ascending keys of its clients under a unique index; at the end each must
 * hold exactly as many records as it acknowledged.
 */
import assert from 'node:assert/strict';
import {type PostgreSql, startPostgreSql} from '../peers/postgresql.ts';
import {startReference} from '../peers/reference.ts';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import type {Gate, Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const pad = 'x'.repeat(100);
const database = 'bench';
const points = [1, 64] as const;
/** Keys of one client in one run: no client reaches it in a run. */
const keysOfClient = 10_000_000;

interface Side {
  readonly label: string;
  readonly insert: (clients: number, seconds: number) => Promise<Rate>;
  readonly count: () => Promise<number>;
  acknowledged: number;
  runs: number;
}

interface Rate {
  readonly perSecond: number;
  readonly seconds: number;
  readonly operations: number;
  readonly cpuMicrosPerOp: number;
  readonly p99Millis?: number;
}

export async function durableInserts(report: Report, options: BenchOptions): Promise<void> {
  await using started = new AsyncDisposableStack();
  report.say(`W2: one record a commit, unique key, pinned: ${pinned()}`);
  const postgresql = await startPostgreSql();
  started.defer(postgresql.stop);
  const svc = await startSvc();
  started.defer(svc.dispose);
  const system = await startReference();
  if (system === undefined) report.say('the tools of the reference system are not here');
  else started.defer(system.dispose);
  const ours = await httpSide(svc);
  const peer = await postgreSqlSide(postgresql);
  const reference = system === undefined ? undefined : await httpSide(system);
  await rounds(report, options, {ours, peer, reference});
  for (const side of [ours, peer, ...(reference === undefined ? [] : [reference])]) {
    const stored = await side.count();
    assert.equal(stored, side.acknowledged, `${side.label} stores another number of records`);
    report.say(`${side.label}: acknowledged ${side.acknowledged}, stored ${stored}`);
  }
}

async function httpSide(target: Target): Promise<Side> {
  await prepare(target, database, [
    'CREATE DOCUMENT TYPE Ins',
    'CREATE PROPERTY Ins.k LONG',
    'CREATE PROPERTY Ins.v STRING',
    'CREATE INDEX ON Ins (k) UNIQUE',
  ]);
  const side: Side = {
    label: target.label,
    acknowledged: 0,
    runs: 0,
    count: async () => {
      const {result} = await target.client.query(database, 'SELECT count(*) AS c FROM Ins');
      return Number(result[0]?.['c']);
    },
    insert: async (clients, seconds): Promise<Measured> => {
      const outcome = await measure(target, {
        path: `/api/v1/command/${database}`,
        before: '{"language":"sql","command":"INSERT INTO Ins SET k = :k, v = :v","params":{"k":',
        after: `,"v":"${pad}"}}`,
        numbers: {kind: 'sequence', start: startOfRun(side), stride: keysOfClient},
        clients,
        millis: seconds * 1_000,
      });
      return counted(side, outcome);
    },
  };
  return side;
}

async function postgreSqlSide(postgresql: PostgreSql): Promise<Side> {
  await postgresql.sql('CREATE TABLE ins (k bigint PRIMARY KEY, v text NOT NULL)');
  // A variable of pgbench keeps its value from one transaction of a client to the next.
  const script =
    `\\set n :n + 1\n\\set k :first + :client_id * ${keysOfClient} + :n\n` +
    `INSERT INTO ins (k, v) VALUES (:k, '${pad}');\n`;
  const side: Side = {
    label: postgresql.label,
    acknowledged: 0,
    runs: 0,
    count: async () => Number(await postgresql.sql('SELECT count(*) FROM ins')),
    insert: async (clients, seconds) => {
      const variables = {n: 0, first: startOfRun(side)};
      const outcome = await postgresql.pgbench(script, {clients, seconds, variables});
      return counted(side, {...outcome, seconds});
    },
  };
  return side;
}

function startOfRun(side: Side): number {
  side.runs += 1;
  return side.runs * 100 * keysOfClient;
}

function counted<T extends Rate>(side: Side, rate: T): T {
  side.acknowledged += rate.operations;
  return rate;
}

async function rounds(
  report: Report,
  options: BenchOptions,
  sides: {ours: Side; peer: Side; reference: Side | undefined},
): Promise<void> {
  const {ours, peer, reference} = sides;
  const warm = (side: Side, secondsMin: number, secondsMax: number): Promise<number> =>
    warmUp(async () => ({...idle, ...(await side.insert(64, options.seconds))}), {
      secondsMin,
      secondsMax,
    });
  await warm(ours, 12, 30);
  await warm(peer, 2, 4);
  if (reference !== undefined) await warm(reference, 20, 90);
  for (const clients of points) {
    const rates = {ours: [] as Rate[], peer: [] as Rate[], reference: [] as Rate[]};
    for (let round = 0; round < options.rounds; round += 1) {
      rates.ours.push(await ours.insert(clients, options.seconds));
      rates.peer.push(await peer.insert(clients, options.seconds));
      if (reference !== undefined) {
        rates.reference.push(await reference.insert(clients, options.seconds));
      }
    }
    const add = (other: Side, theirs: readonly Rate[], gate: Gate | undefined): void =>
      report.add({
        class: 'W2',
        point: clients === 1 ? '1 client' : `${clients} clients`,
        unit: 'ops/s',
        ours: rates.ours.map(rate => rate.perSecond),
        peer: other.label,
        theirs: theirs.map(rate => rate.perSecond),
        durability: 'fsync both',
        cpuMicrosPerOpOurs: rates.ours.map(rate => rate.cpuMicrosPerOp),
        cpuMicrosPerOpTheirs: theirs.map(rate => rate.cpuMicrosPerOp),
        ...(gate === undefined ? {} : {gate}),
        notes: {
          p99MillisOurs: rates.ours.map(rate => Number((rate.p99Millis ?? 0).toFixed(2))),
          pinned: pinned(),
        },
      });
    add(peer, rates.peer, {at: 'least', bound: clients === 1 ? 0.8 : 2});
    if (reference !== undefined) {
      add(reference, rates.reference, clients === 1 ? undefined : {at: 'least', bound: 8});
    }
  }
}

/** The fields of an outcome that a rate of another driver does not have. */
const idle = {
  errors: 0,
  firstError: '',
  p50Millis: 0,
  p99Millis: 0,
  worstMillis: 0,
  clientCpuMicrosPerOp: 0,
};
