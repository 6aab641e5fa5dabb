/** Indexes of every kind, asked beside the same values without an index. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import type {Value} from '#server/model/value.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const world = await ServiceWorld.open({'svc.indexKeySizeMax': '1KB'});
after(() => world.close());

async function ids(
  database: TestDatabase,
  condition: string,
  parameters: Readonly<Record<string, Value>> = {},
): Promise<unknown[]> {
  const text = `SELECT i FROM T WHERE ${condition} ORDER BY i`;
  const rows = await database.run(text, {parameters: new Map(Object.entries(parameters))});
  return rows.map(({i}) => i);
}

test('NaN and infinities are keys: found, ordered and unique like other numbers', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.n DOUBLE',
    'CREATE PROPERTY T.m DOUBLE',
    'CREATE INDEX ON T (n) UNIQUE',
  ]);
  const numbers = [-Infinity, -1, -5e-324, 0, 5e-324, 1, 1.797e308, Infinity, NaN];
  for (const [i, v] of [...numbers.entries()].reverse()) {
    const parameters = new Map<string, Value>(Object.entries({i, v}));
    await database.run('INSERT INTO T SET i = :i, n = :v, m = :v', {parameters});
    await assert.rejects(database.run('INSERT INTO T SET n = :v', {parameters}), {
      code: 'commit.duplicate-key',
      message: /key \[(NaN|-?Infinity|-?[\d.e+-]+)\] found/,
    });
  }
  for (const sign of ['=', '<', '<=', '>', '>=', '<>']) {
    for (const v of numbers) {
      const [indexed, scanned] = [
        await ids(database, `n ${sign} :v`, {v}),
        await ids(database, `m ${sign} :v`, {v}),
      ];
      assert.deepEqual(indexed, scanned, `${sign} ${v}`);
    }
  }
  const ordered = await database.run('SELECT i FROM T ORDER BY n');
  assert.deepEqual(
    ordered.map(({i}) => i),
    [...numbers.keys()],
  );
});

test('nulls: skipped, refused or indexed', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    ...['s', 'e', 'x'].map(name => `CREATE PROPERTY T.${name} STRING`),
    'CREATE INDEX ON T (s) UNIQUE NULL_STRATEGY SKIP',
    'CREATE INDEX ON T (e) UNIQUE NULL_STRATEGY ERROR',
    'CREATE INDEX ON T (x) UNIQUE NULL_STRATEGY INDEX',
    "INSERT INTO T SET i = 1, s = null, e = 'a', x = null",
    "INSERT INTO T SET i = 2, e = 'b', x = 'x'",
  ]);
  await assert.rejects(database.run("INSERT INTO T SET s = 's', x = 'y'"), {
    code: 'value.validation',
    message: /T\[e\]/,
  });
  await assert.rejects(database.run("INSERT INTO T SET e = 'c'"), {code: 'commit.duplicate-key'});
  for (const condition of ['s IS NULL', 'x IS NULL', "e = 'a'"]) {
    assert.equal((await ids(database, condition)).includes(1), true, condition);
  }
  assert.deepEqual(await ids(database, 'x IS NULL'), [1]);
});

test('hash indexes answer whole keys and refuse order', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.a LONG',
    'CREATE PROPERTY T.b STRING',
    'CREATE INDEX ON T (a, b) UNIQUE_HASH',
    'CREATE INDEX ON T (b) NOTUNIQUE_HASH',
    "INSERT INTO T SET i = 1, a = 1, b = 'x'",
    "INSERT INTO T SET i = 2, a = 2, b = 'x'",
  ]);
  assert.deepEqual(await ids(database, "a = 2 AND b = 'x'"), [2]);
  assert.deepEqual(await ids(database, "b = 'x'"), [1, 2]);
  assert.deepEqual(await ids(database, 'a > 1'), [2]);
  await assert.rejects(database.run("INSERT INTO T SET a = 1, b = 'x'"), {
    code: 'commit.duplicate-key',
  });
  await assert.rejects(database.run('SELECT FROM index:`T[a,b]`'), {code: 'query.execution'});
});

test('parts of lists and maps are keys; COLLATE CI folds what is looked up', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.l LIST',
    'CREATE PROPERTY T.m MAP',
    'CREATE PROPERTY T.s STRING',
    'CREATE INDEX ON T (l BY ITEM) NOTUNIQUE',
    'CREATE INDEX ON T (m BY KEY) NOTUNIQUE',
    'CREATE INDEX ON T (m BY VALUE) NOTUNIQUE_HASH',
    'CREATE INDEX ON T (s COLLATE CI) UNIQUE',
    "INSERT INTO T SET i = 1, l = [1, 'z', 1], m = {'p': 1, 'q': 'w'}, s = 'Straße'",
    "INSERT INTO T SET i = 2, l = [], m = {'q': 1}, s = 'other'",
  ]);
  for (const [condition, expected] of [
    ["l CONTAINS 'z'", [1]],
    ['l CONTAINS 1', [1]],
    ["m CONTAINSKEY 'q'", [1, 2]],
    ["m CONTAINSVALUE 'w'", [1]],
    ["s.toLowerCase() = 'straße'", [1]],
    ["s = 'STRAßE'", []],
    ["s IN ['straße']", []],
    ["s = 'Straße'", [1]],
  ] as const) {
    assert.deepEqual(await ids(database, condition), expected, condition);
  }
  await database.run("UPDATE T SET l = ['z'], m = {'r': 1} WHERE i = 2");
  assert.deepEqual(await ids(database, "l CONTAINS 'z'"), [1, 2]);
  assert.deepEqual(await ids(database, "m CONTAINSKEY 'q'"), [1]);
  await assert.rejects(database.run("INSERT INTO T SET s = 'OTHER'"), {
    code: 'commit.duplicate-key',
  });
});

test('a key over the limit is refused by its index, its size and the setting', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.s STRING',
    'CREATE INDEX ON T (s) NOTUNIQUE',
  ]);
  const insert = (length: number): Promise<unknown> =>
    database.run('INSERT INTO T SET s = :s', {
      parameters: new Map([['s', 'x'.repeat(length)]]),
    });
  await insert(1_000);
  await assert.rejects(insert(1_010), {
    code: 'limit.index-key',
    message: /'T\[s\]' takes 1\d{3} bytes, more than 1024 \(svc\.indexKeySizeMax\)/,
  });
  await assert.rejects(database.run(`UPDATE T SET s = '${'y'.repeat(2_000)}'`), {
    code: 'limit.index-key',
  });
  await database.run('DROP INDEX `T[s]`');
  await insert(2_000);
  await assert.rejects(database.run('CREATE INDEX ON T (s) NOTUNIQUE'), {code: 'limit.index-key'});
  assert.deepEqual(await database.run('SELECT FROM schema:indexes'), []);
});

test('IF NOT EXISTS asks for an index that promises as much', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.s STRING',
    'CREATE PROPERTY T.u STRING',
    'CREATE PROPERTY T.h STRING',
    'CREATE INDEX ON T (s COLLATE DEFAULT) NOTUNIQUE',
    'CREATE INDEX ON T (u) UNIQUE',
    'CREATE INDEX ON T (h) NOTUNIQUE_HASH',
  ]);
  for (const same of ['(s) NOTUNIQUE', '(s) NOTUNIQUE_HASH', '(u) NOTUNIQUE', '(u) UNIQUE']) {
    const [row] = await database.run(`CREATE INDEX IF NOT EXISTS ON T ${same}`);
    assert.equal(row?.['created'], false, same);
  }
  for (const other of [
    'CREATE INDEX IF NOT EXISTS ON T (s) UNIQUE',
    'CREATE INDEX IF NOT EXISTS ON T (h) NOTUNIQUE',
    'CREATE INDEX IF NOT EXISTS ON T (s) NOTUNIQUE NULL_STRATEGY ERROR',
    'CREATE INDEX IF NOT EXISTS ON T (s COLLATE CI) NOTUNIQUE',
  ]) {
    await assert.rejects(database.run(other), {
      code: 'argument',
      message: /'T\[[sh]\]' exists and/,
    });
  }
});

test('index: answers the entries under a key, of every kind of index', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.a STRING',
    'CREATE PROPERTY T.n LONG',
    'CREATE PROPERTY T.s STRING',
    'CREATE INDEX ON T (a) UNIQUE_HASH',
    'CREATE INDEX ON T (n) NOTUNIQUE',
    'CREATE INDEX ON T (s COLLATE CI) UNIQUE',
    'CREATE INDEX ON T (n, a) NOTUNIQUE',
    "INSERT INTO T SET a = 'x', n = 1, s = 'Hello'",
    "INSERT INTO T SET a = 'y', n = 2, s = 'World'",
    "INSERT INTO T SET a = 'z', n = 2, s = 'Third'",
  ]);
  for (const [from, expected] of [
    ["`T[a]` WHERE key = 'y'", [1]],
    ["`T[a]` WHERE key = 'w'", []],
    ['`T[a]` WHERE key = null', []],
    ['`T[n]` WHERE key = 2', [1, 2]],
    ["`T[n]` WHERE key = '2'", [1, 2]],
    ['`T[n]` WHERE key = 2 AND rid <> #1:1', [2]],
    ['`T[n]` WHERE key IN [1, 2]', [0, 1, 2]],
    ['`T[n]` WHERE key > 1', [1, 2]],
    ["`T[n,a]` WHERE key = [2, 'y']", [1]],
    ["`T[s]` WHERE key = 'HELLO'", [0]],
    ["`T[s]` WHERE key = 'hello' AND rid = #1:0", [0]],
    ['`T[n]` WHERE key = 2 OR key = 1', [0, 1, 2]],
  ] as const) {
    const rows = await database.run(`SELECT rid FROM index:${from}`);
    const rids = expected.map(position => ({rid: `#1:${position}`}));
    assert.deepEqual(rows, rids, from);
  }
  await assert.rejects(database.run('SELECT FROM index:`T[n,a]` WHERE key = 2'), {
    code: 'argument',
  });
  await assert.rejects(database.run("SELECT FROM index:`T[a]` WHERE key > 'a'"), {
    code: 'query.execution',
  });
});
