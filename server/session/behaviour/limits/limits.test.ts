/**
 * What is too large, too deep or without an end is refused by a limit that says its name, and what
 * it held is given back.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const repeated = (text: string): string => `LET $x = 'ab'; WHILE (true) { LET $x = ${text}; }`;
const columns = ['a', 'b', 'c'].map(name => `text.lpad('', 6000000) AS ${name}`).join();
const patterns = "'(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)'";

/** Language, statement, code of the refusal, and the limit that it names. */
const bombs: readonly (readonly [string, string, string, RegExp])[] = [
  ['cypher', "RETURN reduce(s = 'x', i IN range(1, 99) | s + s)", 'query.memory', /ValueSizeMax/],
  ['cypher', 'RETURN reduce(s = [1], i IN range(1, 99) | s + s)', 'query.memory', /ValueSizeMax/],
  ['cypher', 'RETURN reduce(s = [1], i IN range(1, 99) | [s, s])', 'query.memory', /ValueSize/],
  [
    'cypher',
    'RETURN reduce(s = {}, i IN range(1, 99) | {a: s, b: s})',
    'query.memory',
    /ValueSize/,
  ],
  ['cypher', 'RETURN reduce(s = [], i IN range(1, 9999) | [s])', 'query.memory', /2000 levels/],
  ['cypher', 'RETURN [a IN range(1, 9999) | range(1, 9999)]', 'query.memory', /ValueSizeMax/],
  ['cypher', 'RETURN range(1, 100000000)', 'query.memory', /at most 4000000/],
  [
    'cypher',
    'UNWIND range(1, 900000) AS a UNWIND [1, 2, 3] AS b RETURN collect(a)',
    'query.memory',
    /queryMemoryMax/,
  ],
  [
    'cypher',
    'UNWIND range(1, 900000) AS a UNWIND [1, 2, 3] AS b WITH a ORDER BY a RETURN a',
    'query.memory',
    /MemoryMax/,
  ],
  [
    'cypher',
    'UNWIND range(1, 500) AS a WITH a, range(a, 9999) AS l ORDER BY a RETURN l',
    'query.memory',
    /Max/,
  ],
  ['sql', "SELECT text.lpad('', 2000000000)", 'argument', /16777216 are allowed/],
  ['sql', `SELECT ${columns}`, 'query.memory', /row of the answer/],
  ['sqlscript', repeated('$x + $x'), 'query.memory', /ValueSizeMax/],
  ['sqlscript', repeated('[$x, $x]'), 'query.memory', /ValueSizeMax/],
  ['sqlscript', repeated('coll.unionAll($x, $x)'), 'query.memory', /ValueSizeMax/],
  ['sqlscript', repeated("encode($x, 'base64')"), 'query.memory', /ValueSizeMax/],
  ['sqlscript', 'WHILE (true) { LET $x = 1; }', 'query.timeout', /500 ms/],
  ['sql', 'SELECT util.sleep(100000)', 'query.timeout', /500 ms/],
  [
    'cypher',
    'UNWIND range(1, 900000) AS a UNWIND range(1, 999) AS b RETURN sum(a)',
    'query.timeout',
    /./,
  ],
];

let world: ServiceWorld;
let database: TestDatabase;
/** Its statements may run half a second. */
let hurried: TestDatabase;

before(async () => {
  world = await ServiceWorld.open({
    'svc.queryMemoryMax': '32MB',
    'svc.queryValueSizeMax': '16MB',
  });
  database = await world.database(['CREATE DOCUMENT TYPE D']);
  hurried = await world.database(['ALTER DATABASE `svc.command.timeout` 500']);
});

after(() => world.close());

for (const [language, text, code, says] of bombs) {
  test(`${code}: ${text.slice(0, 80)}`, async () => {
    await assert.rejects(
      (code === 'query.timeout' ? hurried : database).run(text, {language}),
      (error: unknown) =>
        error instanceof Refusal && error.code === code && says.test(error.message),
    );
    assert.equal(world.service.load.queryMemoryBytes, 0);
  });
}

const parentheses = (levels: number): string => `${'('.repeat(levels)}1${')'.repeat(levels)}`;

test('a statement may be long and have many parameters, and nest so deep', async () => {
  const positions = Array.from({length: 10_000}, (_, at) => at);
  const parameters = new Map(positions.map(at => [String(at), at]));
  const asked = `SELECT [${positions.map(() => '?').join()}].size() AS n`;
  assert.deepEqual(await database.run(asked, {parameters}), [{n: 10_000}]);
  const text = `SELECT '${'x'.repeat(1 << 20)}'.length() AS n`;
  assert.deepEqual(await database.run(text), [{n: 1 << 20}]);
  const terms = Array.from({length: 20_000}, (_, at) => `(a = ${at} OR b = 'text of ${at}')`);
  const start = process.threadCpuUsage();
  assert.deepEqual(await database.run(`SELECT FROM D WHERE ${terms.join(' AND ')}`), []);
  // Half a second; 25 when each of them is held against all others.
  const {user} = process.threadCpuUsage(start);
  assert.ok(user < 10e6, `${user / 1e6} s of processor time`);
  assert.deepEqual(await database.run(`SELECT ${parentheses(490)} AS n`), [{n: 1}]);
  await assert.rejects(database.run(`SELECT ${parentheses(501)} AS n`), {
    code: 'sql.syntax',
    message: /deeper than 500 levels/,
  });
});

test('walks of a dense graph end at a limit, however deep they may go', async () => {
  await hurried.run('CREATE VERTEX TYPE N');
  await hurried.run('CREATE EDGE TYPE E');
  await hurried.run(`INSERT INTO N (n) VALUES ${Array.from({length: 30}, () => '(0)').join()}`);
  await hurried.run('CREATE EDGE E FROM (SELECT FROM N) TO (SELECT FROM N)');
  const reached = 'SELECT count(*) AS n FROM (TRAVERSE out() FROM N MAXDEPTH 1000000)';
  assert.deepEqual(await hurried.run(reached), [{n: 30}]);
  for (const bound of ['maxDepth: 1000000', 'while: (true)', 'while: ($depth < 1000000)']) {
    await assert.rejects(
      hurried.run(`MATCH {type: N, as: a}.out(){as: b, ${bound}} RETURN count(*) AS n`),
      (error: unknown) => error instanceof Refusal && /queryMemoryMax|500 ms/.test(error.message),
    );
    assert.equal(world.service.load.queryMemoryBytes, 0);
  }
});

test('a view reads no view that reads it', async () => {
  await assert.rejects(database.run('CREATE MATERIALIZED VIEW W AS SELECT FROM W'), {
    code: 'schema.unknown-type',
  });
  await database.run('CREATE MATERIALIZED VIEW A AS SELECT n FROM D REFRESH INCREMENTAL');
  await database.run('CREATE MATERIALIZED VIEW B AS SELECT n FROM A REFRESH INCREMENTAL');
  // What B reads stays what it is, so there is no way round to itself.
  await assert.rejects(database.run('DROP MATERIALIZED VIEW A'));
  await assert.rejects(database.run('CREATE MATERIALIZED VIEW A AS SELECT n FROM B'));
});

test('functions and triggers that lead to themselves end, and leave nothing', async () => {
  const own = await world.database([
    'CREATE DOCUMENT TYPE R',
    'DEFINE FUNCTION lib.f "SELECT lib.f(:n + 1) AS x" PARAMETERS [n] LANGUAGE sql',
    'DEFINE FUNCTION lib.g "RETURN lib.h($n) AS x" PARAMETERS [n] LANGUAGE opencypher',
    'DEFINE FUNCTION lib.h "RETURN lib.g($n) AS x" PARAMETERS [n] LANGUAGE opencypher',
    'DEFINE FUNCTION lib.w "INSERT INTO R SET n = lib.w(:n)" PARAMETERS [n] LANGUAGE sql',
    "CREATE TRIGGER t AFTER CREATE ON TYPE R EXECUTE SQL 'INSERT INTO R SET n = 2'",
  ]);
  for (const text of [
    'SELECT lib.f(1) AS x',
    'SELECT lib.g(1) AS x',
    'SELECT lib.w(1) AS x',
    'INSERT INTO R SET n = 1',
  ]) {
    await assert.rejects(own.run(text), {code: 'limit.depth', message: /32 deep/}, text);
    assert.equal(world.service.load.queryMemoryBytes, 0);
  }
  assert.deepEqual(await own.run('SELECT FROM R'), []);
});

test('a statement that is longer than the server reads is refused by its length', async () => {
  await assert.rejects(database.run(`SELECT '${'x'.repeat(4 << 20)}' AS a`), {
    code: 'sql.syntax',
    message: /characters; at most \d+ are read/,
  });
});

test('a statement of many columns is refused, of few of them in many keys it is not', async () => {
  const columns = Array.from({length: 4_000}, (_, n) => `a${n}`).join(', ');
  await assert.rejects(database.run(`SELECT ${columns}, ${columns} FROM D`), {
    code: 'sql.syntax',
    message: /more than 4096 columns/,
  });
  const rows = await database.run(`SELECT count(*) AS n FROM D GROUP BY ${columns} ORDER BY n`);
  assert.ok(rows.length <= 1);
});

test('a pattern answers in bounded time, whatever its alternatives', async () => {
  const text = 'a'.repeat(40);
  const tests = [`'${text}!' MATCHES ${patterns}`, `:long MATCHES '(a|aa)*(a|aa)*b'`];
  for (const each of tests) {
    const parameters = new Map([['long', 'a'.repeat(100_000)]]);
    assert.deepEqual(await database.run(`SELECT ${each} AS m`, {parameters}), [{m: false}]);
  }
  await database.run(`CREATE PROPERTY D.p STRING (regexp '${'(a|aa)'.repeat(30)}')`);
  await assert.rejects(database.run(`INSERT INTO D SET p = '${text}${text}!'`), /regular expr/);
});

test('statements hold only so much together, and the next one waits for its turn', async () => {
  const small = await ServiceWorld.open({
    'svc.queryMemoryTotalMax': '8MB',
    'svc.queryMaxConcurrent': '4',
    'svc.queryQueueTimeout': '50',
  });
  try {
    const db = await small.database([]);
    const sorted = (rows: number): string =>
      `UNWIND range(1, ${rows}) AS a WITH a ORDER BY a RETURN a`;
    const cypher = {language: 'cypher'};
    await assert.rejects(
      db.run(sorted(1_000_000), cypher),
      (error: unknown) => error instanceof Refusal && error.code === 'query.memory-total',
    );
    const request = {...db.request(sorted(150_000)), ...cypher, limit: -1};
    const cursor = await small.service.run(root, request);
    const held = small.service.load.queryMemoryBytes;
    assert.ok(held > 1 << 20, `${held} bytes are counted while rows wait to be read`);
    cursor.close();
    assert.equal(small.service.load.queryMemoryBytes, 0);
  } finally {
    await small.close();
  }
});

test('a view is filled in its turn among the statements', async () => {
  const narrow = await ServiceWorld.open({
    'svc.queryMaxConcurrent': '1',
    'svc.queryQueueTimeout': '100',
  });
  try {
    const db = await narrow.database(['CREATE DOCUMENT TYPE D', 'INSERT INTO D SET n = 1']);
    const create = 'CREATE MATERIALIZED VIEW V AS SELECT n FROM D REFRESH MANUAL';
    await db.run(create);
    const endless = 'UNWIND range(1, 900000) AS a UNWIND range(1, 999) AS b RETURN sum(a)';
    const ending = new AbortController();
    const {signal} = ending;
    const running = assert.rejects(db.run(endless, {language: 'cypher', signal}));
    const full = (error: unknown): boolean =>
      error instanceof Refusal && error.code === 'admission.full';
    await assert.rejects(db.run('REFRESH MATERIALIZED VIEW V'), full);
    await assert.rejects(db.run(create.replace('VIEW V', 'VIEW W')), full);
    ending.abort();
    await running;
    await db.run('REFRESH MATERIALIZED VIEW V');
    await db.run(create.replace('VIEW V', 'VIEW W'));
  } finally {
    await narrow.close();
  }
});
