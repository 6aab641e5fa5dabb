/** Where records go: bucket selections, their change with records there, and what is refused. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {Value} from '#server/model/value.ts';
import {assertIntegrity} from '#server/simulation/integrity.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const keyed = [
  'CREATE DOCUMENT TYPE T BUCKETS 3',
  'CREATE PROPERTY T.k STRING',
  'CREATE INDEX ON T (k) UNIQUE',
];
const partition = "ALTER TYPE T BUCKETSELECTIONSTRATEGY `partitioned('k')`";

/** Values of k by bucket number, in order. */
async function places(database: TestDatabase): Promise<Record<string, string[]>> {
  const byBucket: Record<string, string[]> = {};
  for (const {rid, k} of await database.run('SELECT @rid AS rid, k FROM T ORDER BY k')) {
    const [bucket = ''] = String(rid).split(':');
    (byBucket[bucket] ??= []).push(String(k));
  }
  return byBucket;
}

const needsRepartition = async (database: TestDatabase): Promise<unknown> => {
  const [row] = await database.run(
    "SELECT needsRepartition AS n FROM schema:types WHERE name = 'T'",
  );
  return row?.['n'];
};

const values = Array.from({length: 40}, (_, at) => `v${String(at).padStart(2, '0')}`);
const insertAll = (database: TestDatabase): Promise<unknown> =>
  database.run(`INSERT INTO T (k) VALUES ${values.map(k => `('${k}')`).join(', ')}`);

test('thread: a transaction keeps to one bucket, the next one takes the next', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T BUCKETS 3',
    'ALTER TYPE T BUCKETSELECTIONSTRATEGY thread',
  ]);
  const rows: string[][] = [];
  for (const statement of ["('a'), ('b'), ('c')", "('d'), ('e')", "('f')", "('g')"]) {
    const made = await database.run(`INSERT INTO T (k) VALUES ${statement}`);
    rows.push(made.map(row => String(row['@rid']).split(':')[0] ?? ''));
  }
  assert.deepEqual(rows, [['#1', '#1', '#1'], ['#2', '#2'], ['#3'], ['#1']]);
});

test('round-robin: one record after another', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE T BUCKETS 3']);
  const made = await database.run('INSERT INTO T (k) VALUES (1), (2), (3), (4)');
  assert.deepEqual(
    made.map(row => row['@rid']),
    ['#1:0', '#2:0', '#3:0', '#1:1'],
  );
});

test('partitioned: a value has one bucket, which repartition finds for records there', async () => {
  const fresh = await world.database([...keyed, partition]);
  await insertAll(fresh);
  assert.equal(await needsRepartition(fresh), false);
  const expected = await places(fresh);
  assert.equal(Object.keys(expected).length, 3);

  const database = await world.database(keyed);
  await insertAll(database);
  await database.run(partition);
  assert.equal(await needsRepartition(database), true);
  const [answer] = await database.run('REBUILD TYPE T WITH repartition = true');
  assert.equal(answer?.['recordsRebuilt'], 40);
  assert.ok(Number(answer?.['recordsMoved']) > 0);
  assert.equal(await needsRepartition(database), false);
  assert.deepEqual(await places(database), expected);
  assert.equal((await database.run("SELECT FROM T WHERE k = 'v07'")).length, 1);
  const {database: opened, schema} = world.service.databaseSession(root, database.name);
  const reader = opened.read();
  assertIntegrity(reader, schema.context);
  reader.close();

  await database.run('ALTER TYPE T BUCKET +more');
  assert.equal(await needsRepartition(database), true);
  const [altered] = await database.run(`${partition} WITH repartition = true`);
  assert.equal(altered?.['repartitionVisited'], 40);
  assert.equal(await needsRepartition(database), false);
  assert.equal(Object.keys(await places(database)).length, 4);
});

test('repartition beside writers loses and doubles nothing', async () => {
  const database = await world.database(keyed);
  const rows = Array.from({length: 6_000}, (_, at) => `('k${at}')`).join(', ');
  await database.run(`INSERT INTO T (k) VALUES ${rows}`);
  await database.run(partition);
  let isDone = false;
  const moved = database.run('REBUILD TYPE T WITH repartition = true').finally(() => {
    isDone = true;
  });
  let made = 0;
  for (; !isDone; made += 1) {
    await database.run(`INSERT INTO T SET k = 'new${made}'`);
    await database.run(`UPDATE T SET n = ${made} WHERE k = 'k${made * 37}'`, {retries: 50});
    await database.run(`DELETE FROM T WHERE k = 'k${made * 37 + 1}'`, {retries: 50});
  }
  await moved;
  const [count] = await database.run('SELECT count(*) AS n FROM T');
  const [distinct] = await database.run('SELECT count(k) AS n FROM (SELECT DISTINCT k FROM T)');
  assert.equal(distinct?.['n'], count?.['n']);
  assert.ok(made > 0, `${made} rounds of writes went on meanwhile`);
  const {database: opened, schema} = world.service.databaseSession(root, database.name);
  const reader = opened.read();
  assertIntegrity(reader, schema.context);
  reader.close();
});

test('partitioned: what would put a record where nobody looks for it is refused', async () => {
  const database = await world.database([...keyed, partition, "INSERT INTO T SET k = 'a', n = 1"]);
  const [row] = await database.run('SELECT @rid AS rid FROM T');
  const own = `T_${Number(String(row?.['rid']).slice(1, 2)) - 1}`;
  const other = own === 'T_0' ? 'T_1' : 'T_0';
  await assert.rejects(database.run("UPDATE T SET k = 'b' WHERE k = 'a'"), {
    code: 'value.validation',
    message: /k of 'T' decides the bucket/,
  });
  await database.run("UPDATE T SET k = 'a', n = 2 UPSERT WHERE k = 'a'");
  await database.run("DELETE FROM T WHERE k = 'a'");
  await assert.rejects(database.run(`INSERT INTO bucket:${other} SET k = 'a'`), {
    code: 'schema.conflict',
    message: new RegExp(`lead to bucket '${own}', not to '${other}'`),
  });
  await database.run(`INSERT INTO bucket:${own} SET k = 'a'`);
  for (const [statement, message] of [
    ['DROP INDEX `T[k]`', /decides the buckets/],
    ['DROP PROPERTY T.k FORCE', /decides the buckets of type 'T'/],
    ['ALTER PROPERTY T.k TYPE INTEGER', /decides the buckets of type 'T'/],
    ["ALTER TYPE T BUCKETSELECTIONSTRATEGY `partitioned('n')`", /needs a unique index/],
  ] as const) {
    await assert.rejects(database.run(statement), {code: 'schema.conflict', message}, statement);
  }
});

test('vertices and edges keep their ids', async () => {
  const database = await world.database([
    'CREATE VERTEX TYPE T BUCKETS 3',
    'CREATE PROPERTY T.k STRING',
    'CREATE INDEX ON T (k) UNIQUE',
  ]);
  await insertAll(database);
  await database.run(partition);
  for (const statement of [
    'REBUILD TYPE T WITH repartition = true',
    `${partition} WITH repartition = true`,
  ]) {
    await assert.rejects(database.run(statement), {
      code: 'schema.conflict',
      message: /records of the vertex type 'T' cannot be moved/,
    });
  }
});

test('ALTER TYPE WITH changes what edges promise only before there are edges', async () => {
  const database = await world.database([
    'CREATE VERTEX TYPE V',
    'CREATE EDGE TYPE E',
    'CREATE VERTEX V',
    'CREATE VERTEX V',
  ]);
  const link = 'CREATE EDGE E FROM #1:0 TO #1:1';
  const [altered] = await database.run('ALTER TYPE E CUSTOM a = 1 WITH unique = true');
  assert.equal(altered?.['unique'], true);
  await database.run(link);
  await assert.rejects(database.run(link), {code: 'commit.duplicate-key'});
  for (const setting of ['unique = false', 'lightweight = true']) {
    await assert.rejects(database.run(`ALTER TYPE E CUSTOM a = 1 WITH ${setting}`), {
      code: 'schema.conflict',
      message: /edge type 'E' has edges/,
    });
  }
  await database.run('DELETE FROM E');
  await database.run('ALTER TYPE E CUSTOM a = 1 WITH unique = false, lightweight = true');
  await database.run(link);
  await database.run(link);
  assert.deepEqual(await database.run('SELECT out().size() AS n FROM #1:0'), [{n: 2}]);
  await assert.rejects(database.run('ALTER TYPE V CUSTOM a = 1 WITH unique = true'), {
    code: 'schema.conflict',
    message: /'V' is no edge type/,
  });
  for (const [setting, message] of [
    ['foo = 1', /There is no setting 'foo' of ALTER TYPE: expected one of repartition/],
    ['repartition = 3', /repartition is true or false/],
  ] as const) {
    await assert.rejects(database.run(`ALTER TYPE V CUSTOM a = 1 WITH ${setting}`), {
      code: 'sql.syntax',
      message,
    });
  }
});

test('buckets that are read may be named by parameters, and pages go on behind an id', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE T BUCKETS 2']);
  await database.run('INSERT INTO T (n) VALUES (1), (2), (3), (4), (5)');
  const count = async (bucket: Value): Promise<unknown> => {
    const parameters = new Map([['b', bucket]]);
    const [row] = await database.run('SELECT count(*) AS n FROM bucket::b', {parameters});
    return row?.['n'];
  };
  const second = await database.run('SELECT @rid AS r FROM bucket:T_1 LIMIT 1');
  const id = Number(String(second[0]?.['r']).slice(1).split(':')[0]);
  assert.deepEqual([await count('T_0'), await count(id), await count(['T_0', id])], [3, 2, 5]);
  await assert.rejects(count('T_9'), {code: 'schema.unknown-bucket'});
  await assert.rejects(count(true), {code: 'query.parameter'});

  const seen: unknown[] = [];
  let last = '#0:0';
  for (;;) {
    const parameters = new Map([['last', last]]);
    const page = await database.run('SELECT n, @rid AS r FROM T WHERE @rid > :last LIMIT 2', {
      parameters,
    });
    if (page.length === 0) break;
    seen.push(...page.map(({n}) => n));
    last = String(page.at(-1)?.['r']);
  }
  assert.deepEqual(new Set(seen), new Set([1, 2, 3, 4, 5]));
  assert.equal(seen.length, 5);
});

test('a bucket that a parameter names: of the type that is said, or the type follows', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T BUCKETS 2',
    'CREATE DOCUMENT TYPE Other',
    'CREATE VERTEX TYPE V',
    'CREATE BUCKET Loose',
  ]);
  const made = async (statement: string, b: Value): Promise<unknown> => {
    const [row] = await database.run(statement, {parameters: new Map([['b', b]])});
    return [row?.['@type'], String(row?.['@rid']).split(':')[0], row?.['k']];
  };
  assert.deepEqual(await made('INSERT INTO bucket::b SET k = 1', 'T_1'), ['T', '#2', 1]);
  assert.deepEqual(await made('INSERT INTO bucket::b SET k = 2', 3), ['Other', '#3', 2]);
  assert.deepEqual(await made('INSERT INTO bucket::b SET k = 3', 'V_0'), ['V', '#4', 3]);
  assert.deepEqual(await made('INSERT INTO T BUCKET :b (k) VALUES (4)', 'T_1'), ['T', '#2', 4]);
  assert.deepEqual(await made('CREATE VERTEX V BUCKET :b SET k = 5', 'V_0'), ['V', '#4', 5]);
  for (const [statement, b, code] of [
    ['INSERT INTO bucket::b SET k = 1', 'none', 'schema.unknown-bucket'],
    ['INSERT INTO bucket::b SET k = 1', ['T_0', 'T_1'], 'query.parameter'],
    ['INSERT INTO bucket::b SET k = 1', 'Loose', 'query.parameter'],
    ['INSERT INTO bucket::b SET k = 1', null, 'query.parameter'],
    ['INSERT INTO T BUCKET :b SET k = 1', 'Other_0', 'schema.conflict'],
  ] as const) {
    await assert.rejects(made(statement, b), {code}, `${statement} ${String(b)}`);
  }
});
