/**
 * W3: 16 clients that count up 10 rows, each statement a durable transaction, against PostgreSQL at
 * its level SERIALIZABLE.
 *
 * Both sides try again what met another commit, ours in the server and PostgreSQL's in pgbench;
 * the rate is of statements that were acknowledged. At the end the rows of each side add up to
 * exactly as many.
 */
import assert from 'node:assert/strict';
import {type PostgreSql, startPostgreSql} from '../peers/postgresql.ts';
import {startSvc} from '../peers/svc.ts';
import {measure, prepare, type Target} from '../peers/target.ts';
import {pinned} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const database = 'bench';
const rows = 10;
const clients = 16;
const retries = 1_000;

interface Round {
  readonly perSecond: number;
  readonly operations: number;
  readonly cpuMicrosPerOp: number;
}

interface Side {
  readonly label: string;
  readonly run: (seconds: number) => Promise<Round>;
  readonly sum: () => Promise<number>;
}

export async function hotRows(report: Report, options: BenchOptions): Promise<void> {
  await using started = new AsyncDisposableStack();
  report.say(`W3: ${rows} rows, ${clients} clients, pinned: ${pinned()}`);
  const postgresql = await startPostgreSql();
  started.defer(postgresql.stop);
  const svc = await startSvc();
  started.defer(svc.dispose);
  const ours = await httpSide(svc);
  const peer = await postgreSqlSide(postgresql);
  const rounds = {ours: [] as Round[], peer: [] as Round[]};
  const acknowledged = {ours: 0, peer: 0};
  for (let round = -2; round < options.rounds; round += 1) {
    for (const [name, side] of [['ours', ours] as const, ['peer', peer] as const]) {
      const measured = await side.run(options.seconds);
      acknowledged[name] += measured.operations;
      // The first two warm up.
      if (round >= 0) rounds[name].push(measured);
    }
  }
  report.add({
    class: 'W3',
    point: `${rows} hot rows, ${clients} clients`,
    unit: 'ops/s',
    ours: rounds.ours.map(({perSecond}) => perSecond),
    peer: `${peer.label} serializable`,
    theirs: rounds.peer.map(({perSecond}) => perSecond),
    durability: 'fsync both',
    cpuMicrosPerOpOurs: rounds.ours.map(({cpuMicrosPerOp}) => cpuMicrosPerOp),
    cpuMicrosPerOpTheirs: rounds.peer.map(({cpuMicrosPerOp}) => cpuMicrosPerOp),
    gate: {at: 'least', bound: 1.5},
  });
  for (const [name, side] of [['ours', ours] as const, ['peer', peer] as const]) {
    assert.equal(await side.sum(), acknowledged[name], `the rows of ${side.label} add up`);
    report.say(`${side.label}: ${acknowledged[name]} acknowledged, the rows add up to as many`);
  }
}

async function httpSide(target: Target): Promise<Side> {
  await prepare(target, database, [
    'CREATE DOCUMENT TYPE Hot',
    'CREATE PROPERTY Hot.k LONG',
    'CREATE INDEX ON Hot (k) UNIQUE',
    ...Array.from({length: rows}, (_, k) => `INSERT INTO Hot SET k = ${k}, n = 0`),
  ]);
  let seed = 0;
  return {
    label: target.label,
    run: seconds =>
      measure(target, {
        path: `/api/v1/command/${database}`,
        before:
          `{"language":"sql","retries":${retries},` +
          '"command":"UPDATE Hot SET n = n + 1 WHERE k = :k","params":{"k":',
        after: '}}',
        numbers: {kind: 'random', count: rows, seed: ++seed},
        clients,
        millis: seconds * 1_000,
      }),
    sum: async () => {
      const {result} = await target.client.query(database, 'SELECT sum(n) AS s FROM Hot');
      return Number(result[0]?.['s']);
    },
  };
}

async function postgreSqlSide(postgresql: PostgreSql): Promise<Side> {
  await postgresql.sql("ALTER SYSTEM SET default_transaction_isolation = 'serializable'");
  await postgresql.sql('SELECT pg_reload_conf()');
  await postgresql.sql('CREATE TABLE hot (k bigint PRIMARY KEY, n bigint NOT NULL)');
  await postgresql.sql(`INSERT INTO hot SELECT k, 0 FROM generate_series(0, ${rows - 1}) k`);
  const script = `\\set k random(0, ${rows - 1})\n` + 'UPDATE hot SET n = n + 1 WHERE k = :k;\n';
  return {
    label: postgresql.label,
    run: seconds => postgresql.pgbench(script, {clients, seconds, retries: true}),
    sum: async () => Number(await postgresql.sql('SELECT sum(n) FROM hot')),
  };
}
