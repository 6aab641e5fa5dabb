/**
 * W1: reads of one record by its unique key over HTTP, 16 clients, against PostgreSQL's prepared
 * select over its own protocol, the reference system over HTTP, and a server that does nothing.
 */
import assert from 'node:assert/strict';
import {startNullServer} from '../peers/null-server.ts';
import {type PostgreSql, startPostgreSql} from '../peers/postgresql.ts';
import {startReference} from '../peers/reference.ts';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import type {Gate, Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const records = 100_000;
const clients = 16;
const pad = 'x'.repeat(100);
const statement = 'SELECT FROM Pt WHERE id = :id';
const select = '\\set id random(0, 99999)\nSELECT id, pad FROM pt WHERE id = :id;\n';
const database = 'bench';

export async function pointReads(report: Report, options: BenchOptions): Promise<void> {
  await using started = new AsyncDisposableStack();
  report.say(`W1: ${records} records, ${clients} clients, pinned: ${pinned()}`);
  const postgresql = await startPostgreSql();
  started.defer(postgresql.stop);
  const ours = await startSvc();
  started.defer(ours.dispose);
  const floor = await startNullServer();
  started.defer(floor.dispose);
  const reference = await startReference();
  if (reference === undefined) report.say('the tools of the reference system are not here');
  else started.defer(reference.dispose);
  const targets = reference === undefined ? [ours] : [ours, reference];
  for (const target of targets) await fill(target);
  await fillPostgreSql(postgresql);
  await compare(targets, postgresql);
  await rounds(report, options, {ours, reference, floor, postgresql});
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
  assert.equal(counts.verticesCreated, records, `${target.label} loaded another number of records`);
}

async function* lines(): AsyncGenerator<string> {
  const linesAtOnce = 1_000;
  for (let from = 0; from < records; from += linesAtOnce) {
    const chunk = Array.from({length: linesAtOnce}, (_, index) => {
      const id = from + index;
      return `{"@type":"v","@class":"Pt","@id":"p${id}","id":${id},"pad":"${pad}"}\n`;
    });
    yield chunk.join('');
  }
}

async function fillPostgreSql(postgresql: PostgreSql): Promise<void> {
  await postgresql.sql(
    `CREATE TABLE pt (id bigint PRIMARY KEY, pad text NOT NULL);
     INSERT INTO pt SELECT id, '${pad}' FROM generate_series(0, ${records - 1}) AS id;
     VACUUM ANALYZE pt;`,
  );
}

/** Every side must give the same record for the same keys before any is timed. */
async function compare(targets: readonly Target[], postgresql: PostgreSql): Promise<void> {
  for (let id = 7; id < records; id += 1_999) {
    const row = (await postgresql.sql(`SELECT id, pad FROM pt WHERE id = ${id}`)).trim();
    for (const {label, client} of targets) {
      const {result} = await client.query(database, statement, {params: {id}});
      const rows = result.map(found => `${String(found['id'])}|${String(found['pad'])}`);
      assert.deepEqual(rows, [row], `${label} answers another record for ${id}`);
    }
  }
}

async function rounds(
  report: Report,
  options: BenchOptions,
  sides: {
    ours: Target;
    reference: Target | undefined;
    floor: Target;
    postgresql: PostgreSql;
  },
): Promise<void> {
  const {ours, reference, floor, postgresql} = sides;
  const {seconds} = options;
  const read = (target: Target, seed: number): Promise<Measured> =>
    measure(target, {
      path: `/api/v1/query/${database}`,
      before: `{"language":"sql","command":"${statement}","params":{"id":`,
      after: '}}',
      numbers: {kind: 'random', count: records, seed},
      clients,
      millis: seconds * 1_000,
    });
  await warmUp(() => read(ours, 0), {secondsMin: 12, secondsMax: 30});
  await warmUp(() => read(floor, 0), {secondsMin: 2, secondsMax: 6});
  if (reference !== undefined) {
    await warmUp(() => read(reference, 0), {secondsMin: 20, secondsMax: 90});
  }
  await postgresql.pgbench(select, {clients, seconds});
  const measured = {ours: [] as Measured[], floor: [] as Measured[], reference: [] as Measured[]};
  const selects: {perSecond: number; cpuMicrosPerOp: number}[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    measured.ours.push(await read(ours, round));
    selects.push(await postgresql.pgbench(select, {clients, seconds}));
    measured.floor.push(await read(floor, round));
    if (reference !== undefined) measured.reference.push(await read(reference, round));
  }
  const add = (
    peer: string,
    theirs: readonly {perSecond: number; cpuMicrosPerOp: number}[],
    gate?: Gate,
  ): void =>
    report.add({
      class: 'W1',
      point: `${clients} clients`,
      unit: 'reads/s',
      ours: measured.ours.map(outcome => outcome.perSecond),
      peer,
      theirs: theirs.map(outcome => outcome.perSecond),
      durability: 'reads',
      cpuMicrosPerOpOurs: measured.ours.map(outcome => outcome.cpuMicrosPerOp),
      cpuMicrosPerOpTheirs: theirs.map(outcome => outcome.cpuMicrosPerOp),
      ...(gate === undefined ? {} : {gate}),
      notes: {
        p99MillisOurs: measured.ours.map(outcome => Number(outcome.p99Millis.toFixed(2))),
        clientCpuMicrosPerOp: Math.round(measured.ours[0]?.clientCpuMicrosPerOp ?? 0),
        pinned: pinned(),
      },
    });
  add(postgresql.label, selects, {at: 'least', bound: 0.9});
  add(floor.label, measured.floor);
  if (reference !== undefined) {
    add(reference.label, measured.reference, {at: 'least', bound: 2.5});
  }
}
