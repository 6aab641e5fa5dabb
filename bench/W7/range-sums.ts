/**
 * W7: the sum of a thousand neighbouring rows, four clients, against PostgreSQL: straight from the
 * keys of an index on (k, v), with the records read, and over a range of which half was deleted.
 */
import assert from 'node:assert/strict';
import {literal, slot} from '#server/testing/worlds/hand-built-plan.ts';
import {ServiceWorld} from '#server/testing/worlds/service-world.ts';
import {answering, besideEngine} from '../peers/own-engine.ts';
import {type PostgreSql, startPostgreSql} from '../peers/postgresql.ts';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import type {Gate, Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

/** Enough that neither side's caches hold a query by chance, few enough to be ready in a minute. */
const records = 250_000;
/** The neighbours that one query sums. */
export const rows = 1_000;
const clients = 4;
const rowsPerDelete = 10_000;
const database = 'bench';

/** `Covered` has an index on (k, v), `Plain` on k alone, of `Halved` every other k was deleted. */
const types = ['Covered', 'Plain', 'Halved'] as const;
export type TypeName = (typeof types)[number];

interface Rate {
  readonly perSecond: number;
  readonly cpuMicrosPerOp: number;
}

export const sumOf = (type: TypeName, width: number): string =>
  `SELECT sum(v) AS s FROM ${type} WHERE k BETWEEN :k AND :k + ${width - 1}`;

export async function rangeSums(report: Report, options: BenchOptions): Promise<void> {
  report.say(`W7: ${records} records a type, ${rows} rows, ${clients} clients`);
  const postgresql = await startPostgreSql();
  const ours = await startSvc();
  try {
    await fillPostgreSql(postgresql);
    await fill(ours);
    await compare(ours, postgresql);
    await rounds(report, options, {ours, postgresql});
  } finally {
    await ours.dispose();
    await postgresql.stop();
  }
  await ownEngine(report, options);
}

const valueOf = (k: number): number => (k * 611_953) % 1_000_000;

async function fill(target: Target): Promise<void> {
  await fillTypes(target, types, records);
  for (let from = 0; from < records; from += rowsPerDelete) {
    await target.client.command(
      database,
      `DELETE FROM Halved WHERE k BETWEEN ${from} AND ${from + rowsPerDelete - 1} AND k % 2 = 1`,
    );
  }
}

/** Makes types of so many records, with the index that the name of each says. */
export async function fillTypes(
  target: Target,
  names: readonly TypeName[],
  count: number,
): Promise<void> {
  await prepare(
    target,
    database,
    names.flatMap(type => [
      `CREATE VERTEX TYPE ${type}`,
      `CREATE PROPERTY ${type}.k LONG`,
      `CREATE PROPERTY ${type}.v LONG`,
      `CREATE INDEX ON ${type} (${type === 'Plain' ? 'k' : 'k, v'}) NOTUNIQUE`,
    ]),
  );
  for (const type of names) {
    const query = {idMapping: false};
    const counts = await target.client.batch(database, lines(type, count), {query});
    assert.equal(counts.verticesCreated, count);
  }
}

async function* lines(type: TypeName, count: number): AsyncGenerator<string> {
  const linesAtOnce = 1_000;
  for (let from = 0; from < count; from += linesAtOnce) {
    let chunk = '';
    for (let k = from; k < from + linesAtOnce; k += 1) {
      chunk += `{"@type":"v","@class":"${type}","@id":"${k}","k":${k},"v":${valueOf(k)}}\n`;
    }
    yield chunk;
  }
}

async function fillPostgreSql(postgresql: PostgreSql): Promise<void> {
  await postgresql.sql(
    `CREATE TABLE covered (k bigint NOT NULL, v bigint NOT NULL);
     INSERT INTO covered SELECT k, (k * 611953) % 1000000
       FROM generate_series(0::bigint, ${records - 1}) AS k;
     CREATE INDEX ON covered (k, v);
     VACUUM ANALYZE covered;`,
  );
}

/** Every side must give the same sums before any is timed. */
async function compare({client}: Target, postgresql: PostgreSql): Promise<void> {
  for (let k = 7; k < records - rows; k += 99_991) {
    const sum = async (type: TypeName, width: number): Promise<string> => {
      const {result} = await client.query(database, sumOf(type, width), {params: {k}});
      return String(result[0]?.['s']);
    };
    const expected = (
      await postgresql.sql(`SELECT sum(v) FROM covered WHERE k BETWEEN ${k} AND ${k + rows - 1}`)
    ).trim();
    assert.equal(await sum('Covered', rows), expected);
    assert.equal(await sum('Plain', rows), expected);
    const even = await postgresql.sql(
      `SELECT sum(v) FROM covered WHERE k BETWEEN ${k} AND ${k + 2 * rows - 1} AND k % 2 = 0`,
    );
    assert.equal(await sum('Halved', 2 * rows), even.trim());
  }
}

async function rounds(
  report: Report,
  options: BenchOptions,
  {ours, postgresql}: {readonly ours: Target; readonly postgresql: PostgreSql},
): Promise<void> {
  const {seconds} = options;
  const ask = (type: TypeName, width: number, seed: number): Promise<Measured> =>
    measure(ours, {
      path: `/api/v1/query/${database}`,
      before: `{"language":"sql","command":"${sumOf(type, width)}","params":{"k":`,
      after: '}}',
      numbers: {kind: 'random', count: records - 2 * rows, seed},
      clients,
      millis: seconds * 1_000,
    });
  const widths = {Covered: rows, Plain: rows, Halved: 2 * rows} as const;
  for (const type of types) {
    await warmUp(() => ask(type, widths[type], 0), {secondsMin: 4, secondsMax: 12});
  }
  const script =
    `\\set k random(0, ${records - 2 * rows})\n` +
    `SELECT sum(v) FROM covered WHERE k BETWEEN :k AND :k + ${rows - 1};\n`;
  await postgresql.pgbench(script, {clients, seconds});
  const measured: Record<TypeName | 'select', Rate[]> = {
    Covered: [],
    Plain: [],
    Halved: [],
    select: [],
  };
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const type of types) measured[type].push(await ask(type, widths[type], round));
    measured.select.push(await postgresql.pgbench(script, {clients, seconds}));
  }
  const add = (
    point: string,
    {ours: mine, peer, theirs}: {ours: readonly Rate[]; peer: string; theirs: readonly Rate[]},
    gate?: Gate,
  ): void =>
    report.add({
      class: 'W7',
      point,
      unit: 'queries/s',
      ours: mine.map(rate => rate.perSecond),
      peer,
      theirs: theirs.map(rate => rate.perSecond),
      durability: 'reads',
      cpuMicrosPerOpOurs: mine.map(rate => rate.cpuMicrosPerOp),
      cpuMicrosPerOpTheirs: theirs.map(rate => rate.cpuMicrosPerOp),
      ...(gate && {gate}),
      notes: {rows, pinned: pinned()},
    });
  const {Covered, Plain, Halved, select} = measured;
  const beside = {peer: postgresql.label, theirs: select};
  add('covered by the index', {ours: Covered, ...beside}, {at: 'least', bound: 0.8});
  add('records read', {ours: Plain, ...beside});
  const clean = {peer: 'a clean range', theirs: Covered};
  add('half deleted', {ours: Halved, ...clean}, {at: 'least', bound: 0.5});
}

const ownRecords = 100_000;
const ownFrom = 31_000;

/** The store is read: out of pages that are kept a statement takes little but its own overhead. */
async function ownEngine(report: Report, options: BenchOptions): Promise<void> {
  const world = await ServiceWorld.open({'svc.columnViewMemoryMax': '0'});
  try {
    const own = await world.database([
      'CREATE VERTEX TYPE Covered',
      'CREATE PROPERTY Covered.k LONG',
      'CREATE PROPERTY Covered.v LONG',
      'CREATE INDEX ON Covered (k, v) NOTUNIQUE',
    ]);
    for (let from = 0; from < ownRecords; from += 20_000) {
      await own.run(
        `UNWIND range(${from}, ${from + 19_999}) AS k CREATE (:Covered {k: k, v: k * 7})`,
        {language: 'cypher'},
      );
    }
    await besideEngine(
      report,
      options,
      {world, database: own},
      {
        class: 'W7',
        point: `covered, ${rows} rows of the store in process`,
        statement:
          'SELECT sum(v) AS s FROM Covered ' +
          `WHERE k BETWEEN ${ownFrom} AND ${ownFrom + rows - 1}`,
        plan: ownPlan,
        keeps: false,
        repetitions: 2_000,
      },
    );
  } finally {
    await world.close();
  }
}

const ownPlan = answering(
  {
    kind: 'aggregate',
    input: {
      kind: 'index-range',
      index: 'Covered[k,v]',
      from: {values: [literal(ownFrom)], inclusive: true},
      to: {values: [literal(ownFrom + rows - 1)], inclusive: true},
      descending: false,
      slot: 0,
      parts: [undefined, 1],
    },
    keys: [],
    aggregates: [{slot: 2, name: 'sum', args: [slot(1)], distinct: false}],
  },
  {s: slot(2)},
);
