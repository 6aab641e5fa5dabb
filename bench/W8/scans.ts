/**
 * W8: a filtered sum and a thousand groups over five million records, one client, against
 * PostgreSQL: with columns that are kept, cold (columns are built on the way), and while a thousand
 * records a second are written.
 */
import assert from 'node:assert/strict';
import {call, literal, property, scan, slot} from '#server/testing/worlds/hand-built-plan.ts';
import {ServiceWorld} from '#server/testing/worlds/service-world.ts';
import {answering, besideEngine} from '../peers/own-engine.ts';
import {type PostgreSql, startPostgreSql} from '../peers/postgresql.ts';
import {startSvc} from '../peers/svc.ts';
import {measure, prepare, type Target} from '../peers/target.ts';
import {pinned} from '../processes.ts';
import type {Gate, Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const records = 5_000_000;
const groups = 1_000;
const values = 1_000_000;
const database = 'bench';
const coldRoundsMax = 3;
/** A thousand records a second. */
const written = {records: 100, everyMillis: 100};

interface Rate {
  readonly perSecond: number;
  readonly cpuMicrosPerOp: number;
}

export interface Question {
  readonly name: string;
  readonly sql: string;
  readonly postgresql: string;
}

export const questions: readonly Question[] = [
  {
    name: 'filter and sum',
    sql: 'SELECT sum(v) AS s FROM Fact WHERE v BETWEEN 250000 AND 750000',
    postgresql: 'SELECT sum(v) AS s FROM fact WHERE v BETWEEN 250000 AND 750000;',
  },
  {
    name: `${groups} groups`,
    sql: 'SELECT g, count(*) AS n, sum(v) AS s FROM Fact GROUP BY g',
    postgresql: 'SELECT g, count(*) AS n, sum(v) AS s FROM fact GROUP BY g;',
  },
];

export async function scans(report: Report, options: BenchOptions): Promise<void> {
  report.say(`W8: ${records} records, ${groups} groups, one client, pinned: ${pinned()}`);
  const postgresql = await startPostgreSql();
  const ours = await startSvc();
  try {
    await fillPostgreSql(postgresql);
    await fillFacts(ours, records);
    for (const question of questions) {
      await compare(ours, postgresql, question);
      await cold(report, options, {ours, postgresql, question});
      await warm(report, options, {ours, postgresql, question});
    }
  } finally {
    await ours.dispose();
    await postgresql.stop();
  }
  await ownEngine(report, options);
}

const groupOf = (id: number): number => (id * 7_919) % groups;
const valueOf = (id: number): number => (id * 611_953) % values;

/** Makes the type that is scanned, of so many records. */
export async function fillFacts(target: Target, count: number): Promise<void> {
  await prepare(target, database, [
    'CREATE VERTEX TYPE Fact',
    'CREATE PROPERTY Fact.id LONG',
    'CREATE PROPERTY Fact.g INTEGER',
    'CREATE PROPERTY Fact.v LONG',
    'CREATE INDEX ON Fact (id) UNIQUE',
  ]);
  const counts = await target.client.batch(database, lines(count), {query: {idMapping: false}});
  assert.equal(counts.verticesCreated, count);
}

async function* lines(count: number): AsyncGenerator<string> {
  const linesAtOnce = 1_000;
  for (let from = 0; from < count; from += linesAtOnce) {
    let chunk = '';
    for (let id = from; id < from + linesAtOnce; id += 1) {
      const properties = `"id":${id},"g":${groupOf(id)},"v":${valueOf(id)}`;
      chunk += `{"@type":"v","@class":"Fact","@id":"${id}",${properties}}\n`;
    }
    yield chunk;
  }
}

async function fillPostgreSql(postgresql: PostgreSql): Promise<void> {
  await postgresql.sql(
    `CREATE TABLE fact (id bigint PRIMARY KEY, g integer NOT NULL, v bigint NOT NULL);
     INSERT INTO fact SELECT id, (id * 7919) % ${groups}, (id * 611953) % ${values}
       FROM generate_series(0::bigint, ${records - 1}) AS id;
     VACUUM ANALYZE fact;`,
  );
}

/** Both must give the same rows before either is timed. */
async function compare(
  {client}: Target,
  postgresql: PostgreSql,
  {name, sql, postgresql: other}: Question,
): Promise<void> {
  const {result} = await client.query(database, sql);
  const ours = result.map(row => Object.values(row).join('|')).sort();
  const theirs = (await postgresql.sql(other)).trim().split('\n').sort();
  assert.deepEqual(ours, theirs, name);
}

interface Sides {
  readonly ours: Target;
  readonly postgresql: PostgreSql;
  readonly question: Question;
}

/** The first run behind an opening of the database; PostgreSQL is warm. */
async function cold(report: Report, options: BenchOptions, sides: Sides): Promise<void> {
  const {ours, postgresql, question} = sides;
  const first: number[] = [];
  const selects: number[] = [];
  for (let round = 0; round < Math.min(options.rounds, coldRoundsMax); round += 1) {
    await ours.client.serverCommand(`close database ${database}`);
    await ours.client.serverCommand(`open database ${database}`);
    const startedAt = performance.now();
    await ours.client.query(database, question.sql);
    first.push(1_000 / (performance.now() - startedAt));
    const {perSecond} = await postgresql.pgbench(question.postgresql, {clients: 1, seconds: 2});
    selects.push(perSecond);
  }
  report.add({
    class: 'W8',
    point: `${question.name}, cold`,
    unit: 'queries/s',
    ours: first,
    peer: `${postgresql.label}, warm`,
    theirs: selects,
    durability: 'reads',
    gate: {at: 'least', bound: 0.3},
    notes: {pinned: pinned()},
  });
}

async function warm(report: Report, options: BenchOptions, sides: Sides): Promise<void> {
  const {ours, postgresql, question} = sides;
  const {seconds} = options;
  const ask = (): Promise<Rate> => {
    const command = JSON.stringify(question.sql);
    return measure(ours, {
      path: `/api/v1/query/${database}`,
      before: `{"language":"sql","command":${command},"params":{"unused":`,
      after: '}}',
      numbers: {kind: 'random', count: 1_000, seed: 1},
      clients: 1,
      millis: seconds * 1_000,
    });
  };
  const rates: {alone: Rate[]; beside: Rate[]; selects: Rate[]} = {
    alone: [],
    beside: [],
    selects: [],
  };
  await ask();
  for (let round = 0; round < options.rounds; round += 1) {
    rates.alone.push(await ask());
    rates.beside.push(await whileWriting(ours, round, ask));
    rates.selects.push(await postgresql.pgbench(question.postgresql, {clients: 1, seconds}));
  }
  const add = (
    point: string,
    measured: readonly Rate[],
    peer: string,
    theirs: readonly Rate[],
    gate: Gate,
  ): void =>
    report.add({
      class: 'W8',
      point: `${question.name}, ${point}`,
      unit: 'queries/s',
      ours: measured.map(rate => rate.perSecond),
      peer,
      theirs: theirs.map(rate => rate.perSecond),
      durability: 'reads',
      cpuMicrosPerOpOurs: measured.map(rate => rate.cpuMicrosPerOp),
      cpuMicrosPerOpTheirs: theirs.map(rate => rate.cpuMicrosPerOp),
      gate,
      notes: {pinned: pinned()},
    });
  add('warm', rates.alone, postgresql.label, rates.selects, {at: 'least', bound: 4});
  const beside = {at: 'least', bound: 1 / 1.3} as const;
  add('1,000 writes/s beside', rates.beside, 'the same without writes', rates.alone, beside);
}

/** The writes keep the sums, so that every answer can be the same. */
async function whileWriting(
  {client}: Target,
  round: number,
  work: () => Promise<Rate>,
): Promise<Rate> {
  let isOver = false;
  const write = async (): Promise<void> => {
    for (let turn = 0; !isOver; turn += 1) {
      const due = performance.now() + written.everyMillis;
      const ids = Array.from(
        {length: written.records},
        (_, at) => ((round * 1_000 + turn) * 104_729 + at * 49_999) % records,
      );
      await client.command(database, 'UPDATE Fact SET g = g WHERE id IN :ids', {params: {ids}});
      await new Promise(resolve => setTimeout(resolve, Math.max(0, due - performance.now())));
    }
  };
  const writing = write();
  const result = await work();
  isOver = true;
  await writing;
  return result;
}

const ownRecords = 500_000;

async function ownEngine(report: Report, options: BenchOptions): Promise<void> {
  const world = await ServiceWorld.open();
  try {
    const own = await world.database(['CREATE VERTEX TYPE Fact']);
    for (let from = 0; from < ownRecords; from += 20_000) {
      await own.run(
        `UNWIND range(${from}, ${from + 19_999}) AS i
         CREATE (:Fact {g: (i * 7919) % ${groups}, v: (i * 611953) % ${values}})`,
        {language: 'cypher'},
      );
    }
    const place = {world, database: own};
    for (const [at, plan] of [sumPlan, groupPlan].entries()) {
      const {name, sql} = questions[at] as Question;
      const point = `${name}, ${ownRecords} records in process`;
      await besideEngine(report, options, place, {
        class: 'W8',
        point,
        statement: sql,
        plan,
        repetitions: 40,
      });
    }
  } finally {
    await world.close();
  }
}

const sumPlan = answering(
  {
    kind: 'aggregate',
    input: scan(
      'Fact',
      0,
      call('op:between', property(0, 'v'), literal(250_000), literal(750_000)),
    ),
    keys: [],
    aggregates: [{slot: 1, name: 'sum', args: [property(0, 'v')], distinct: false}],
  },
  {s: slot(1)},
);

const groupPlan = answering(
  {
    kind: 'aggregate',
    input: scan('Fact', 0),
    keys: [{slot: 1, value: property(0, 'g')}],
    aggregates: [
      {slot: 2, name: 'count', args: [], distinct: false},
      {slot: 3, name: 'sum', args: [property(0, 'v')], distinct: false},
    ],
  },
  {g: slot(1), n: slot(2), s: slot(3)},
);
