/**
 * `statement`: what a statement costs beside its data, in one process and on one thread.
 *
 * Expressions as generated code against the same as closures, both over one batch of rows.
 *
 * A simple statement from the cache against the get of the same record from the store, as the
 * time that it takes longer; and the first time of a statement of ten lines, which is parsed,
 * bound, optimized and prepared because nobody has sent its text before. Measured is the
 * processor time of the thread, which a busy machine does not stretch.
 */
import assert from 'node:assert/strict';
import {Catalog} from '#server/catalog/catalog.ts';
import {createType} from '#server/catalog/change-type.ts';
import {Batch} from '#server/execution/batch.ts';
import {RowCursor} from '#server/execution/closure.ts';
import {contextOutside} from '#server/execution/empty-graph.ts';
import {PlanPreparation} from '#server/execution/prepare.ts';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';
import {bindSql} from '#server/languages/sql/bind-statement.ts';
import {putRecordKey, recordKeyBytes} from '#server/layout/record-key.ts';
import {parseRid} from '#server/model/rid.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import {slotsOf} from '#server/plan/tree.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const records = 10_000;
const repetitions = 20_000;
const compilations = 300;
/** Texts that are explained again: few enough to be in the cache. */
const repeated = 50;
const overheadMicrosMax = 15;
const compileMillisMax = 1;
/** Generated code must take at most this share of what closures take. */
const generatedShareMax = 1 / 1.3;
const batchRows = 1_024;
const batches = 400;

export async function statementCosts(report: Report, options: BenchOptions): Promise<void> {
  report.say(`statement: ${records} records in the cache, one client in the same process`);
  const world = await ServiceWorld.open();
  try {
    const database = await world.database([
      'CREATE VERTEX TYPE Person',
      'CREATE PROPERTY Person.id LONG',
      'CREATE INDEX ON Person (id) UNIQUE',
      'CREATE EDGE TYPE Knows',
    ]);
    const values = Array.from({length: records}, (_, id) => `(${id}, 'person ${id}')`);
    await database.run(`INSERT INTO Person (id, name) VALUES ${values.join(',')}`);
    const overheads: number[] = [];
    const compiles: number[] = [];
    // Round 0 warms up.
    for (let round = 0; round <= options.rounds; round += 1) {
      const overhead = await overheadMicros(world, database);
      const compile = await compileMillis(database, round);
      if (round === 0) continue;
      overheads.push(overhead);
      compiles.push(compile);
    }
    const {generated, closures} = expressionMicros(options.rounds);
    report.add({
      class: 'statement',
      point: 'ten operators over a batch, generated',
      unit: 'us',
      ours: generated,
      peer: 'closures',
      theirs: closures,
      durability: 'reads',
      gate: {at: 'most', bound: generatedShareMax},
    });
    const alone = {class: 'statement', peer: '', theirs: [], durability: 'reads'} as const;
    report.add({
      ...alone,
      point: 'SELECT by id from the cache, over a get',
      unit: 'us',
      ours: overheads,
      gate: {at: 'most', bound: overheadMicrosMax},
    });
    report.add({
      ...alone,
      point: 'first compile of ten lines',
      unit: 'ms',
      ours: compiles,
      gate: {at: 'most', bound: compileMillisMax},
    });
  } finally {
    await world.close();
  }
}

/** Measures one statement without the store's own time for the record that it returns. */
async function overheadMicros(world: ServiceWorld, database: TestDatabase): Promise<number> {
  const request = database.request('SELECT FROM #1:77');
  const rid = parseRid('#1:77');
  const reader = world.engine.database(database.name)?.read();
  assert(rid !== undefined && reader !== undefined);
  const key = Buffer.alloc(recordKeyBytes);
  putRecordKey(key, 0, rid);
  assert(reader.get(key) !== undefined, 'the record is there');
  const gets = microsOfEach(repetitions, () => reader.get(key));
  reader.close();
  const startedAt = process.threadCpuUsage();
  for (let at = 0; at < repetitions; at += 1) {
    const running = database.service.run(root, request);
    // At once, unless the machine took the processor away for a slice.
    const cursor = running instanceof Promise ? await running : running;
    assert(cursor.whole !== undefined && cursor.whole.length > 0);
    cursor.close();
  }
  return microsSince(startedAt) / repetitions - gets;
}

function microsOfEach(times: number, work: () => unknown): number {
  const startedAt = process.threadCpuUsage();
  for (let at = 0; at < times; at += 1) work();
  return microsSince(startedAt) / times;
}

function microsSince(start: NodeJS.CpuUsage): number {
  const {user, system} = process.threadCpuUsage(start);
  return user + system;
}

/** Microseconds of a condition and a sum over a batch, in each round first as closures. */
function expressionMicros(rounds: number): {
  readonly generated: readonly number[];
  readonly closures: readonly number[];
} {
  const functions = createFunctionRegistry();
  const ways = {
    closures: new PlanPreparation({kind: 'unit'}, functions, {hotAfter: Number.POSITIVE_INFINITY}),
    generated: new PlanPreparation({kind: 'unit'}, functions, {hotAfter: 0}),
  };
  const texts = [
    "(a * 2 + b % 7 > 40 AND (a - b) * 3 < 500000) OR b > 90 OR name = 'person 7'",
    "CASE WHEN b > 50 THEN a * 3 + 1 WHEN name = 'person 1' THEN b ELSE a - b END",
  ];
  const {catalog} = createType(new Catalog(), {name: 'T', kind: 'document'});
  const expressions = texts.map(text => columnOf(`SELECT ${text} AS x FROM T`, catalog));
  const rows = Array.from({length: batchRows}, (_, at): Value => {
    return new Map<string, Value>([
      ['a', at * 37],
      ['b', at % 97],
      ['name', `person ${at % 13}`],
    ]);
  });
  const cursor = new RowCursor(contextOutside(catalog, still), new Batch([rows], batchRows));
  const timed = (way: PlanPreparation): number => {
    const compiled = expressions.map(each => way.expression(each));
    return microsOfEach(batches, () => {
      for (const each of compiled) {
        for (let row = 0; row < batchRows; row += 1) {
          cursor.row = row;
          each(cursor);
        }
      }
    });
  };
  const found = {closures: [] as number[], generated: [] as number[]};
  for (let round = 0; round <= rounds; round += 1) {
    const [closures, generated] = [timed(ways.closures), timed(ways.generated)];
    if (round === 0) continue;
    found.closures.push(closures);
    found.generated.push(generated);
  }
  return found;
}

const still = {
  clock: {now: () => 0, monotonic: () => 0},
  random: {u32: () => 0, fill: (target: Uint8Array) => target.fill(0)},
  limits: {},
};

/** The only column of a SELECT, over a record in slot 0. */
function columnOf(text: string, catalog: Catalog): Expression {
  const statement = bindSql(text, catalog);
  assert(statement.kind === 'query' && statement.plan.kind === 'project');
  const {output} = statement.plan;
  const [column] = output.kind === 'columns' ? output.columns : [];
  assert(column !== undefined && 'value' in column);
  assert.deepEqual([...slotsOf(column.value)], [0]);
  return column.value;
}

/**
 * EXPLAIN runs nothing: its time is that of the front end where the text is a new one, and of the
 * telling, which a text of before costs too and which is taken off.
 */
async function compileMillis(database: TestDatabase, round: number): Promise<number> {
  const explain = async (seedOf: (at: number) => number): Promise<number> => {
    const startedAt = process.threadCpuUsage();
    for (let at = 0; at < compilations; at += 1) {
      await database.run(`EXPLAIN ${tenLines(seedOf(at))}`);
    }
    return microsSince(startedAt) / 1_000 / compilations;
  };
  const first = round * compilations;
  const once = await explain(at => first + at);
  return once - (await explain(at => first + (at % repeated)));
}

function tenLines(seed: number): string {
  return `SELECT name,
  id + ${seed} AS moved,
  out('Knows').name AS friends,
  CASE WHEN id > 10 THEN 'late' ELSE 'early' END AS joined
FROM Person
LET $count = (SELECT count(*) AS n FROM Person WHERE id < ${seed})
WHERE id BETWEEN 1 AND ${seed}
  AND (name LIKE 'person 1%' OR name.length() > 8)
ORDER BY id DESC, name
SKIP 5 LIMIT 10`;
}
