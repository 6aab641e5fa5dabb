/** Full-text indexes from SQL: what they find, when, and that the same is found without memory. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {statementRequest} from '../../statement-request.ts';

const world = await ServiceWorld.open();
const forgetful = world.another({'svc.searchMemoryMax': '0'});
after(async () => {
  await forgetful.close();
  await world.close();
});

const articles = [
  'CREATE DOCUMENT TYPE Art',
  'CREATE PROPERTY Art.title STRING',
  'CREATE PROPERTY Art.body STRING',
  'CREATE INDEX ON Art (title) FULL_TEXT',
  'CREATE INDEX ON Art (body) FULL_TEXT METADATA ' +
    '{"analyzer":"org.apache.lucene.analysis.en.EnglishAnalyzer"}',
  'CREATE INDEX ON Art (title, body) FULL_TEXT',
  "INSERT INTO Art SET title='Red apples and pears', " +
    "body='The quick brown foxes jumped over lazy dogs'",
  "INSERT INTO Art SET title='Green apple', body='A dog sleeps while the fox runs'",
  "INSERT INTO Art SET title='Blue whale song', body='Whales sing in the deep ocean'",
  "INSERT INTO Art SET title='Apple pie with apple sauce', body='Baking with apples'",
  "INSERT INTO Art SET title='Nothing here'",
];

async function titles(database: TestDatabase, condition: string): Promise<unknown[]> {
  const rows = await database.run(`SELECT title FROM Art WHERE ${condition} ORDER BY title`);
  return rows.map(({title}) => title);
}

const [pie, green, red, whale] = [
  'Apple pie with apple sauce',
  'Green apple',
  'Red apples and pears',
  'Blue whale song',
];

/** Recorded from the reference system. */
const recorded = [
  ["fulltext.searchIndex('Art[title]', 'apple') = true", [pie, green]],
  ["SEARCH_INDEX('Art[title]', 'apple') = true", [pie, green]],
  ["SEARCH_INDEX('Art[title]', '+apple -green') = true", [pie]],
  ["SEARCH_INDEX('Art[title]', 'apple AND pie') = true", [pie]],
  ["SEARCH_INDEX('Art[title]', 'whale OR pie') = true", [pie, whale]],
  [`SEARCH_INDEX('Art[title]', '"apple sauce"') = true`, [pie]],
  ["SEARCH_INDEX('Art[title]', 'appl*') = true", [pie, green, red]],
  ["SEARCH_INDEX('Art[title]', 'wh?le') = true", [whale]],
  ["SEARCH_INDEX('Art[title]', 'aple~1') = true", [pie, green]],
  ["SEARCH_INDEX('Art[title]', 'apple^3 pears') = true", [pie, green, red]],
  ["SEARCH_INDEX('Art[body]', 'dogs') = true", [green, red]],
  ["SEARCH_INDEX('Art[body]', 'baked') = true", [pie]],
  ["SEARCH_INDEX('Art[title,body]', 'body:whales') = true", [whale]],
  ["SEARCH_INDEX('Art[title,body]', 'title:apple AND body:dog') = true", [green]],
  ["SEARCH_FIELDS(['title'], 'apple') = true", [pie, green]],
  ["title CONTAINSTEXT 'apple'", [pie, green]],
] as const;

test('answers are those of the reference system', async () => {
  const database = await world.database(articles);
  for (const over of [database, database.over(forgetful)]) {
    for (const [condition, expected] of recorded) {
      assert.deepEqual(await titles(over, condition), [...expected].toSorted(), condition);
    }
    const scored = await over.run(
      "SELECT title, $score AS s FROM Art WHERE SEARCH_INDEX('Art[title]', 'apple') = true " +
        'ORDER BY $score DESC, title',
    );
    assert.deepEqual(scored, [
      {title: pie, s: 1.0393423},
      {title: green, s: 1.0341108},
    ]);
  }
  await assert.rejects(titles(database, "SEARCH_INDEX('Art[title]', '*ale') = true"), {
    code: 'search.syntax',
    message: /'\*' or '\?' not allowed as first character/,
  });
});

test('conditions beside a search, and searches in conditions of any form', async () => {
  const database = await world.database(articles);
  const apple = "SEARCH_INDEX('Art[title]', 'apple')";
  assert.deepEqual(await titles(database, `${apple} = true AND body LIKE '%dog%'`), [green]);
  assert.deepEqual(await titles(database, `${apple} = true OR title = 'Nothing here'`), [
    pie,
    green,
    'Nothing here',
  ]);
  assert.deepEqual(await titles(database, `NOT (${apple} = true) AND title LIKE '%e%'`), [
    whale,
    'Nothing here',
    red,
  ]);
});

test('a transaction finds its own writes, others those that are committed', async () => {
  const database = await world.database(articles);
  const transactionId = await world.service.begin(root, database.name);
  const inside = async (text: string): Promise<unknown[]> => {
    const request = {...statementRequest(database.name, text), transactionId};
    return await database.run(text, request);
  };
  const search = "SELECT title FROM Art WHERE SEARCH_INDEX('Art[title]', 'zebra apple') = true";
  await inside("INSERT INTO Art SET title='Zebra'");
  await inside("DELETE FROM Art WHERE title = 'Green apple'");
  await inside("UPDATE Art SET title = 'Apple crumble' WHERE title = 'Blue whale song'");
  const own = (await inside(search)) as {title: string}[];
  assert.deepEqual(own.map(({title}) => title).toSorted(), ['Apple crumble', pie, 'Zebra']);
  assert.deepEqual(await titles(database, "SEARCH_INDEX('Art[title]', 'zebra apple') = true"), [
    pie,
    green,
  ]);
  await world.service.commit(root, database.name, transactionId, undefined);
  assert.deepEqual(await titles(database, "SEARCH_INDEX('Art[title]', 'zebra apple') = true"), [
    'Apple crumble',
    pie,
    'Zebra',
  ]);
});

test('an index over records that are there is built, checked and dropped', async () => {
  const database = await world.database([
    ...articles.slice(0, 3),
    ...articles.slice(6),
    'CREATE INDEX ON Art (title) FULL_TEXT METADATA {"positions": true, "analyzer": "english"}',
  ]);
  assert.deepEqual(await titles(database, `SEARCH_INDEX('Art[title]', '"apple sauce"') = true`), [
    pie,
  ]);
  assert.deepEqual(
    await titles(database, `SEARCH_INDEX('Art[title]', '"sauce apple"') = true`),
    [],
  );
  const [checked] = await database.run('CHECK DATABASE');
  assert.equal(checked?.['totalErrors'], 0, JSON.stringify(checked));
  const [index] = await database.run("SELECT FROM schema:indexes WHERE name = 'Art[title]'");
  assert.equal(index?.['indexType'], 'FULL_TEXT');
  await database.run('DROP INDEX `Art[title]`');
  await assert.rejects(titles(database, "SEARCH_INDEX('Art[title]', 'apple') = true"), {
    code: 'schema.unknown-index',
  });
});

const refused = [
  ['CREATE INDEX ON T (a) FULL_TEXT METADATA {"analyser": "x"}', /Unknown METADATA key 'analyser'/],
  ['CREATE INDEX ON T (a) FULL_TEXT METADATA {"analyzer": "x"}', /'analyzer' is one of standard/],
  ['CREATE INDEX ON T (a) FULL_TEXT METADATA {"bm25_b": 2}', /'bm25_b' is a number from 0 to 1/],
  ['CREATE INDEX ON T (a) FULL_TEXT METADATA {"b_boost": 2}', /Unknown METADATA key 'b_boost'/],
  ['CREATE INDEX ON T (a) NOTUNIQUE METADATA {"analyzer": "x"}', /takes no METADATA/],
  ['CREATE INDEX ON T (n) FULL_TEXT', /'n' is neither/],
  ['CREATE INDEX ON T (a COLLATE CI) FULL_TEXT', /leave out COLLATE CI/],
  ['CREATE INDEX ON T (a) FULL_TEXT NULL_STRATEGY ERROR', /has NULL_STRATEGY SKIP/],
  ['CREATE INDEX IF NOT EXISTS ON T (b) FULL_TEXT METADATA {"positions": true}', /other METADATA/],
  ['SELECT FROM index:`T[b]`', /knows no order/],
] as const;

test('what an index cannot be is said', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.a STRING',
    'CREATE PROPERTY T.b STRING',
    'CREATE PROPERTY T.n INTEGER',
    'CREATE INDEX ON T (b) FULL_TEXT',
  ]);
  for (const [statement, message] of refused) {
    await assert.rejects(database.run(statement), {name: 'Refusal', message}, statement);
  }
});

test('a plan begins with the search, and takes no more than its LIMIT', async () => {
  const database = await world.database(articles);
  const plan = async (text: string): Promise<string> => {
    const cursor = await database.service.run(root, database.request(`EXPLAIN ${text}`));
    while ((await cursor.next()) !== undefined);
    cursor.close();
    return cursor.summary.explain ?? '';
  };
  const search = "SELECT title, $score AS s FROM Art WHERE SEARCH_INDEX('Art[title]', :q) = true";
  assert.match(
    await plan(`${search} ORDER BY $score DESC LIMIT 2`),
    /search Art\[title\] for :q by BM25 best 2 as/,
  );
  assert.match(await plan(`${search} ORDER BY s DESC SKIP 1 LIMIT 2`), /best \(?2 \+ 1/);
  assert.match(await plan(`${search} LIMIT 3`), /best 3/);
  assert.match(
    await plan(`${search} ORDER BY title LIMIT 3`),
    /search Art\[title\] for :q by BM25 as/,
  );
  assert.match(await plan(`${search} AND body LIKE '%a%' LIMIT 3`), /best 3 as .* where/);
  assert.match(await plan(`${search} AND $score > 1 LIMIT 3`), /for :q by BM25 as/);
});

test('with a plan of its own a search finds what it finds as a condition', async () => {
  const database = await world.database([
    ...articles,
    'CREATE DOCUMENT TYPE News EXTENDS Art',
    "INSERT INTO News SET title='Apple news', body='apple'",
  ]);
  const query = {parameters: new Map([['q', 'apple']])};
  for (const type of ['Art', 'News']) {
    const of = `SELECT title, $score AS s FROM ${type} WHERE `;
    for (const end of ['', ' AND body IS NOT NULL', ' LIMIT 2', ' ORDER BY $score DESC LIMIT 2']) {
      const planned = await database.run(`${of}SEARCH_INDEX('Art[title]', :q) = true${end}`, query);
      // The optimizer knows nothing of an index whose name is no literal.
      const parameters = new Map([...query.parameters, ['i', 'Art[title]']]);
      const asked = await database.run(
        `${of}SEARCH_INDEX(:i, :q) = true${end.replace('LIMIT 2', '')}`,
        {parameters},
      );
      const count = end.includes('LIMIT') ? Math.min(2, asked.length) : asked.length;
      assert.equal(planned.length, count, `${type}${end}`);
      const best = asked.toSorted((a, b) => Number(b['s']) - Number(a['s'])).slice(0, count);
      assert.deepEqual(planned, best, `${type}${end}`);
    }
  }
});

test('indexes of several families on one property are found by either name', async () => {
  const database = await world.database([
    'CREATE VERTEX TYPE Art',
    'CREATE PROPERTY Art.title STRING',
    'CREATE PROPERTY Art.place ARRAY_OF_FLOATS',
    'CREATE INDEX ON Art (title) NOTUNIQUE',
    'CREATE INDEX ON Art (place) NOTUNIQUE',
    "INSERT INTO Art SET title = 'Green apple', place = [1.0, 0.0]",
  ]);
  const made = [
    ...(await database.run('CREATE INDEX ON Art (title) FULL_TEXT')),
    ...(await database.run('CREATE INDEX ON Art (place) LSM_VECTOR METADATA {"dimensions": 2}')),
  ];
  const both = ['Art[title]_full_text', 'Art[place]_lsm_vector'];
  assert.deepEqual(
    made.map(({name}) => name),
    both,
  );
  for (const name of ['Art[title]', 'Art[title]_full_text']) {
    assert.deepEqual(await titles(database, `SEARCH_INDEX('${name}', 'apple') = true`), [green]);
    const marked = `SELECT fulltext.highlight('${name}', 'apple', 'title') AS t FROM Art`;
    assert.deepEqual(await database.run(marked), [{t: 'Green <em>apple</em>'}]);
    const called = `CALL db.index.fulltext.queryNodes('${name}', 'green') YIELD node AS n`;
    const answer = await database.run(`${called} RETURN n.title AS t`, {language: 'cypher'});
    assert.deepEqual(answer, [{t: green}]);
  }
  for (const name of ['Art[place]', 'Art[place]_lsm_vector']) {
    const near = `SELECT vector.neighbors('${name}', [1.0, 0.0], 1).title AS t`;
    assert.deepEqual(await database.run(near), [{t: [green]}]);
  }
  assert.deepEqual(await titles(database, "title = 'Green apple'"), [green]);
  await assert.rejects(database.run('CREATE INDEX ON Art (title) FULL_TEXT'), {
    code: 'schema.exists',
    message: "Index 'Art[title]_full_text' already exists",
  });
  const again = 'CREATE INDEX IF NOT EXISTS ON Art (title) FULL_TEXT';
  assert.deepEqual(
    (await database.run(again)).map(({created}) => created),
    [false],
  );
  assert.deepEqual(
    await database.run('CREATE FULLTEXT INDEX IF NOT EXISTS FOR (a:Art) ON EACH [a.title]', {
      language: 'cypher',
    }),
    [],
  );
  await database.run('DROP INDEX `Art[title]`');
  assert.deepEqual(await titles(database, "SEARCH_INDEX('Art[title]_full_text', 'green')"), [
    green,
  ]);
});
