/**
 * Many at once after the same unique key, edge or vertex: one gets it, and the others are told.
 * Many that change the same record: each builds on the one before, and few start over.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {assertIntegrity} from '#server/simulation/integrity.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const worlds = [
  await ServiceWorld.open({'svc.txRetries': '50'}),
  await ServiceWorld.open({'svc.txRetries': '50'}, {reportsLate: true}),
];
after(async () => {
  for (const world of worlds) await world.close();
});

const clients = 24;

/** How many of each outcome: `done`, or the code of the refusal. */
async function outcomes(work: (client: number) => Promise<unknown>): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const all = Array.from({length: clients}, async (_, client) => {
    const outcome = await work(client).then(
      () => 'done',
      (error: unknown) => {
        if (!(error instanceof Refusal)) throw error;
        return error.code;
      },
    );
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  });
  await Promise.all(all);
  return counts;
}

function assertWhole(world: ServiceWorld, {name}: TestDatabase): void {
  const {database, schema} = world.service.databaseSession(root, name);
  const reader = database.read();
  assertIntegrity(reader, schema.context);
  reader.close();
}

const schema = [
  'CREATE VERTEX TYPE V',
  'CREATE PROPERTY V.k STRING',
  'CREATE INDEX ON V (k) UNIQUE',
  'CREATE EDGE TYPE Once UNIQUE',
  'CREATE EDGE TYPE Light LIGHTWEIGHT UNIQUE',
  'CREATE EDGE TYPE E',
  "CREATE VERTEX V SET k = 'a'",
  "CREATE VERTEX V SET k = 'b'",
];

for (const [number, world] of worlds.entries()) {
  const when = number === 0 ? '' : ', commits heard of late';
  test(`one of many inserts of a unique key is stored${when}`, async () => {
    const database = await world.database(schema);
    const counts = await outcomes(() => database.run("CREATE VERTEX V SET k = 'x'"));
    assert.deepEqual(
      counts,
      new Map([
        ['done', 1],
        ['commit.duplicate-key', clients - 1],
      ]),
    );
    assert.equal((await database.run("SELECT FROM V WHERE k = 'x'")).length, 1);
    assertWhole(world, database);
  });

  test(`many upserts of a unique key make one record${when}`, async () => {
    const database = await world.database([...schema, "INSERT INTO V SET k = 'other', n = 0"]);
    const counts = await outcomes(() =>
      database.run("UPDATE V SET n = ifnull(n, 0) + 1 UPSERT WHERE k = 'x'"),
    );
    assert.deepEqual(counts, new Map([['done', clients]]));
    assert.deepEqual(await database.run("SELECT n FROM V WHERE k = 'x'"), [{n: clients}]);
    assertWhole(world, database);
  });

  for (const type of ['Once', 'Light']) {
    test(`one of many unique edges is made: ${type}${when}`, async () => {
      const database = await world.database(schema);
      const counts = await outcomes(() => database.run(`CREATE EDGE ${type} FROM #1:0 TO #1:1`));
      assert.equal(counts.get('done'), 1, [...counts].join(' '));
      assert.equal(counts.get('commit.duplicate-key'), clients - 1);
      assert.deepEqual(await database.run('SELECT out().size() AS n FROM #1:0'), [{n: 1}]);
      assertWhole(world, database);
    });
  }

  test(`edges to a vertex that is deleted meanwhile are refused or go with it${when}`, async () => {
    const database = await world.database(schema);
    const counts = await outcomes(client =>
      database.run(client === 12 ? 'DELETE FROM #1:1' : 'CREATE EDGE E FROM #1:0 TO #1:1'),
    );
    for (const outcome of counts.keys()) assert.match(outcome, /^(done|record\.not-found)$/);
    assert.equal((await database.run('SELECT FROM #1:1')).length, 0);
    assert.deepEqual(await database.run('SELECT out().size() AS n FROM #1:0'), [{n: 0}]);
    assert.deepEqual(await database.run('SELECT count(*) AS n FROM E'), [{n: 0}]);
    assertWhole(world, database);
  });

  test(`many that count up one record start over no more than twice${when}`, async () => {
    const database = await world.database([...schema, "INSERT INTO V SET k = 'hot', n = 0"]);
    const told: unknown[] = [];
    const rounds = 5;
    const counts = await outcomes(async () => {
      for (let round = 0; round < rounds; round += 1) {
        const text = "UPDATE V SET n = n + 1 RETURN AFTER n WHERE k = 'hot'";
        told.push(...(await database.run(text, {retries: 2})));
      }
    });
    assert.deepEqual(counts, new Map([['done', clients]]));
    const values = told.map(row => (row as {readonly n: number}).n);
    assert.deepEqual(
      values.toSorted((left, right) => left - right),
      Array.from({length: clients * rounds}, (_, at) => at + 1),
      'each is told a value of its own, and none is left out',
    );
    assertWhole(world, database);
  });

  test(`what a condition takes away is taken so often and no more${when}`, async () => {
    const database = await world.database([...schema, "INSERT INTO V SET k = 'stock', n = 5"]);
    let taken = 0;
    const counts = await outcomes(async () => {
      const text = "UPDATE V SET n = n - 1 RETURN COUNT WHERE k = 'stock' AND n > 0";
      const [row] = await database.run(text);
      taken += Number((row as {readonly count: number}).count);
    });
    assert.deepEqual(counts, new Map([['done', clients]]));
    assert.equal(taken, 5);
    assert.deepEqual(await database.run("SELECT n FROM V WHERE k = 'stock'"), [{n: 0}]);
    assertWhole(world, database);
  });
}
