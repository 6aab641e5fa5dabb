/**
 * External and compressed properties: whatever is asked answers as if there were no such
 * attributes, while records of either form lie beside each other.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {digestDatabase} from '#server/integrity/digest.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const long = 'abc '.repeat(1_000);
const requests = [
  [],
  ['external true'],
  ["compression 'auto'"],
  ["compression 'lz4'"],
  ["external true, compression 'auto'"],
] as const;

async function isSound(database: TestDatabase): Promise<void> {
  const [row] = await database.run('CHECK DATABASE');
  assert.deepEqual((row as {findings: unknown}).findings, []);
}

/** What a statement answers, or the code of its refusal. */
async function answer(database: TestDatabase, text: string): Promise<string> {
  try {
    return JSON.stringify(await database.run(text));
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

const history = [
  `INSERT INTO Doc SET n = 1, text = '${long}1', key = 'k1', list = ['a', 'b'], empty = ''`,
  `INSERT INTO Doc SET n = 2, text = '${long}2', key = 'k2', list = ['b'], empty = null`,
  `INSERT INTO Sub SET n = 3, text = 'short', key = 'k3', more = '${long}3'`,
  "INSERT INTO Doc SET n = 4, key = 'k1'",
  'CREATE EDGE Cites FROM (SELECT FROM Doc WHERE n = 1) TO (SELECT FROM Doc WHERE n = 2)',
  'CREATE EDGE Cites FROM (SELECT FROM Doc WHERE n = 2) TO (SELECT FROM Doc WHERE n = 3)',
  "UPDATE Doc SET key = 'x2' RETURN BEFORE WHERE n = 2",
  'UPDATE Doc SET m = n RETURN AFTER WHERE n < 3',
  'UPDATE Doc REMOVE text WHERE n = 3',
  `UPDATE Doc SET text = '${long}new' WHERE key = 'k3'`,
  "MOVE VERTEX (SELECT FROM Doc WHERE n = 2) TO TYPE:Sub SET text = 'moved'",
  'DELETE VERTEX Doc WHERE n = 1',
  'INSERT INTO Doc SET n = 5, text = (SELECT text FROM Doc WHERE n = 3)[0].text',
];

const questions = [
  'SELECT FROM Doc ORDER BY n',
  'SELECT *, n AS other FROM Doc ORDER BY n',
  'SELECT n, key, text.length() AS length, empty FROM Doc ORDER BY n',
  "SELECT n FROM Doc WHERE key = 'x2' OR key = 'k3'",
  "SELECT n FROM Doc WHERE list CONTAINS 'b'",
  `SELECT n FROM Doc WHERE text = '${long}new'`,
  'SELECT count(*) AS n, max(text) AS t FROM Doc WHERE text > "a"',
  'SELECT text.length() AS l, count(*) AS n FROM Doc GROUP BY l ORDER BY l',
  'SELECT n, out("Cites").key AS keys, out("Cites") AS them FROM Doc ORDER BY n',
  'SELECT @this.key AS k, @this.toJSON() AS j FROM Doc ORDER BY k',
  'SELECT set(key) AS keys FROM Doc',
  'MATCH {type: Doc, as: a} -Cites-> {as: b} RETURN a.key AS a, b.text AS t, b',
  'SELECT FROM (SELECT key, text FROM Doc) ORDER BY key',
  'TRAVERSE out("Cites") FROM (SELECT FROM Doc)',
];

test('answers are those without the attributes', async () => {
  const answers: string[][] = [];
  for (const [requested] of requests) {
    const attributes = requested === undefined ? '' : ` (${requested})`;
    const database = await world.database([
      'CREATE VERTEX TYPE Doc',
      'CREATE VERTEX TYPE Sub EXTENDS Doc',
      ...['text STRING', 'key STRING', 'list LIST', 'empty STRING'].map(
        property => `CREATE PROPERTY Doc.${property}${attributes}`,
      ),
      `CREATE PROPERTY Sub.more STRING${attributes}`,
      'CREATE INDEX ON Doc (key) UNIQUE',
      'CREATE INDEX ON Doc (list BY ITEM) NOTUNIQUE',
      'CREATE EDGE TYPE Cites',
    ]);
    const given: string[] = [];
    for (const text of [...history, ...questions]) given.push(await answer(database, text));
    await isSound(database);
    answers.push(given);
  }
  for (const given of answers) assert.deepEqual(given, answers[0]);
});

test('a change of the attributes holds for the next write of a record', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE Doc',
    'CREATE PROPERTY Doc.text STRING',
    ...[1, 2, 3].map(n => `INSERT INTO Doc SET n = ${n}, text = '${long}${n}'`),
    'ALTER PROPERTY Doc.text EXTERNAL true',
    'UPDATE Doc SET m = 1 WHERE n = 1',
    "ALTER PROPERTY Doc.text COMPRESSION 'auto'",
    'UPDATE Doc SET m = 1 WHERE n = 2',
  ]);
  const lengths = () => database.run('SELECT n, text.length() AS l FROM Doc ORDER BY n');
  const expected = [1, 2, 3].map(n => ({n, l: long.length + 1}));
  assert.deepEqual(await lengths(), expected);
  assert.deepEqual(await database.run('ALTER PROPERTY Doc.text EXTERNAL false'), [
    {
      operation: 'alter property',
      type: 'Doc',
      property: 'text',
      attribute: 'external',
      oldValue: true,
      newValue: false,
    },
  ]);
  await database.run("ALTER PROPERTY Doc.text COMPRESSION 'none'");
  await isSound(database);
  await database.run('UPDATE Doc SET m = 2 WHERE n = 1');
  assert.deepEqual(await lengths(), expected);
  await isSound(database);
  await database.run('DROP PROPERTY Doc.text');
  assert.deepEqual(await lengths(), expected);
  await database.run('DELETE FROM Doc WHERE n = 2');
  await isSound(database);
});

test('the schema shows the attributes, and refuses others', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE Doc',
    "CREATE PROPERTY Doc.a STRING (external true, compression 'lz4')",
    'CREATE PROPERTY Doc.b STRING (external false, compression none)',
  ]);
  const [type] = (await database.run("SELECT FROM schema:types WHERE name = 'Doc'")) as [
    {properties: readonly Readonly<Record<string, unknown>>[]},
  ];
  const shown = type.properties.map(({name, external, compression}) => [
    name,
    external,
    compression,
  ]);
  assert.deepEqual(shown, [
    ['a', true, 'lz4'],
    ['b', undefined, undefined],
  ]);
  const refused = (options: string) =>
    answer(database, `CREATE PROPERTY Doc.c STRING (${options})`);
  assert.equal(await refused("compression 'gzip'"), 'query.semantic');
  assert.equal(await refused('external 3'), 'query.semantic');
});

test('triggers, materialized views and a new partition have the whole record', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE Doc BUCKETS 3',
    "CREATE PROPERTY Doc.key STRING (external true, compression 'lz4')",
    'CREATE PROPERTY Doc.text STRING (external true)',
    'CREATE INDEX ON Doc (key) UNIQUE',
    'CREATE DOCUMENT TYPE Log',
    'CREATE TRIGGER t AFTER UPDATE ON TYPE Doc EXECUTE SQL ' +
      "'INSERT INTO Log SET was = $oldRecord.text, now = $record.text'",
    'CREATE MATERIALIZED VIEW Texts AS SELECT key, text FROM Doc WHERE n > 0',
    ...[1, 2, 3, 4].map(n => `INSERT INTO Doc SET n = ${n}, key = 'k${n}', text = 'text ${n}'`),
    "UPDATE Doc SET text = 'other' WHERE n = 2",
    'REFRESH MATERIALIZED VIEW Texts',
    "ALTER TYPE Doc BUCKETSELECTIONSTRATEGY `partitioned('key')`",
    'REBUILD TYPE Doc WITH repartition = true',
  ]);
  const texts = [
    {key: 'k1', text: 'text 1'},
    {key: 'k2', text: 'other'},
    {key: 'k3', text: 'text 3'},
    {key: 'k4', text: 'text 4'},
  ];
  assert.deepEqual(await database.run('SELECT key, text FROM Doc ORDER BY key'), texts);
  assert.deepEqual(await database.run('SELECT key, text FROM Texts ORDER BY key'), texts);
  const log = await database.run('SELECT was, now FROM Log');
  assert.deepEqual(log, [{was: 'text 2', now: 'other'}]);
  await isSound(database);
});

test('nothing stays behind when records go, one by one or all at once', async () => {
  const fill = ["INSERT INTO Doc SET text = 'x'", "INSERT INTO Doc SET text = 'y'"];
  const database = await world.database([
    'CREATE DOCUMENT TYPE Doc BUCKETS 2',
    'CREATE PROPERTY Doc.text STRING (external true)',
  ]);
  for (const ending of ['DELETE FROM Doc', 'TRUNCATE TYPE Doc', 'DROP TYPE Doc UNSAFE']) {
    for (const text of fill) await database.run(text);
    assert.ok(await hasBeside(database));
    await database.run(ending);
    await isSound(database);
    assert.ok(!(await hasBeside(database)), ending);
  }
});

async function hasBeside(database: TestDatabase): Promise<boolean> {
  const reader = world.stored(database).read();
  try {
    const digests = await digestDatabase(reader, () => Promise.resolve());
    return digests.some(({kind}) => kind === 'values');
  } finally {
    reader.close();
  }
}
