/** Materialized views: what they show, when they come up to date, and what they hold fast. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {isDeepStrictEqual} from 'node:util';
import {KnownCluster} from '#server/testing/cluster/cluster-of-two.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const people = [
  'CREATE VERTEX TYPE Person',
  'CREATE VERTEX TYPE Worker EXTENDS Person',
  'CREATE EDGE TYPE Knows',
  'CREATE DOCUMENT TYPE Note',
  "INSERT INTO Person SET name = 'ann', age = 30",
  "INSERT INTO Person SET name = 'bob', age = 10",
];
const adults = 'CREATE MATERIALIZED VIEW Adults AS SELECT name FROM Person WHERE age >= 18';

const names = async (database: TestDatabase, type = 'Adults'): Promise<unknown[]> =>
  (await database.run(`SELECT name FROM ${type} ORDER BY name`)).map(row => row['name']);

const figure = async (database: TestDatabase, name: string): Promise<unknown> => {
  const [row] = await database.run('SELECT FROM schema:materializedViews');
  return row?.[name];
};

test('a view is filled when it is made, and anew when it is refreshed', async () => {
  const database = await world.database(people);
  assert.deepEqual(await database.run(adults), [
    {operation: 'create materialized view', name: 'Adults', created: true},
  ]);
  assert.deepEqual(await names(database), ['ann']);
  await database.run("UPDATE Person SET age = 20 WHERE name = 'bob'");
  assert.deepEqual(await names(database), ['ann']);
  assert.deepEqual(await database.run('REFRESH MATERIALIZED VIEW Adults'), [
    {operation: 'refresh materialized view', name: 'Adults'},
  ]);
  assert.deepEqual(await names(database), ['ann', 'bob']);
});

test('a refresh writes what differs: the other records keep their ids', async () => {
  const database = await world.database([...people, adults]);
  const [before] = await database.run('SELECT @rid AS rid FROM Adults');
  await database.run("INSERT INTO Worker SET name = 'cid', age = 40");
  await database.run('REFRESH MATERIALIZED VIEW Adults');
  assert.deepEqual(await database.run("SELECT @rid AS rid FROM Adults WHERE name = 'ann'"), [
    before,
  ]);
  assert.deepEqual(await names(database), ['ann', 'cid']);
});

test('an incremental view follows every commit, whoever made it', async () => {
  const database = await world.database([...people, `${adults} REFRESH INCREMENTAL`]);
  await database.run("INSERT INTO Worker SET name = 'cid', age = 40");
  assert.deepEqual(await names(database), ['ann', 'cid']);
  await database.run("CREATE (:Person {name: 'dee', age: 50})", {language: 'cypher'});
  assert.deepEqual(await names(database), ['ann', 'cid', 'dee']);
  await database.run('UPDATE Person SET age += 10 BATCH 1');
  assert.deepEqual(await names(database), ['ann', 'bob', 'cid', 'dee']);
  const script = "BEGIN; DELETE FROM Person WHERE name = 'ann'; COMMIT";
  await database.run(script, {language: 'sqlscript'});
  assert.deepEqual(await names(database), ['bob', 'cid', 'dee']);
  const transactionId = await world.service.begin(root, database.name);
  await database.run("INSERT INTO Person SET name = 'eve', age = 60", {transactionId});
  assert.deepEqual(await names(database), ['bob', 'cid', 'dee']);
  await world.service.commit(root, database.name, transactionId, undefined);
  assert.deepEqual(await names(database), ['bob', 'cid', 'dee', 'eve']);
  await database.run('TRUNCATE TYPE Person POLYMORPHIC UNSAFE');
  assert.deepEqual(await names(database), []);
});

test('an incremental view is not refreshed for what it does not read', async () => {
  const database = await world.database([...people, `${adults} REFRESH INCREMENTAL`]);
  const refreshes = await figure(database, 'refreshCount');
  await database.run('INSERT INTO Note SET text = 1');
  assert.equal(await figure(database, 'refreshCount'), refreshes);
});

test('groups, edges, links and views of views follow, too', async () => {
  const database = await world.database([
    ...people,
    'CREATE MATERIALIZED VIEW Ages AS SELECT age, count(*) AS n FROM Person GROUP BY age ' +
      'REFRESH INCREMENTAL',
    'CREATE MATERIALIZED VIEW Large AS SELECT age FROM Ages WHERE n > 1 REFRESH INCREMENTAL',
    'INSERT INTO Note SET about = #1:0',
    'CREATE MATERIALIZED VIEW Abouts AS SELECT about.name AS name FROM Note REFRESH INCREMENTAL',
    "CREATE MATERIALIZED VIEW Known AS SELECT name, out('Knows').name AS knows FROM Person " +
      "WHERE name = 'ann' REFRESH INCREMENTAL",
  ]);
  await database.run("INSERT INTO Person SET name = 'cid', age = 10");
  assert.deepEqual(await database.run('SELECT age, n FROM Ages ORDER BY age'), [
    {age: 10, n: 2},
    {age: 30, n: 1},
  ]);
  assert.deepEqual(await database.run('SELECT age FROM Large'), [{age: 10}]);
  await database.run('CREATE EDGE Knows FROM #1:0 TO #1:1');
  assert.deepEqual(await database.run('SELECT name, knows FROM Known'), [
    {name: 'ann', knows: ['bob']},
  ]);
  await database.run("UPDATE Person SET name = 'Ann' WHERE name = 'ann'");
  assert.deepEqual(await names(database, 'Abouts'), ['Ann']);
});

test('whatever is written, an incremental view shows what its query answers', async () => {
  const queries = [
    'SELECT name, age * 2 AS twice FROM Person WHERE age > 3',
    'SELECT FROM Person WHERE age > 3 OR name IS NULL',
    'SELECT name FROM Person WHERE age >= (SELECT max(age) FROM Person)',
    'SELECT name, age FROM Worker',
  ];
  const database = await world.database(people);
  for (const [at, query] of queries.entries()) {
    await database.run(`CREATE MATERIALIZED VIEW View${at} AS ${query} REFRESH INCREMENTAL`);
  }
  let state = 7;
  const below = (limit: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * limit);
  };
  const some = (): string => `WHERE age % 4 = ${below(4)}`;
  const writes: readonly (() => string)[] = [
    () => `INSERT INTO Person SET name = 'p${below(99)}', age = ${below(9)}`,
    () => `INSERT INTO Worker SET age = ${below(9)}`,
    () => `UPDATE Person SET age = ${below(9)} ${some()} LIMIT 2`,
    () => `UPDATE Person REMOVE name ${some()} LIMIT 1`,
    () => `DELETE FROM Person ${some()} LIMIT 1`,
    () => `MOVE VERTEX (SELECT FROM Person ${some()} LIMIT 1) TO TYPE:Worker`,
    () => `MOVE VERTEX (SELECT FROM Worker ${some()} LIMIT 1) TO TYPE:Stranger`,
    () => `DELETE FROM View${below(4)} LIMIT 1; INSERT INTO Worker SET age = 8`,
  ];
  await database.run('CREATE VERTEX TYPE Stranger');
  const shown = async (query: string): Promise<string[]> => {
    const rows = await database.run(query);
    return rows
      .map(row => Object.entries(row).filter(([name]) => !name.startsWith('@')))
      .map(row => JSON.stringify(row))
      .sort();
  };
  for (let step = 0; step < 120; step += 1) {
    const write = writes[below(writes.length)]?.() ?? '';
    await database.run(write, {language: 'sqlscript'});
    for (const [at, query] of queries.entries()) {
      assert.deepEqual(await shown(`SELECT FROM View${at}`), await shown(query), write);
    }
  }
});

test('many writers at once leave an incremental view that shows all of them', async () => {
  const database = await world.database([...people, `${adults} REFRESH INCREMENTAL`]);
  const inserts = Array.from({length: 40}, (_, at) =>
    database.run(`INSERT INTO Person SET name = 'p${at}', age = 20`),
  );
  await Promise.all(inserts);
  assert.equal((await names(database)).length, 41);
});

test('nobody sees half of a refresh', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE Item',
    'CREATE MATERIALIZED VIEW Shown AS SELECT n, side FROM Item REFRESH MANUAL',
  ]);
  const rows = Array.from({length: 1_500}, (_, n) => `(${n}, 'old')`).join(', ');
  await database.run(`INSERT INTO Item (n, side) VALUES ${rows}`);
  await database.run('REFRESH MATERIALIZED VIEW Shown');
  await database.run("UPDATE Item SET side = 'new'");
  let isDone = false;
  const refreshed = database.run('REFRESH MATERIALIZED VIEW Shown').then(() => {
    isDone = true;
  });
  const seen = new Set<string>();
  while (!isDone) {
    const sides = await database.run('SELECT side, count(*) AS n FROM Shown GROUP BY side');
    seen.add(JSON.stringify(sides));
    await new Promise(resolve => setImmediate(resolve));
  }
  await refreshed;
  seen.add(
    JSON.stringify(await database.run('SELECT side, count(*) AS n FROM Shown GROUP BY side')),
  );
  const whole = ['[{"side":"old","n":1500}]', '[{"side":"new","n":1500}]'];
  assert.deepEqual(
    [...seen].filter(one => !whole.includes(one)),
    [],
  );
});

test('a refresh that fails leaves the view as it was and says so', async () => {
  const database = await world.database([
    ...people,
    'CREATE MATERIALIZED VIEW Shares AS SELECT 100 / (age - 20) AS n FROM Person ' +
      'REFRESH INCREMENTAL',
  ]);
  const before = await database.run('SELECT n FROM Shares ORDER BY n');
  await database.run("UPDATE Person SET age = 20 WHERE name = 'bob'");
  assert.deepEqual(await database.run('SELECT n FROM Shares ORDER BY n'), before);
  assert.deepEqual(
    [await figure(database, 'status'), await figure(database, 'errorCount')],
    ['ERROR', 1],
  );
  await database.run("UPDATE Person SET age = 21 WHERE name = 'bob'");
  assert.equal(await figure(database, 'status'), 'VALID');
});

test('a view that cannot be filled is not made', async () => {
  const database = await world.database(people);
  const impossible = 'CREATE MATERIALIZED VIEW Broken AS SELECT 1 / 0 AS n FROM Person';
  await assert.rejects(database.run(impossible), /division by zero/);
  await assert.rejects(database.run('SELECT FROM Broken'), /'Broken' was not found/);
});

test('a view is made by who may change the schema', async () => {
  const database = await world.database(people);
  const clerk = {name: 'cleo', root: false, grants: new Map([[database.name, ['readonly']]])};
  await assert.rejects(database.run(adults, {}, clerk), (error: unknown) => {
    return error instanceof Refusal && error.code === 'security.denied';
  });
});

test('a view survives the closing of its database, and is up to date when opened', async () => {
  const database = await world.database([...people, `${adults} REFRESH INCREMENTAL`]);
  await world.service.closeDatabase(root, database.name);
  await world.service.openDatabase(root, database.name);
  await database.run("INSERT INTO Person SET name = 'cid', age = 40");
  assert.deepEqual(await names(database), ['ann', 'cid']);
  assert.equal(await figure(database, 'query'), 'SELECT name FROM Person WHERE age >= 18');
  assert.equal(await figure(database, 'refreshMode'), 'INCREMENTAL');
});

test('a periodic view is refreshed by the clock, until it is told otherwise', async () => {
  const timers = new ManualTimers();
  const timed = await ServiceWorld.open({}, {timers, clock: timers});
  try {
    const database = await timed.database([...people, `${adults} REFRESH EVERY 2 MINUTES`]);
    const refreshes = async (): Promise<number> => Number(await figure(database, 'refreshCount'));
    const until = async (count: number): Promise<void> => {
      for (let turn = 0; turn < 1_000 && (await refreshes()) < count; turn += 1) {
        await new Promise(resolve => setImmediate(resolve));
      }
    };
    await database.run("INSERT INTO Person SET name = 'cid', age = 40");
    timers.advance(119_000);
    assert.deepEqual([await refreshes(), await names(database)], [1, ['ann']]);
    timers.advance(1_000);
    await until(2);
    assert.deepEqual(await names(database), ['ann', 'cid']);
    timers.advance(120_000);
    await until(3);
    assert.equal(await refreshes(), 3);
    assert.equal(await figure(database, 'refreshInterval'), 120_000);
    await database.run('ALTER MATERIALIZED VIEW Adults REFRESH MANUAL');
    timers.advance(600_000);
    await until(4);
    assert.equal(await refreshes(), 3);
  } finally {
    await timed.close();
  }
});

test('a periodic view is refreshed by the member that leads, each time by one', async () => {
  const timers = new ManualTimers();
  const [one, other] = [new KnownCluster(), new KnownCluster()];
  one.isLeader = true;
  const timed = await ServiceWorld.open({}, {timers, clock: timers, cluster: one});
  const second = timed.another({}, other);
  try {
    const first = await timed.database([...people, `${adults} REFRESH EVERY 2 MINUTES`]);
    const members = [first, first.over(second)] as const;
    const counts = async (): Promise<unknown> => [
      await figure(members[0], 'refreshCount'),
      await figure(members[1], 'refreshCount'),
    ];
    const refreshed = (told: readonly number[]): Promise<void> =>
      eventually('the view is refreshed', async () => isDeepStrictEqual(await counts(), told));
    assert.deepEqual(await counts(), [1, 0]);
    await first.run("INSERT INTO Person SET name = 'cid', age = 40");
    timers.advance(120_000);
    await refreshed([2, 0]);
    [one.isLeader, other.isLeader] = [false, true];
    for (const cluster of [one, other]) cluster.changed();
    await members[1].run("INSERT INTO Person SET name = 'dan', age = 50");
    timers.advance(120_000);
    await refreshed([2, 1]);
    assert.deepEqual(await names(members[1]), ['ann', 'cid', 'dan']);
  } finally {
    await second.close();
    await timed.close();
  }
});

const refused = [
  // statement                                             code                    message
  [adults, 'schema.exists', /view 'Adults' already exists/],
  [adults.replace('Adults', 'Note'), 'schema.exists', /Type 'Note' already exists/],
  ['DROP TYPE Adults', 'schema.conflict', /DROP MATERIALIZED VIEW/],
  ['DROP TYPE Person UNSAFE', 'schema.conflict', /'Adults' reads it/],
  ['ALTER TYPE Person NAME Human', 'schema.conflict', /'Adults' reads it/],
  ['ALTER TYPE Adults NAME Grown', 'schema.conflict', /materialized view/],
  ['REFRESH MATERIALIZED VIEW Adult', 'schema.unknown-type', /did you mean 'Adults'/],
  ['ALTER MATERIALIZED VIEW Note REFRESH MANUAL', 'schema.unknown-type', /'Note' was not found/],
  ['DROP MATERIALIZED VIEW Note', 'query.execution', /does not exist/],
  ['CREATE MATERIALIZED VIEW X AS SELECT FROM Nope', 'schema.unknown-type', /'Nope'/],
  ['CREATE MATERIALIZED VIEW X AS SELECT FROM Note WHERE a = ?', 'query.semantic', /parameters/],
  [
    'CREATE MATERIALIZED VIEW X AS SELECT 1 AS a REFRESH EVERY 0 SECOND',
    'query.semantic',
    /24 days/,
  ],
  ['CREATE MATERIALIZED VIEW X AS SELECT 1 AS a BUCKETS 0', 'argument', /1 to 1024 buckets/],
] as const;

for (const [statement, code, message] of refused) {
  test(`${statement} is refused with ${code}`, async () => {
    const database = await world.database([...people, adults]);
    await assert.rejects(database.run(statement), (error: unknown) => {
      assert.ok(error instanceof Refusal, String(error));
      assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message);
      return true;
    });
  });
}

test('a view is dropped with its type, and not while another view reads it', async () => {
  const database = await world.database([
    ...people,
    adults,
    'CREATE MATERIALIZED VIEW Copies AS SELECT FROM Adults BUCKETS 2',
  ]);
  await assert.rejects(database.run('DROP MATERIALIZED VIEW Adults'), /'Copies' reads it/);
  const dropped = (name: string, done: boolean): unknown => [
    {operation: 'drop materialized view', name, dropped: done},
  ];
  assert.deepEqual(await database.run('DROP MATERIALIZED VIEW Copies'), dropped('Copies', true));
  assert.deepEqual(await database.run('DROP MATERIALIZED VIEW Adults'), dropped('Adults', true));
  assert.deepEqual(
    await database.run('DROP MATERIALIZED VIEW IF EXISTS Adults'),
    dropped('Adults', false),
  );
  await assert.rejects(database.run('SELECT FROM Adults'), /'Adults' was not found/);
});
