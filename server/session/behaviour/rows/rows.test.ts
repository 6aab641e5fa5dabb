/** Rows as values and as a protocol's own bytes, and what a statement tells before it runs. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {RowEncoding} from '#server/model/row-encoding.ts';
import {jsonText} from '#server/model/json.ts';
import {Decimal, Double, PathValue, RecordValue, type Value} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import {closing} from '#server/testing/closing.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import type {RowCursor, RowsRequest, StatementDescription} from '../../session.ts';

const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.name STRING',
  'CREATE PROPERTY Person.age INTEGER',
  'CREATE INDEX ON Person (name) UNIQUE',
  'CREATE EDGE TYPE Knows',
  "INSERT INTO Person SET name = 'Ada', age = 36, free = 1.5",
  "INSERT INTO Person SET name = 'Bob', age = 7",
  "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'Ada') " +
    "TO (SELECT FROM Person WHERE name = 'Bob') SET since = 1999",
];

async function open(): Promise<TestDatabase> {
  const world = closing(await ServiceWorld.open());
  return world.database(schema);
}

async function rowsOf(
  database: TestDatabase,
  text: string,
  more: Partial<RowsRequest> = {},
): Promise<RowCursor> {
  return closing(await database.service.rows(root, {...database.request(text), ...more}));
}

test('columns come before the first row, and rows in portions of the size asked', async () => {
  const database = await open();
  const text = 'UNWIND range(1, 2500) AS n RETURN n, n * 2 AS twice';
  const cursor = await rowsOf(database, text, {language: 'cypher', limit: 0});
  assert.deepEqual(cursor.columns, ['n', 'twice']);
  assert.deepEqual(await cursor.next(2), [
    [1, 2],
    [2, 4],
  ]);
  assert.equal((await cursor.next(2_000)).length, 2_000);
  const rest = await cursor.next(2_000);
  assert.equal(rest.length, 498);
  assert.deepEqual(rest.at(-1), [2_500, 5_000]);
  assert.deepEqual(await cursor.next(1), []);
  assert.equal(cursor.summary.returned, 2_500);
  const none = await rowsOf(database, 'SELECT name FROM Person WHERE age > 99');
  assert.deepEqual([none.columns, await none.next(10)], [['name'], []]);
});

test('every kind of value comes back as it was', async () => {
  const database = await open();
  const given: Value[] = [
    null,
    true,
    7,
    2n ** 62n,
    new Double(5),
    new Decimal(150n, 2),
    'text "with" quotes\u0001',
    Uint8Array.of(1, 2, 255),
    [1, [new Double(2), 'x'], new Map<string, Value>([['k', null]])],
    new Map<string, Value>([
      ['', 1],
      ['inner', new Map<string, Value>([['list', [true]]])],
    ]),
  ];
  const columns = given.map((_value, at) => `:p${at} AS c${at}`).join();
  const parameters = new Map(given.map((value, at) => [`p${at}`, value]));
  const cursor = await rowsOf(database, `SELECT ${columns} FROM Person LIMIT 1`, {parameters});
  const [row] = await cursor.next(5);
  assert.deepEqual(row, given);
  const days = "RETURN date('2024-05-06') AS d, duration('P1DT2H') AS w, point({x: 1, y: 2}) AS p";
  const byJson = await database.run(days, {language: 'cypher'});
  const dates = await rowsOf(database, days, {language: 'cypher'});
  const [values = []] = await dates.next(1);
  const texts = values.map(value => JSON.parse(jsonText(value)) as unknown);
  assert.deepEqual(texts, Object.values(byJson[0] ?? {}));
});

test('records, edges, paths and lists of them are records again', async () => {
  const database = await open();
  const language = 'cypher';
  const text = 'MATCH p = (a)-[k:Knows]->(b) RETURN a, k, p, collect(b) AS all';
  const cursor = await rowsOf(database, text, {language});
  const [row = []] = await cursor.next(5);
  const [ada, knows, path, list] = row;
  assert.ok(ada instanceof RecordValue && knows instanceof RecordValue);
  assert.deepEqual(
    [ada.kind, ada.typeName, ada.get('name'), ada.get('age')],
    ['vertex', 'Person', 'Ada', 36],
  );
  assert.equal(ada.properties().get('free'), 1.5);
  assert.equal(knows.kind, 'edge');
  assert.deepEqual([knows.from, knows.get('since')], [ada.rid, 1999]);
  assert.ok(path instanceof PathValue);
  assert.equal(path.elements.length, 3);
  assert.ok(Array.isArray(list) && list[0] instanceof RecordValue);
  assert.deepEqual([list[0].get('name'), knows.to], ['Bob', list[0].rid]);
  const whole = await rowsOf(database, "SELECT FROM Person WHERE name = 'Bob'");
  assert.equal(whole.columns, undefined);
  const [[bob] = []] = await whole.next(1);
  assert.ok(bob instanceof RecordValue);
  assert.equal(bob.get('age'), 7);
});

test('writes and commands answer typed rows as well', async () => {
  const database = await open();
  const insert = await rowsOf(database, "INSERT INTO Person SET name = 'Cleo' RETURN @this");
  const [[made] = []] = await insert.next(1);
  assert.ok(made instanceof RecordValue || made instanceof Map);
  const command = await rowsOf(database, 'CREATE DOCUMENT TYPE Later');
  const [[row] = []] = await command.next(1);
  assert.ok(row instanceof Map);
  assert.equal(row.get('typeName'), 'Later');
  const script = await rowsOf(database, 'LET $a = 5; RETURN $a', {language: 'sqlscript'});
  assert.deepEqual(await script.next(5), [[5]]);
});

/** Rows as a protocol of its own might want them: a length and the texts. */
const lengths: RowEncoding = {
  name: 'lengths',
  begin: columns => ({
    row(out, values) {
      const texts = values.map(value => jsonText(value));
      out.ascii(`${columns?.length ?? 0}:${texts.join('|')};`);
    },
  }),
};

test('a protocol brings its own encoding; nothing stands between its rows', async () => {
  const database = await open();
  const run = async (text: string): Promise<string> => {
    const request = {...database.request(text), format: lengths};
    const cursor = closing(await database.service.run(root, request));
    let answer = '';
    for (let piece = await cursor.next(); piece; piece = await cursor.next()) {
      answer += piece.toString('utf8');
    }
    return answer;
  };
  assert.equal(await run('SELECT name, age FROM Person ORDER BY name'), '2:"Ada"|36;2:"Bob"|7;');
  assert.match(await run("UPDATE Person SET age = 8 WHERE name = 'Bob'"), /^[01]:.*1.*;$/);
  assert.equal(await run('SELECT name FROM Person WHERE age > 99'), '');
});

const describe = (
  database: TestDatabase,
  text: string,
  who: Principal = root,
  language = 'sql',
): Promise<StatementDescription> =>
  database.service.prepare(who, {...database.request(text), language});

test('a prepared statement tells its columns and parameters with their types', async () => {
  const database = await open();
  assert.deepEqual(
    await describe(
      database,
      'SELECT name, age + 1 AS next FROM Person WHERE name = :n AND age > :a',
    ),
    {
      writes: false,
      columns: [
        {name: 'name', type: 'STRING'},
        {name: 'next', type: undefined},
      ],
      parameters: [
        {name: 'a', type: 'INTEGER'},
        {name: 'n', type: 'STRING'},
      ],
    },
  );
  const insert = await describe(database, 'INSERT INTO Person SET name = ?, age = ?, other = ?');
  assert.equal(insert.writes, true);
  assert.deepEqual(insert.parameters, [
    {name: '0', type: 'STRING'},
    {name: '1', type: 'INTEGER'},
    {name: '2', type: undefined},
  ]);
  const matched = 'MATCH (p:Person) WHERE p.age < $top RETURN p.name AS name, count(*) AS c';
  assert.deepEqual(await describe(database, matched, root, 'cypher'), {
    writes: false,
    columns: [
      {name: 'name', type: undefined},
      {name: 'c', type: 'LONG'},
    ],
    parameters: [{name: 'top', type: 'INTEGER'}],
  });
  assert.equal((await describe(database, 'SELECT FROM Person')).columns, undefined);
  assert.deepEqual(await describe(database, 'CREATE DOCUMENT TYPE Never'), {
    writes: true,
    columns: undefined,
    parameters: [],
  });
  await assert.rejects(describe(database, 'SELECT FROM'), Refusal);
});

test('of a type that may not be read nothing is told', async () => {
  const database = await open();
  const groups = [{access: new Set([]), types: new Map(), resultSetLimit: -1, readTimeout: -1}];
  const [rights] = groups;
  assert.ok(rights);
  const grants = new Map([[database.name, []]]);
  const stranger: Principal = {name: 'apitoken:x', root: false, grants, rights};
  const {columns, parameters} = await describe(
    database,
    'SELECT name FROM Person WHERE age = :a',
    stranger,
  );
  assert.deepEqual(columns, [{name: 'name', type: undefined}]);
  assert.deepEqual(parameters, [{name: 'a', type: undefined}]);
  const other: Principal = {name: 'nobody', root: false, grants: new Map()};
  await assert.rejects(describe(database, 'SELECT 1', other), Refusal);
});
