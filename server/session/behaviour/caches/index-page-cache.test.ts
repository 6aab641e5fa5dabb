/**
 * Pages that are kept of an index change no answer: the same ranges over the same data are summed
 * by a service that keeps pages and by one that keeps none, between random writes, in snapshots
 * taken before them, beside own writes, and while others write. Holds invariant W3.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {transfer} from '#server/testing/property/transfers.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import type {SessionService} from '../../service.ts';

const records = 3_000;
const keysMax = 4_000;
/** Narrow enough that the index is the way, whatever the statistics say. */
const widthMax = 300;

let world: ServiceWorld;
/** A service over the same engine, without pages. */
let plain: SessionService;

before(async () => {
  world = await ServiceWorld.open({'svc.columnViewRecordsMin': '1'});
  plain = world.another({'svc.columnViewMemoryMax': '0'});
});

after(async () => {
  await plain.close();
  await world.close();
});

async function filled(): Promise<TestDatabase> {
  const database = await world.database([
    'CREATE DOCUMENT TYPE R',
    'CREATE PROPERTY R.k LONG',
    'CREATE PROPERTY R.v LONG',
    'CREATE INDEX ON R (k, v) NOTUNIQUE NULL_STRATEGY INDEX',
  ]);
  const dice = createSeededRandom(1);
  const rows = Array.from({length: records}, () => [dice.below(keysMax), dice.below(100)]);
  const text = rows.map(([k, v]) => `(${k}, ${v})`).join(', ');
  await database.run(`INSERT INTO R (k, v) VALUES ${text}`);
  return database;
}

const columns = 'count(*) AS n, count(v) AS c, sum(v) AS s, min(v) AS lo, max(k) AS hi';

function randomRange(dice: SeededRandom): string {
  const from = dice.below(keysMax);
  const to = from + dice.below(widthMax);
  switch (dice.below(4)) {
    case 0:
      return `SELECT ${columns} FROM R WHERE k >= ${from} AND k < ${to}`;
    case 1:
      return `SELECT k, ${columns} FROM R WHERE k > ${from} AND k <= ${to} GROUP BY k`;
    case 2:
      return `SELECT ${columns} FROM R WHERE k = ${from} AND v > ${dice.below(100)}`;
    default:
      return `SELECT ${columns} FROM R WHERE k BETWEEN ${from} AND ${to}`;
  }
}

function randomWrite(dice: SeededRandom): string {
  const from = dice.below(keysMax);
  const where = `WHERE k BETWEEN ${from} AND ${from + dice.below(30)}`;
  // The last two are no numbers of columns.
  const value = dice.pick(['1', '-7', 'null', '55', '9007199254740993', '-9007199254740995']);
  switch (dice.below(5)) {
    case 0:
      return `DELETE FROM R ${where}`;
    case 1:
      return `UPDATE R SET v = ${value} ${where}`;
    case 2:
      return `UPDATE R SET k = ${dice.below(keysMax)} ${where}`;
    default:
      return `INSERT INTO R SET k = ${from}, v = ${value}`;
  }
}

async function bothAnswer(
  database: TestDatabase,
  text: string,
  transactions?: readonly [string, string],
): Promise<void> {
  const beside = database.over(plain);
  const [kept, ordinary] = await Promise.all([
    database.run(text, {transactionId: transactions?.[0]}),
    beside.run(text, {transactionId: transactions?.[1]}),
  ]);
  assert.deepEqual(kept, ordinary, text);
}

test('ranges are read from the index, and pages of it are kept', async () => {
  const database = await filled();
  const text = `SELECT ${columns} FROM R WHERE k BETWEEN 10 AND 200`;
  const cursor = await world.service.run(root, database.request(`EXPLAIN ${text}`));
  while ((await cursor.next()) !== undefined);
  cursor.close();
  assert.match(cursor.summary.explain ?? '', /index R\[k,v\]/);
  for (let run = 0; run < 3; run++) await bothAnswer(database, text);
  assert.ok(world.service.load.columnViewBytes > 0);
});

for (const seed of [1, 2, 3]) {
  test(`random writes and ranges between them, seed ${seed}`, async () => {
    const dice = createSeededRandom(seed);
    const database = await filled();
    for (let round = 0; round < 80; round++) {
      if (dice.below(3) > 0) await database.run(randomWrite(dice));
      for (let range = 0; range < 4; range++) await bothAnswer(database, randomRange(dice));
    }
    await database.run('REBUILD INDEX `R[k,v]`');
    for (let range = 0; range < 20; range++) await bothAnswer(database, randomRange(dice));
    await database.run('TRUNCATE TYPE R UNSAFE');
    for (let range = 0; range < 5; range++) await bothAnswer(database, randomRange(dice));
  });

  test(`snapshots, own writes and pages that went on, seed ${seed}`, async () => {
    const dice = createSeededRandom(seed + 100);
    const database = await filled();
    for (let round = 0; round < 8; round++) {
      const [first, second] = await Promise.all(
        [world.service, plain].map(service =>
          service.begin(root, database.name, {isolation: 'REPEATABLE_READ'}),
        ),
      );
      const transactions = [first as string, second as string] as const;
      await bothAnswer(database, randomRange(dice), transactions);
      for (let step = 0; step < 5; step++) {
        await database.run(randomWrite(dice));
        for (let range = 0; range < 3; range++) {
          await bothAnswer(database, randomRange(dice));
          await bothAnswer(database, randomRange(dice), transactions);
        }
        const own = randomWrite(dice);
        // A new record would get a place of its own in each of the two.
        if (/^(UPDATE|DELETE)/.test(own)) await bothAnswer(database, own, transactions);
      }
      await world.service.rollback(root, database.name, first as string);
      await plain.rollback(root, database.name, second as string);
    }
  });
}

test('sums hold while transfers are under way', async () => {
  const database = await world.database([
    'CREATE VERTEX TYPE A',
    'CREATE PROPERTY A.k LONG',
    'CREATE PROPERTY A.v LONG',
    'CREATE INDEX ON A (k, v) NOTUNIQUE',
  ]);
  // The others make the index the way to these.
  await database.run('UNWIND range(1, 400) AS i CREATE (:A {k: i, v: 100})', {language: 'cypher'});
  await database.run('UNWIND range(1000, 4000) AS i CREATE (:A {k: i, v: 0})', {
    language: 'cypher',
  });
  const dice = createSeededRandom(9);
  const next = (): Promise<unknown> => transfer(database, {type: 'A', key: 'k'}, dice);
  for (let round = 0; round < 60; round++) {
    const writes = Array.from({length: dice.below(5)}, next);
    for (let read = 0; read < 3; read++) {
      const [row] = await database.run(
        'SELECT sum(v) AS s, count(*) AS n FROM A WHERE k BETWEEN 1 AND 400',
      );
      assert.deepEqual(row, {s: 40_000, n: 400});
    }
    await Promise.all(writes);
  }
});
