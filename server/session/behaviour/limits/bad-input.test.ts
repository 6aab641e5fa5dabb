/**
 * What does not fit is refused with a sentence that says why, or has a correct result: values out
 * of range, names, shapes of the schema, types that are in use.
 *
 * Elsewhere: NaN, infinities and keys over the limit in index-variants.test.ts; clocks that jump in
 * transactions/transaction.test.ts; statements and requests in testing/hostile.
 */
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

const parametersOf = (
  values: Readonly<Record<string, Value>>,
): {parameters: Map<string, Value>} => ({
  parameters: new Map(Object.entries(values)),
});

const big = 2n ** 63n;

for (const [type, least, most, beyond] of [
  ['BYTE', -128, 127, [-129, 128, 1e30, Infinity, NaN]],
  ['SHORT', -32_768, 32_767, [-32_769, 32_768, Infinity]],
  ['INTEGER', -(2 ** 31), 2 ** 31 - 1, [-(2 ** 31) - 1, 2 ** 31, 1e30, NaN]],
  ['LONG', -big, big - 1n, [1e19, -1e19, Infinity, NaN]],
  ['FLOAT', -3.4e38, 3.4e38, [3.5e38, 1e300]],
] as const) {
  test(`${type}: its bounds fit, and what lies beyond is refused`, async () => {
    const database = await world.database([
      'CREATE DOCUMENT TYPE T',
      `CREATE PROPERTY T.v ${type}`,
    ]);
    for (const v of [least, most])
      await database.run('INSERT INTO T SET v = :v', parametersOf({v}));
    for (const v of beyond) {
      await assert.rejects(
        database.run('INSERT INTO T SET v = :v', parametersOf({v})),
        {code: 'value.type', message: new RegExp(`does not fit into 'T.v' of type ${type}`)},
        String(v),
      );
    }
    assert.equal((await database.run('SELECT FROM T')).length, 2);
  });
}

test('numbers that are no numbers of any type, and dates of no calendar', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.d DATE',
    'CREATE PROPERTY T.s ARRAY_OF_SHORTS',
  ]);
  for (const [statement, code] of [
    ['INSERT INTO T SET v = 9223372036854775808', 'sql.syntax'],
    ['INSERT INTO T SET v = 1e309', 'sql.syntax'],
    ['INSERT INTO T SET v = #4294967296:0', 'sql.syntax'],
    ["INSERT INTO T SET d = '2023-02-29'", 'value.type'],
    ["INSERT INTO T SET d = 'tomorrow'", 'value.type'],
    ['INSERT INTO T SET s = [32768]', 'value.type'],
    ['SELECT 9223372036854775807 + 1', 'arithmetic'],
  ] as const) {
    await assert.rejects(database.run(statement), {code}, statement);
  }
});

test('65,535 properties are kept, one more is refused', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE T']);
  const record = (count: number): {parameters: Map<string, Value>} =>
    parametersOf({c: new Map(Array.from({length: count}, (_, n) => [`p${n}`, n]))});
  await database.run('INSERT INTO T CONTENT :c', record(65_535));
  const [row] = await database.run('SELECT p0, p65534 FROM T WHERE p40000 = 40000');
  assert.deepEqual(row, {p0: 0, p65534: 65_534});
  await assert.rejects(database.run('INSERT INTO T CONTENT :c', record(65_536)), {
    code: 'limit.record',
    message: /at most 65535 properties/,
  });
});

const scripts = [
  'Ünïcode',
  'имя',
  'όνομα',
  '名前',
  '이름',
  'اسم',
  'שם',
  'नाम',
  'ชื่อ',
  'አማርኛ',
  'ᚠᚢᚦ',
  '𝒳𝒴',
  '😀👍🏽',
  'می‌خواهم',
];

test('names in every script name types, properties, indexes and buckets', async () => {
  const database = await world.database([]);
  for (const name of scripts) {
    await database.run(`CREATE VERTEX TYPE \`${name}\` BUCKET \`${name}\``);
    await database.run(`CREATE PROPERTY \`${name}\`.\`${name}\` STRING`);
    await database.run(`CREATE INDEX ON \`${name}\` (\`${name}\`) UNIQUE`);
    await database.run(`CREATE VERTEX \`${name}\` SET \`${name}\` = '${name}'`);
    const where = `WHERE \`${name}\` = '${name}'`;
    const sql = `SELECT \`${name}\` AS v FROM \`${name}\` ${where}`;
    const cypher = `MATCH (n:\`${name}\` {\`${name}\`: '${name}'}) RETURN n.\`${name}\` AS v`;
    assert.deepEqual(await database.run(sql), [{v: name}]);
    assert.deepEqual(await database.run(cypher, {language: 'cypher'}), [{v: name}]);
    const [entry] = await database.run(`SELECT key FROM index:\`${name}[${name}]\``);
    assert.deepEqual(entry, {key: [name]});
  }
});

test('names that differ in case are different names', async () => {
  const database = await world.database([]);
  const names = [
    'item',
    'Item',
    'ITEM',
    'straße',
    'STRASSE',
    'ı',
    'i',
    'I',
    'İ',
    'ſ',
    's',
    'K',
    'k',
  ];
  for (const name of names) {
    await database.run(`CREATE DOCUMENT TYPE \`${name}\``);
    await database.run(`INSERT INTO \`${name}\` SET \`${name}\` = '${name}'`);
  }
  for (const name of names) {
    assert.deepEqual(await database.run(`SELECT \`${name}\` AS v FROM \`${name}\``), [{v: name}]);
  }
  await assert.rejects(database.run('SELECT FROM iTEM'), {
    code: 'schema.unknown-type',
    message: /did you mean '(item|Item|ITEM)'/,
  });
});

test('names that nobody could tell from another are refused', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE T']);
  for (const [name, message] of [
    ['e\u0301te\u0301', /written as one \(NFC\): 'été'/],
    ['\u212bngstr\u00f6m', /written as one \(NFC\)/],
    ['a\u200bb', /character that nobody sees/],
    ['\u202egnp', /character that nobody sees/],
    ['a\u2028b', /character that nobody sees/],
    ['\ufefftype', /character that nobody sees|begins or ends with a blank/],
    ['half \ud83d', /character that nobody sees/],
    ['a\u0007b', /character that names cannot have/],
    [' a', /begins or ends with a blank/],
    ['a/b', /character that names cannot have/],
    ['x'.repeat(257), /more than 256 characters/],
    ['@type', /@ is reserved/],
  ] as const) {
    for (const statement of [
      `CREATE DOCUMENT TYPE \`${name}\``,
      `CREATE PROPERTY T.\`${name}\` STRING`,
      `ALTER TYPE T NAME \`${name}\``,
    ]) {
      await assert.rejects(database.run(statement), {code: 'argument', message}, statement);
    }
  }
  for (const half of ['\ud800', 'a\udc00']) {
    await assert.rejects(
      database.run('INSERT INTO T CONTENT :c', parametersOf({c: new Map([[half, 1]])})),
      {code: 'argument', message: /half a character/},
    );
  }
});

test('no type is its own ancestor, on any way', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE A',
    'CREATE DOCUMENT TYPE B EXTENDS A',
    'CREATE DOCUMENT TYPE C EXTENDS B',
  ]);
  for (const above of ['A', 'B', 'C']) {
    await assert.rejects(database.run(`ALTER TYPE A SUPERTYPE +${above}`), {
      code: 'schema.conflict',
      message: new RegExp(`'A' cannot be below itself \\(through '${above}'\\)`),
    });
  }
  await assert.rejects(database.run('CREATE DOCUMENT TYPE Z EXTENDS Z'), /'Z' was not found/);
  await database.run('ALTER TYPE C SUPERTYPE +A');
  await database.run('INSERT INTO C SET n = 1');
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM A'), [{n: 1}]);
});

test('a type in use is dropped only where that leaves nothing wrong behind', async () => {
  const database = await world.database([
    'CREATE VERTEX TYPE V',
    'CREATE EDGE TYPE E',
    'CREATE DOCUMENT TYPE Address',
    'CREATE DOCUMENT TYPE Person',
    'CREATE PROPERTY Person.home EMBEDDED OF Address',
    'CREATE PROPERTY Address.next LINK OF Address',
    'CREATE VERTEX V',
    'CREATE VERTEX V',
    'CREATE EDGE E FROM #1:0 TO #1:1',
    'CREATE DOCUMENT TYPE Source',
    'CREATE MATERIALIZED VIEW Seen AS SELECT FROM Source',
  ]);
  for (const [statement, message] of [
    ['DROP TYPE V', /type 'V' holds vertices/],
    ['DROP TYPE E', /type 'E' holds edges/],
    ['DROP TYPE Address', /property 'Person.home' holds values OF type 'Address'/],
    ['DROP TYPE Source', /the materialized view 'Seen' reads it/],
    ['DROP TYPE Seen', /holds the records of a materialized view/],
    ['DROP BUCKET V_0', /bucket 'V_0' is used by type 'V'/],
  ] as const) {
    await assert.rejects(database.run(statement), {message}, statement);
  }
  await database.run('DROP TYPE Address UNSAFE');
  await database.run("INSERT INTO Person SET home = {'@type': 'Other', 'street': 'x'}");
  await database.run('DROP TYPE E UNSAFE');
  assert.deepEqual(await database.run('SELECT out().size() AS n FROM #1:0'), [{n: 0}]);
  await database.run('DROP TYPE V UNSAFE');
  assertWhole(database);
});

function assertWhole(database: TestDatabase): void {
  const {database: opened, schema} = world.service.databaseSession(root, database.name);
  const reader = opened.read();
  assertIntegrity(reader, schema.context);
  reader.close();
}

test('a renamed type is what properties were declared OF', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE Address',
    'CREATE DOCUMENT TYPE Person',
    'CREATE PROPERTY Person.home EMBEDDED OF Address',
    'ALTER TYPE Address NAME Place',
    "INSERT INTO Person SET home = {'street': 'x'}",
  ]);
  assert.deepEqual(await database.run("SELECT home['@type'] AS t FROM Person"), [{t: 'Place'}]);
  await assert.rejects(database.run("INSERT INTO Person SET home = {'@type': 'Person'}"), {
    code: 'value.type',
    message: /no 'Place'/,
  });
});

test('a type renamed during a long scan: the scan ends as it began', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE Long']);
  const rows = Array.from({length: 5_000}, (_, n) => `(${n})`).join(', ');
  for (let n = 0; n < 4; n += 1) await database.run(`INSERT INTO Long (n) VALUES ${rows}`);
  const request = {...database.request('SELECT FROM Long'), format: 'ndjson', limit: -1} as const;
  const cursor = await world.service.run(root, request);
  let text = (await cursor.next())?.toString() ?? '';
  const early = text.split('\n').length;
  assert.ok(early < 20_000, 'the scan is not over');
  await database.run('ALTER TYPE Long NAME Short');
  await assert.rejects(database.run('SELECT FROM Long'), {code: 'schema.unknown-type'});
  for (let piece = await cursor.next(); piece; piece = await cursor.next())
    text += piece.toString();
  cursor.close();
  const types = text
    .trim()
    .split('\n')
    .map(line => /"@type":"(\w+)"/.exec(line)?.[1]);
  assert.deepEqual([...new Set(types)], ['Long']);
  assert.equal(types.length, 20_000);
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM Short'), [{n: 20_000}]);
});

test('a statement of thousands of steps is refused, one of hundreds runs', async () => {
  const database = await world.database(['CREATE VERTEX TYPE V']);
  const steps = (text: string, count: number): string => Array(count).fill(text).join(' ');
  const cypher = (text: string) => database.run(text, {language: 'cypher'});

  await cypher(steps('CREATE (:V)', 300));
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM V'), [{n: 300}]);
  for (const [head, step, tail] of [
    ['', 'CREATE (:V)', ''],
    ['', 'MERGE (:V {n: 1})', ''],
    ['', 'FOREACH (x IN [] | CREATE (:V))', ''],
    ['WITH 1 AS a', 'WITH a + 1 AS a', 'RETURN a'],
    ['MATCH (a:V)', 'OPTIONAL MATCH (a)-->()', 'RETURN a'],
  ] as const) {
    await assert.rejects(cypher(`${head} ${steps(step, 4_000)} ${tail}`), {
      code: 'limit.depth',
      message: /at most 4000/,
    });
  }
});
