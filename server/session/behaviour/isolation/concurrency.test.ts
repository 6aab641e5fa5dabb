/**
 * What happens when statements, transactions, schema changes and ends of things meet: each test
 * is one meeting that once went wrong or easily could.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {assertIntegrity} from '#server/simulation/integrity.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {WatchedTimers} from '#server/testing/time/watched-timers.ts';

const timers = new WatchedTimers();
let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open({}, {timers});
});
after(() => world.close());

const refusedWith =
  (...codes: string[]) =>
  (error: unknown): boolean =>
    error instanceof Refusal && codes.includes(error.code);

const items = [
  'CREATE DOCUMENT TYPE Item',
  'CREATE PROPERTY Item.k INTEGER',
  ...[1, 2, 3, 4].map(k => `INSERT INTO Item SET k = ${k}, n = 0`),
];

const begin = (
  database: TestDatabase,
  level: 'READ_COMMITTED' | 'REPEATABLE_READ' = 'READ_COMMITTED',
): Promise<string> => world.service.begin(root, database.name, {isolation: level});
const commit = (database: TestDatabase, transactionId: string): Promise<void> =>
  world.service.commit(root, database.name, transactionId, undefined);

test('a transaction that changes the schema meanwhile keeps the new index', async () => {
  const database = await world.database(items);
  const transactionId = await begin(database);
  await database.run('SELECT FROM Item', {transactionId});
  await database.run('CREATE INDEX ON Item (k) UNIQUE', {transactionId});
  await database.run('INSERT INTO Item SET k = 9', {transactionId});
  await commit(database, transactionId);
  assert.equal((await database.run('SELECT FROM Item WHERE k = 9')).length, 1);
});

test('a transaction that has only read writes under the newest schema', async () => {
  const database = await world.database(items);
  const transactionId = await begin(database);
  await database.run('SELECT FROM Item', {transactionId});
  await database.run('CREATE INDEX ON Item (k) UNIQUE');
  await database.run('INSERT INTO Item SET k = 9', {transactionId});
  await commit(database, transactionId);
  assert.equal((await database.run('SELECT FROM Item WHERE k = 9')).length, 1);
});

test('an index made after the snapshot of a transaction answers nothing in it', async () => {
  const database = await world.database(items);
  const transactionId = await begin(database, 'REPEATABLE_READ');
  const count = async (): Promise<number> =>
    (await database.run('SELECT FROM Item WHERE k = 2', {transactionId})).length;
  assert.equal(await count(), 1);
  await database.run('CREATE INDEX ON Item (k) UNIQUE');
  assert.equal(await count(), 1);
  await database.run('DROP INDEX `Item[k]`');
  assert.equal(await count(), 1);
});

test('a statement prepared before an index is dropped does not search it', async () => {
  const late = await ServiceWorld.open({}, {reportsLate: true});
  try {
    const database = await late.database([...items, 'CREATE INDEX ON Item (k) UNIQUE']);
    const found = async (k: number, more = {}): Promise<unknown> =>
      (await database.run(`SELECT FROM Item WHERE k = ${k}`, more)).length;
    const inside = async (level: 'READ_COMMITTED' | 'REPEATABLE_READ'): Promise<unknown> => {
      const transactionId = await late.service.begin(root, database.name, {isolation: level});
      return found(1, {transactionId}).catch((error: unknown) => {
        assert.ok(refusedWith('commit.conflict')(error), String(error));
        return 1;
      });
    };
    for (let round = 0; round < 30; round += 1) {
      const drop = database.run('DROP INDEX `Item[k]`');
      for (let turn = 0; turn < round % 10; turn += 1) await new Promise(setImmediate);
      const counts = await Promise.all([
        found(1),
        found(2),
        inside('READ_COMMITTED'),
        inside('REPEATABLE_READ'),
        database.run('UPDATE Item SET n = 1 WHERE k = 3').then(rows => rows[0]?.['count']),
      ]);
      assert.deepEqual(counts, [1, 1, 1, 1, 1], `after ${round % 10} turns`);
      await drop;
      await database.run('CREATE INDEX ON Item (k) UNIQUE');
    }
  } finally {
    await late.close();
  }
});

test('READ_COMMITTED: commits of others between two statements are no conflict', async () => {
  const database = await world.database(items);
  const transactionId = await begin(database);
  await database.run('UPDATE Item SET n = 1 WHERE k = 1', {transactionId});
  for (const n of [1, 2, 3]) await database.run(`UPDATE Item SET n = ${n} WHERE k = 3`);
  await database.run('UPDATE Item SET n = 1 WHERE k = 2', {transactionId});
  for (const n of [4, 5, 6]) await database.run(`UPDATE Item SET n = ${n} WHERE k = 3`);
  await commit(database, transactionId);
  assert.deepEqual(
    (await database.run('SELECT n FROM Item ORDER BY k')).map(row => row['n']),
    [1, 1, 6, 0],
  );
});

test('READ_COMMITTED: a record changed behind the last statement is a conflict', async () => {
  const database = await world.database(items);
  const transactionId = await begin(database);
  await database.run('UPDATE Item SET n = n + 1 WHERE k = 1', {transactionId});
  await database.run('UPDATE Item SET n = n + 1 WHERE k = 3');
  await database.run('UPDATE Item SET n = n + 1 WHERE k = 2', {transactionId});
  await database.run('UPDATE Item SET n = n + 1 WHERE k = 1');
  await assert.rejects(commit(database, transactionId), refusedWith('commit.conflict'));
});

for (const [what, own, others] of [
  ['a record', 'UPDATE Item SET k = 10 WHERE k = 1', 'UPDATE Item SET k = 20 WHERE k = 1'],
  ['a record in a large commit', 'UPDATE Item SET k = 10 WHERE k = 1', 'UPDATE Item SET k += 50'],
  ['a unique key', "INSERT INTO Item SET u = 'x'", "INSERT INTO Item SET u = 'x'"],
  ['an end of an edge', 'CREATE EDGE E FROM #1:0 TO #1:1', 'DELETE FROM #1:1'],
  ['a vertex without edges', 'DELETE FROM #1:1', 'CREATE EDGE E FROM #1:0 TO #1:1'],
] as const) {
  test(`READ_COMMITTED: no statement sees own writes on top of what changed ${what}`, async () => {
    const database = await world.database([
      'CREATE VERTEX TYPE Item',
      'CREATE EDGE TYPE E',
      'CREATE PROPERTY Item.k INTEGER',
      'CREATE PROPERTY Item.u STRING',
      'CREATE INDEX ON Item (k) NOTUNIQUE',
      'CREATE INDEX ON Item (u) UNIQUE',
      ...Array.from({length: 200}, (_, k) => `INSERT INTO Item SET k = ${k + 1}`),
    ]);
    const transactionId = await begin(database);
    await database.run('SELECT FROM Item LIMIT 1', {transactionId});
    await database.run(own, {transactionId});
    await database.run('UPDATE Item SET n = 1 WHERE k = 3');
    assert.equal((await database.run('SELECT FROM Item WHERE k = 5', {transactionId})).length, 1);
    await database.run(others);
    await assert.rejects(
      database.run('SELECT FROM Item WHERE k >= 0', {transactionId}),
      refusedWith('commit.conflict'),
    );
    await assert.rejects(commit(database, transactionId), refusedWith('transaction.failed'));
  });
}

/** Fills `Many` with enough records that a statement over them takes several slices. */
async function many(): Promise<TestDatabase> {
  const database = await world.database([
    'CREATE DOCUMENT TYPE Many',
    'CREATE PROPERTY Many.n LONG',
  ]);
  for (let at = 0; at < 10; at += 1) {
    const rows = Array.from({length: 2_000}, (_, n) => `(${at * 2_000 + n})`).join(',');
    await database.run(`INSERT INTO Many (n) VALUES ${rows}`);
  }
  return database;
}

test('a transaction terminated in the middle of a write refuses, and stores nothing', async () => {
  const database = await many();
  for (const end of ['terminate', 'drop-user', 'close'] as const) {
    const transactionId = await begin(database);
    const running = database.run('UPDATE Many SET n = n + 1', {transactionId});
    const outcome = running.then(
      () => 'finished',
      (error: unknown) => error,
    );
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    if (end === 'terminate') await world.service.terminateTransaction(root, transactionId);
    else if (end === 'drop-user') world.service.endSessionsOf(root.name);
    else await world.service.closeDatabase(root, database.name);
    const error = await outcome;
    assert.ok(
      refusedWith('transaction.expired', 'query.terminated')(error),
      `${end}: ${String(error)}`,
    );
    if (end === 'close') await world.service.openDatabase(root, database.name);
    await assert.rejects(commit(database, transactionId), refusedWith('transaction.expired'));
  }
  const [row] = await database.run('SELECT sum(n) AS s FROM Many');
  assert.equal(row?.['s'], (20_000 * 19_999) / 2);
});

test('a transaction terminated while its cursor is open: the cursor refuses', async () => {
  const database = await many();
  const transactionId = await begin(database);
  const cursor = await world.service.run(root, {
    ...database.request('SELECT FROM Many'),
    format: 'ndjson',
    limit: -1,
    transactionId,
  });
  await cursor.next();
  await world.service.terminateTransaction(root, transactionId);
  const drain = async (): Promise<void> => {
    while ((await cursor.next()) !== undefined);
  };
  await assert.rejects(drain(), refusedWith('transaction.expired', 'query.terminated'));
  cursor.close();
});

test('a transaction names the queries that run in it', async () => {
  const database = await many();
  const transactionId = await begin(database);
  const told = () => {
    const open = world.service.transactions(root).find(({id}) => id === transactionId);
    return [open?.busy, open?.queryIds];
  };
  assert.deepEqual(told(), [false, []]);
  const cursor = await world.service.run(root, {
    ...database.request('SELECT FROM Many'),
    format: 'ndjson',
    limit: -1,
    transactionId,
  });
  await cursor.next();
  const ids = world.service.queries(root).map(({id}) => id);
  assert.equal(ids.length, 1);
  assert.deepEqual(told(), [true, ids]);
  cursor.close();
  await world.service.rollback(root, database.name, transactionId);
});

test('reads of a database that is being replaced fail as new ones do: others answer', async () => {
  const database = await many();
  const read = (text: string) =>
    world.service.run(root, {...database.request(text), format: 'ndjson', limit: -1});
  const cursor = await read('SELECT FROM Many');
  await cursor.next();
  const begun = read('SELECT sum(n) FROM Many');
  const replaced = world.stored(database);
  replaced.close('a snapshot is being put in its place');
  world.service.databaseDropped(replaced);
  const refused = {code: 'database.fenced', message: /a snapshot is being put in its place/};
  await assert.rejects(Promise.resolve(begun), refused);
  await assert.rejects(async () => cursor.next(), refused);
  await assert.rejects(async () => read('SELECT FROM Many'), refused);
  await replaced.released();
});

test('a database is dropped under open cursors, running writes and transactions', async () => {
  const database = await many();
  const transactionId = await begin(database);
  const request = {
    ...database.request('SELECT FROM Many'),
    format: 'ndjson' as const,
    limit: -1,
  };
  const cursors = [
    await world.service.run(root, request),
    await world.service.run(root, {...request, transactionId}),
  ];
  for (const cursor of cursors) await cursor.next();
  const ended = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => 'finished',
      (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
    );
  const writes = [
    ended(database.run('UPDATE Many SET n = n + 1')),
    ended(database.run('INSERT INTO Many SET n = 1')),
    ended(database.run('CREATE INDEX ON Many (n) NOTUNIQUE')),
    ended(database.run('SELECT sum(n) FROM Many')),
    ended(database.run('BEGIN; UPDATE Many SET n = 3; COMMIT RETRY 5', {language: 'sqlscript'})),
  ];
  await new Promise(setImmediate);
  await world.service.dropDatabase(root, database.name);
  for (const cursor of cursors) {
    const drained = await ended(
      (async () => {
        while ((await cursor.next()) !== undefined);
      })(),
    );
    assert.match(String(drained), /^(query\.terminated|transaction\.expired|database\.)/);
    cursor.close();
  }
  for (const write of writes) {
    assert.match(
      String(await write),
      /^(finished|query\.terminated|transaction\.expired|database\.|commit\.unknown)/,
    );
  }
  await assert.rejects(
    database.run('SELECT FROM Many'),
    refusedWith('database.not-found', 'database.missing'),
  );
});

test('a statement that fails before it starts gives its place back', async () => {
  const narrow = await ServiceWorld.open({
    'svc.queryMaxConcurrent': '1',
    'svc.queryQueueTimeout': '100',
  });
  try {
    const database = await narrow.database(items);
    const transactionId = await narrow.service.begin(root, database.name);
    for (const more of [{}, {}, {transactionId}]) {
      await assert.rejects(database.run("SELECT FROM Item LIMIT 'x'.asDecimal()", more));
      await assert.rejects(database.run("DELETE FROM Item LIMIT 'x'.asDecimal()"));
    }
    assert.equal((await database.run('SELECT FROM Item')).length, 4);
  } finally {
    await narrow.close();
  }
});

test('COMMIT RETRY begins anew when a statement before it is overtaken', async () => {
  const database = await world.database(items);
  const script = `
    BEGIN;
    UPDATE Item SET n = n + 1 WHERE k = 1;
    SLEEP 1;
    SELECT FROM Item;
    UPDATE Item SET n = n + 1 WHERE k = 2;
    COMMIT RETRY 100;`;
  await Promise.all(Array.from({length: 8}, () => database.run(script, {language: 'sqlscript'})));
  assert.deepEqual(await database.run('SELECT n FROM Item WHERE k <= 2'), [{n: 8}, {n: 8}]);
});

test('COMMIT RETRY gives up in time, with its variables as at BEGIN', async () => {
  const database = await world.database([...items, 'CREATE DOCUMENT TYPE Log']);
  let stop = false;
  const disturb = async (): Promise<void> => {
    while (!stop) await database.run('UPDATE Item SET n = n + 1 WHERE k = 1', {retries: 100});
  };
  const disturber = disturb();
  const script = `
    LET x = 0;
    BEGIN;
    LET x = $x + 1;
    UPDATE Item SET n = -1 WHERE k = 1;
    SLEEP 20;
    COMMIT RETRY 3 ELSE { INSERT INTO Log SET x = $x; } AND CONTINUE;
    RETURN $x`;
  const answer = await database.run(script, {language: 'sqlscript'});
  stop = true;
  await disturber;
  assert.deepEqual(answer, [{value: 1}]);
  assert.deepEqual(
    (await database.run('SELECT x FROM Log')).map(row => row['x']),
    [1],
  );
});

test('without the stale read check entries still belong to their records', async () => {
  const loose = await ServiceWorld.open({'svc.txStaleReadCheck': 'false'});
  try {
    const database = await loose.database([...items, 'CREATE INDEX ON Item (k) NOTUNIQUE']);
    const both = await Promise.all([
      loose.service.begin(root, database.name),
      loose.service.begin(root, database.name),
      loose.service.begin(root, database.name),
    ]);
    const [first, second, third] = both;
    await database.run('UPDATE Item SET k = 20 WHERE k = 2', {transactionId: first});
    await database.run('UPDATE Item SET k = 30 WHERE k = 2', {transactionId: second});
    await database.run('UPDATE Item SET k = 40 WHERE k = 2', {transactionId: third});
    for (const id of both) {
      await loose.service
        .commit(root, database.name, id, undefined)
        .catch((error: unknown) => assert.ok(refusedWith('commit.conflict')(error)));
    }
    const byScan = await database.run('SELECT k FROM Item WHERE k + 0 >= 20');
    const byIndex = await database.run('SELECT k FROM Item WHERE k >= 20');
    assert.deepEqual(byIndex, byScan);
    const late = await loose.service.begin(root, database.name);
    await database.run('UPDATE Item SET n = 9 WHERE k = 1', {transactionId: late});
    await database.run('DELETE FROM Item WHERE k = 1');
    await loose.service
      .commit(root, database.name, late, undefined)
      .catch((error: unknown) => assert.ok(refusedWith('commit.conflict')(error)));
    assert.equal((await database.run('SELECT FROM Item WHERE k + 0 = 1')).length, 0);
    assert.deepEqual(await database.run('SELECT count(*) AS c FROM Item'), [{c: 3}]);
  } finally {
    await loose.close();
  }
});

test('whoever terminates a rebuild does not lose the index', async () => {
  const database = await many();
  await database.run('CREATE INDEX ON Many (n) UNIQUE');
  const rebuilt = database.run('REBUILD INDEX `Many[n]`', {tag: 'rebuild'});
  const refused = assert.rejects(rebuilt, refusedWith('query.terminated'));
  await new Promise(setImmediate);
  world.service.terminateTagged(root, 'rebuild');
  await refused;
  await assert.rejects(
    database.run('INSERT INTO Many SET n = 19999', {retries: 0}),
    refusedWith('commit.duplicate-key'),
  );
  const {database: opened, schema} = world.service.databaseSession(root, database.name);
  assert.deepEqual(
    schema.catalog.data.indexes.map(({name, state}) => `${name} ${state}`),
    ['Many[n] ready'],
  );
  const reader = opened.read();
  assertIntegrity(reader, schema.context);
  reader.close();
});

test('while an index is rebuilt the old one serves, and writers go on', async () => {
  const database = await many();
  await database.run('CREATE INDEX ON Many (n) UNIQUE');
  const {database: opened, schema} = world.service.databaseSession(root, database.name);
  const before = schema.catalog.requireIndex('Many[n]').id;
  let isDone = false;
  const rebuilt = database.run('REBUILD INDEX `Many[n]`').finally(() => {
    isDone = true;
  });
  let written = 0;
  let both = 0;
  const seen = new Set<number>();
  timers.onPause = () => {
    for (const {operation, stepName, done, total = 0} of world.service.progress(
      root,
      database.name,
    )) {
      assert.deepEqual([operation, stepName], ['build index', 'Many[n]']);
      assert.ok(done <= total + written + 1);
      seen.add(done);
    }
  };
  for (let n = 100_000; !isDone; n++) {
    await database.run(`INSERT INTO Many SET n = ${n}`);
    if (schema.catalog.data.indexes.length > 1) both += 1;
    written += 1;
    await assert.rejects(
      database.run(`INSERT INTO Many SET n = ${n}`),
      refusedWith('commit.duplicate-key'),
    );
    assert.equal((await database.run(`SELECT FROM Many WHERE n = ${n}`)).length, 1);
    await database.run('DELETE FROM Many WHERE n = 7');
  }
  await rebuilt;
  timers.onPause = () => {};
  assert.ok(both > 0, `${both} of ${written} writes met both indexes`);
  assert.ok(seen.size > 5, `progress was shown ${seen.size} times`);
  assert.deepEqual(world.service.progress(root, database.name), []);
  assert.equal(schema.catalog.data.indexes.length, 1);
  assert.ok(schema.catalog.requireIndex('Many[n]').id > before);
  const reader = opened.read();
  assertIntegrity(reader, schema.context);
  reader.close();
});

for (const end of ['TRUNCATE TYPE Light UNSAFE', 'DROP TYPE Light UNSAFE']) {
  test(`${end} leaves no light edge behind, whoever makes some meanwhile`, async () => {
    const database = await world.database([
      'CREATE VERTEX TYPE V',
      'CREATE EDGE TYPE Light LIGHTWEIGHT',
      ...[1, 2, 3].map(id => `CREATE VERTEX V SET id = ${id}`),
    ]);
    const edge = (to: number): Promise<unknown> =>
      database
        .run(
          `CREATE EDGE Light FROM (SELECT FROM V WHERE id = 1) TO (SELECT FROM V WHERE id = ${to})`,
        )
        .catch((error: unknown) => {
          assert.ok(refusedWith('commit.conflict', 'schema.unknown-type')(error), String(error));
        });
    for (const to of [1, 2, 3]) await edge(to);
    const ended = database.run(end);
    await Promise.all(Array.from({length: 20}, (_, number) => edge(1 + (number % 3))));
    await ended;
    const [{o} = {o: undefined}] = await database.run(
      'SELECT both().size() AS o FROM V WHERE id = 1',
    );
    if (end.startsWith('DROP')) assert.equal(o, 0);
    const {database: opened, schema} = world.service.databaseSession(root, database.name);
    const reader = opened.read();
    assertIntegrity(reader, schema.context);
    reader.close();
  });
}

test('a type whose records have keys of its new supertype does not join it', async () => {
  const database = await world.database([
    ...items,
    'CREATE INDEX ON Item (k) UNIQUE',
    'CREATE DOCUMENT TYPE Other',
    'INSERT INTO Other SET k = 2',
  ]);
  await assert.rejects(
    database.run('ALTER TYPE Other SUPERTYPE +Item'),
    refusedWith('commit.duplicate-key'),
  );
  assert.equal((await database.run('SELECT FROM Item')).length, 4);
  await assert.rejects(
    database.run('INSERT INTO Item SET k = 2'),
    refusedWith('commit.duplicate-key'),
  );
  const {schema} = world.service.databaseSession(root, database.name);
  assert.equal(schema.catalog.requireIndex('Item[k]').state, 'ready');
});
