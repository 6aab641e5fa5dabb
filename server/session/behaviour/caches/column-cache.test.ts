/**
 * Columns that are kept change no answer: the same statements over the same data are answered by a
 * service that keeps columns of everything and by one that keeps none, between random writes, in
 * snapshots taken before them, and beside own writes. Holds invariant W1.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {transfer} from '#server/testing/property/transfers.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import type {SessionService} from '../../service.ts';

const none = {'svc.columnViewMemoryMax': '0'};
let world: ServiceWorld;
/** A service over the same engine, without columns. */
let plain: SessionService;

before(async () => {
  world = await ServiceWorld.open({'svc.columnViewRecordsMin': '1'});
  plain = world.another(none);
});

after(async () => {
  await plain.close();
  await world.close();
});

const aggregates = [
  'count(*) AS n',
  'count(v) AS c',
  'sum(v) AS s',
  'avg(v) AS a',
  'min(v) AS lo',
  'max(v) AS hi',
  'sum(w * 2 + v) AS e',
  'sum(w - v) AS f',
  'first(t) AS o',
  'count(DISTINCT t) AS u',
  'list(w) AS l',
  'max(t) AS x',
  'variance(w) AS r',
];
const conditions = [
  'v > :p',
  'v BETWEEN 3 AND :p',
  'v <> 5',
  'w <= 2.5',
  't = "a"',
  't <> "b"',
  't IS NULL',
  'v IS NOT NULL AND w < :p',
  'v = 7 AND t = "c"',
  'w = :q',
];
const keys = ['t', 'w', 'v', 't, w', 'v + 1', 't, w, v'];
const values = ['1', '5', '7', '-3', '2.5', '5.0', 'null', '"a"', '"b"', '"c"', '0.0', '-0.0'];
const rareValues = ['9007199254740993', '1e300', '[1, 2]', '9007199254740991', 'true', '"7"'];

/** All or the first rows by columns, with and without an index that leaves out nulls. */
function randomPage(dice: SeededRandom): string {
  const type = dice.pick(['T', 'T', 'U']);
  const where = dice.below(2) === 0 ? '' : ` WHERE ${dice.pick(conditions)}`;
  const order = dice.pick(['v', 'w', 't', 'i', 'i', 'v, w', 't, v', 'w, i']);
  const keys = order.split(', ').map(key => `${key}${dice.pick(['', ' DESC'])}`);
  const skip = dice.below(3) === 0 ? ' SKIP 3' : '';
  // An index gives equal keys in another order than a scan, and statistics decide between them.
  const columns = order.includes('i') ? order : dice.pick(['@rid AS r, v, w, t', 't, n, i']);
  const limit = dice.below(2) === 0 ? '' : ` LIMIT ${dice.pick([1, 4, 30])}`;
  return `SELECT ${columns} FROM ${type}${where} ORDER BY ${keys.join(', ')}${skip}${limit}`;
}

function randomQuery(dice: SeededRandom): string {
  if (dice.below(3) === 0) return randomPage(dice);
  const columns = [dice.pick(aggregates), dice.pick(aggregates)].filter(
    (column, at, all) => all.indexOf(column) === at,
  );
  const type = dice.pick(['T', 'T', 'U']);
  const where = dice.below(3) === 0 ? '' : ` WHERE ${dice.pick(conditions)}`;
  if (dice.below(2) === 0) return `SELECT ${columns.join(', ')} FROM ${type}${where}`;
  const key = dice.pick(keys);
  const shown = key.split(', ').map((part, at) => `${part} AS k${at}`);
  return `SELECT ${[...shown, ...columns].join(', ')} FROM ${type}${where} GROUP BY ${key}`;
}

function randomWrite(dice: SeededRandom): string {
  const value = (): string => (dice.below(40) === 0 ? dice.pick(rareValues) : dice.pick(values));
  const type = dice.pick(['T', 'U']);
  const number = dice.pick(['-1', '0', '1', '2', '3', '2.5', value()]);
  const text = dice.pick(['"a"', '"b"', '"c"', 'null', '"d"', value()]);
  const indexed = dice.pick(['null', '1', '2', '8', '-4']);
  const set = `SET v = ${value()}, w = ${number}, t = ${text}, i = ${indexed}`;
  switch (dice.below(12)) {
    case 0:
    case 1:
      return `DELETE FROM ${type} WHERE n % 7 = ${dice.below(7)}`;
    case 2:
    case 3:
    case 4:
      return `UPDATE ${type} ${set} WHERE n % 5 = ${dice.below(5)}`;
    case 5:
      return `UPDATE ${type} REMOVE ${dice.pick(['v', 'i'])} WHERE n % 11 = ${dice.below(11)}`;
    case 6:
      return dice.below(6) === 0 ? 'TRUNCATE TYPE U UNSAFE' : `INSERT INTO U ${set}, n = 1`;
    default:
      return `INSERT INTO ${type} ${set}, n = ${dice.below(1_000)}`;
  }
}

async function bothAnswers(
  database: TestDatabase,
  text: string,
  transactions?: readonly [string, string],
): Promise<void> {
  const beside = database.over(plain);
  const more = {
    parameters: new Map([
      ['p', 6],
      ['q', 2.5],
    ]),
  };
  const answerOf = (of: TestDatabase, transactionId: string | undefined): Promise<unknown> =>
    of
      .run(text, {...more, transactionId})
      .catch((error: unknown) => String(error).replaceAll(/AS-[-0-9a-f]+/g, 'AS'));
  const [kept, ordinary] = await Promise.all([
    answerOf(database, transactions?.[0]),
    answerOf(beside, transactions?.[1]),
  ]);
  assert.deepEqual(kept, ordinary, text);
}

async function filled(): Promise<TestDatabase> {
  return world.database([
    'CREATE VERTEX TYPE T BUCKETS 2',
    'CREATE VERTEX TYPE U EXTENDS T BUCKETS 1',
    'CREATE VERTEX TYPE Other',
    'CREATE PROPERTY T.i LONG',
    'CREATE INDEX ON T (i) NOTUNIQUE',
    // The other service knows the names that were there when it met the database.
    'INSERT INTO Other SET n = 1, v = 1, w = 1, i = 1, t = "a"',
  ]);
}

for (const seed of [1, 2, 3, 4]) {
  test(`random writes and queries between them, seed ${seed}`, async () => {
    const dice = createSeededRandom(seed);
    const database = await filled();
    for (let round = 0; round < 60; round++) {
      for (let write = dice.below(6); write >= 0; write--) await database.run(randomWrite(dice));
      for (let query = 0; query < 3; query++) await bothAnswers(database, randomQuery(dice));
    }
  });

  test(`snapshots, own writes and columns that went on, seed ${seed}`, async () => {
    const dice = createSeededRandom(seed + 100);
    const database = await filled();
    for (let write = 0; write < 30; write++) await database.run(randomWrite(dice));
    for (let round = 0; round < 12; round++) {
      const [first, second] = await Promise.all(
        [world.service, plain].map(service =>
          service.begin(root, database.name, {isolation: 'REPEATABLE_READ'}),
        ),
      );
      const transactions = [first as string, second as string] as const;
      await bothAnswers(database, 'SELECT count(*) AS n FROM T WHERE n >= 0', transactions);
      for (let step = 0; step < 4; step++) {
        await database.run(randomWrite(dice));
        await bothAnswers(database, randomQuery(dice));
        await bothAnswers(database, randomQuery(dice), transactions);
        if (dice.below(3) > 0) continue;
        const own = randomWrite(dice);
        // A new record would get a place of its own in each of the two.
        if (/^(UPDATE|DELETE)/.test(own)) await bothAnswers(database, own, transactions);
      }
      await world.service.rollback(root, database.name, first as string);
      await plain.rollback(root, database.name, second as string);
    }
  });
}

test('sums hold while transfers are under way', async () => {
  const database = await filled();
  await database.run('UNWIND range(1, 400) AS i CREATE (:T {n: i, v: 100, w: 1})', {
    language: 'cypher',
  });
  const dice = createSeededRandom(9);
  const next = (): Promise<unknown> => transfer(database, {type: 'T', key: 'n'}, dice);
  for (let round = 0; round < 40; round++) {
    const writes = Array.from({length: 5}, next);
    const [row] = await database.run('SELECT sum(v) AS s, count(*) AS n FROM T WHERE w = 1');
    assert.deepEqual(row, {s: 40_000, n: 400});
    await Promise.all(writes);
  }
});

test('records that another type gained, and properties that are new, are seen', async () => {
  const database = await filled();
  const all = async (): Promise<void> => {
    for (const text of [
      'SELECT count(*) AS n, sum(v) AS s FROM T WHERE v > 0',
      'SELECT t, sum(v) AS s FROM Other WHERE v > 0 GROUP BY t',
      'SELECT sum(fresh) AS s FROM T WHERE v > 0',
    ]) {
      // A service learns of new names of properties from its own writes alone.
      await plain.close();
      plain = world.another(none);
      await bothAnswers(database, text);
    }
  };
  await database.run('UNWIND range(1, 300) AS i CREATE (:T {n: i, v: i, t: "a"})', {
    language: 'cypher',
  });
  await all();
  await all();
  await database.run('MATCH (a:T) WHERE a.n < 50 SET a:Other', {language: 'cypher'});
  await all();
  await database.run('MATCH (a:Other) REMOVE a:T', {language: 'cypher'});
  await all();
  await database.run('UPDATE T SET fresh = n WHERE n % 2 = 0');
  await all();
  await database.run('DELETE FROM T WHERE n > 290');
  await database.run('TRUNCATE TYPE U UNSAFE');
  await all();
});

test('EXPLAIN and PROFILE say that columns are used, and of how many rows', async () => {
  const database = await filled();
  await database.run('UNWIND range(1, 300) AS i CREATE (:T {n: i, v: i, t: "a"})', {
    language: 'cypher',
  });
  const planOf = async (text: string): Promise<string> => {
    const cursor = await world.service.run(root, database.request(text));
    while ((await cursor.next()) !== undefined);
    cursor.close();
    return cursor.summary.explain ?? '';
  };
  const query = 'SELECT t, sum(v) AS s FROM T WHERE v > 100 GROUP BY t';
  assert.match(await planOf(`EXPLAIN ${query}`), /scan T .* or its columns/);
  assert.match(await planOf(`PROFILE ${query}`), /scan T .*\(200 rows from columns\) +\d+ +200 /);
  const other = 'SELECT t, sum(v) AS s FROM T WHERE v.asString() = "7" GROUP BY t';
  assert.doesNotMatch(await planOf(`EXPLAIN ${other}`), /columns/);
});

test('the first rows come from columns, and nulls are looked for there', async () => {
  const database = await filled();
  await database.run('UNWIND range(1, 300) AS i CREATE (:T {n: i, v: i, w: [i], i: i})', {
    language: 'cypher',
  });
  const planOf = async (text: string): Promise<string> => {
    const cursor = await world.service.run(root, database.request(text));
    while ((await cursor.next()) !== undefined);
    cursor.close();
    return cursor.summary.explain ?? '';
  };
  const byValue = 'SELECT n FROM T ORDER BY v DESC LIMIT 2';
  assert.match(
    await planOf(`PROFILE ${byValue}`),
    /top 2 .*\n.*scan T .*\(300 rows from columns\)/,
  );
  assert.deepEqual(await database.run(byValue), [{n: 300}, {n: 299}]);
  // Of lists there are no columns.
  const byList = 'SELECT n FROM T ORDER BY w DESC LIMIT 2';
  assert.doesNotMatch(await planOf(`PROFILE ${byList}`), /columns/);
  assert.deepEqual(await database.run(byList), [{n: 300}, {n: 299}]);
  // An index leaves out nulls: columns tell that there are none, and of one where it is.
  const byIndex = 'SELECT n FROM T ORDER BY i LIMIT 2';
  const merged = /union.*\n.*scan T .*i is null or its columns.*\n.*index T\[i\]/;
  assert.match(await planOf(`EXPLAIN ${byIndex}`), merged);
  assert.deepEqual(await database.run(byIndex), [{n: 1}, {n: 2}]);
  await database.run('UPDATE T REMOVE i WHERE n = 7');
  assert.deepEqual(await database.run(byIndex), [{n: 7}, {n: 1}]);
  await database.run('UPDATE T SET i = 0 WHERE n = 7');
  assert.deepEqual(await database.run(byIndex), [{n: 7}, {n: 1}]);
});

test('all rows are in order by columns, over several row groups', async () => {
  const database = await filled();
  const values = Array.from({length: 5_000}, (_, n) => `(${n}, ${(n * 7919) % 5_003}, 'x')`).join();
  for (let turn = 0; turn < 15; turn++) {
    await database.run(`INSERT INTO U (n, v, t) VALUES ${values}`);
  }
  const beside = database.over(plain);
  for (const query of [
    'SELECT n, v FROM U ORDER BY v DESC, n LIMIT 70000',
    'SELECT n, v FROM U ORDER BY v SKIP 74990 LIMIT 1000',
    'SELECT n, v FROM U WHERE v > 4990 ORDER BY v',
  ]) {
    assert.deepEqual(
      await database.run(query, {limit: -1}),
      await beside.run(query, {limit: -1}),
      query,
    );
  }
  const cursor = await world.service.run(
    root,
    database.request('PROFILE SELECT FROM U ORDER BY v'),
  );
  while ((await cursor.next()) !== undefined);
  cursor.close();
  assert.match(cursor.summary.explain ?? '', /sort .*\n.*scan U .*\(75000 rows from columns\)/);
});

test('columns take no more memory than there is, and go when it is needed', async () => {
  const small = world.another({
    'svc.columnViewRecordsMin': '1',
    'svc.columnViewMemoryMax': '2MB',
  });
  const database = (await filled()).over(small);
  for (const type of ['A', 'B', 'C']) {
    await database.run(`CREATE DOCUMENT TYPE ${type}`);
    await database.run(`INSERT INTO ${type} SET v = 1, w = 2, d = 3.5`);
  }
  const sums = async (): Promise<void> => {
    for (const type of ['A', 'B', 'C', 'A']) {
      const text = `SELECT sum(v) AS v, sum(w) AS w, sum(d) AS d FROM ${type} WHERE v > 0`;
      assert.deepEqual(await database.run(text), [{v: 1, w: 2, d: 3.5}]);
      assert.ok(small.load.columnViewBytes > 0);
      assert.ok(small.load.columnViewBytes <= 2 << 20, `${small.load.columnViewBytes} bytes`);
    }
  };
  await sums();
  await sums();
  await database.run('DROP TYPE B UNSAFE');
  assert.deepEqual(await database.run('SELECT sum(v) AS v FROM A WHERE v > 0'), [{v: 1}]);
  await small.dropDatabase(root, database.name);
  assert.equal(small.load.columnViewBytes, 0);
  await small.close();
});

test('aggregation over the keys of an index is that over the records', async () => {
  const database = await filled();
  for (const statement of [
    'CREATE PROPERTY T.k INTEGER',
    'CREATE PROPERTY T.v LONG',
    'CREATE INDEX ON T (k, v) NOTUNIQUE NULL_STRATEGY INDEX',
  ]) {
    await database.run(statement);
  }
  const rows = ['1', 'null', '9007199254740991', '9223372036854775807', '-5', '0'];
  for (let k = 0; k < 60; k++) {
    await database.run(`INSERT INTO T SET k = ${k}, v = ${rows[k % rows.length]}`);
  }
  const columns = 'count(*) AS n, count(v) AS c, min(v) AS lo, max(v) AS hi';
  for (const [from, to] of [
    [0, 59],
    [1, 1],
    [3, 3],
    [10, 20],
    [70, 80],
  ]) {
    for (const select of [columns, 'sum(v * 2) AS s', 'sum(v) AS s', 'avg(v) AS a']) {
      const where = `k BETWEEN ${from} AND ${to}`;
      const answerOf = (text: string): Promise<unknown> =>
        database.run(text).catch((error: unknown) => String(error).split('\n')[0]);
      assert.deepEqual(
        await answerOf(`SELECT ${select} FROM T WHERE ${where}`),
        await answerOf(`SELECT ${select} FROM T WHERE ${where} AND n IS NULL`),
        `${select}, ${where}`,
      );
    }
  }
});
