/** Records that are like others, and what was looked for marked in texts, in SQL and in Cypher. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    'CREATE VERTEX TYPE Page',
    'CREATE PROPERTY Page.title STRING',
    'CREATE PROPERTY Page.body STRING',
    'CREATE PROPERTY Page.tags LIST OF STRING',
    'CREATE INDEX ON Page (title, body) FULL_TEXT METADATA {"title_boost": 2.0}',
    'CREATE INDEX ON Page (tags BY ITEM) FULL_TEXT',
    "INSERT INTO Page SET title = 'Whales', body = 'Whales sing in the deep ocean', " +
      "tags = ['sea animals', 'songs']",
    "INSERT INTO Page SET title = 'Dolphins', body = 'Dolphins play in the ocean with whales'",
    "INSERT INTO Page SET title = 'Ocean songs', body = 'The song of the deep'",
    "INSERT INTO Page SET title = 'Bread', body = 'Flour and water, in the oven'",
  ]);
});
after(async () => world.close());

const rid = async (title: string): Promise<string> => {
  const [row] = await database.run(`SELECT @rid AS r FROM Page WHERE title = '${title}'`);
  return String(row?.['r']);
};
const loose = '{minTermFreq: 1, minDocFreq: 1}';
const index = "'Page[title,body]'";

test('records that share the telling words are found, those compared with are not', async () => {
  const whales = await rid('Whales');
  const more = (options: string): string =>
    `SELECT title, $similarity AS likeness, $score AS score FROM Page WHERE ` +
    `SEARCH_INDEX_MORE(${index}, [${whales}], ${options}) = true ORDER BY $score DESC`;
  const rows = await database.run(more(loose));
  assert.deepEqual(
    rows.map(({title}) => title),
    ['Dolphins', 'Ocean songs', 'Bread'],
  );
  const likeness = rows.map(row => Number(row['likeness']));
  const scores = rows.map(row => Number(row['score']));
  assert.equal(likeness[0], 1);
  for (const [at, share] of likeness.entries()) {
    assert.ok(Math.abs(share - (scores[at] ?? 0) / (scores[0] ?? 1)) < 1e-6);
  }
  // 'in' and 'the' are in three of four texts.
  const rare = '{minTermFreq: 1, minDocFreq: 1, maxDocFreqPercent: 50}';
  assert.deepEqual(
    (await database.run(more(rare))).map(({title}) => title),
    ['Dolphins', 'Ocean songs'],
  );
  const one = '{minTermFreq: 1, minDocFreq: 2, minWordLen: 5, maxWordLen: 5, maxQueryTerms: 1}';
  assert.deepEqual(
    (await database.run(more(one))).map(({title}) => title),
    ['Dolphins'],
  );
  // By default a word has to be there twice, and in five records.
  assert.deepEqual(await database.run(more('null')), []);
  const [own] = await database.run(
    more('{minTermFreq: 1, minDocFreq: 1, excludeSource: false, boostByScore: false}'),
  );
  assert.equal(own?.['title'], 'Whales');
});

test('fields restrict what is compared; SQL and Cypher ask alike', async () => {
  const whales = await rid('Whales');
  const inTitles = `SELECT FROM Page WHERE SEARCH_FIELDS_MORE(['title'], ${whales}, ${loose})`;
  assert.deepEqual(await database.run(`${inTitles} = true`), []);
  const inBoth =
    `SELECT title, $similarity AS s FROM Page WHERE ` +
    `fulltext.searchFieldsMore(['title', 'body'], ${whales}, ${loose}) = true ORDER BY title`;
  const cypher =
    `MATCH (w:Page {title: 'Whales'}), (p:Page) ` +
    `WHERE fulltext.searchIndexMore(${index}, [w], {minTermFreq: 1, minDocFreq: 1}, p) ` +
    'RETURN p.title AS title, fulltext.similarity(p) AS s ORDER BY title';
  assert.deepEqual(await database.run(cypher, {language: 'cypher'}), await database.run(inBoth));
});

test('what cannot be compared is refused by name', async () => {
  const refused = [
    [`[], ${loose}`, 'argument', /at least one record/],
    [`[3], ${loose}`, 'argument', /compares with record ids, not with the number 3/],
    ['[#1:0], {minTermFrequency: 1}', 'query.option', /Unknown option 'minTermFrequency'/],
    ['[#1:0], {maxQueryTerms: 5000}', 'query.option', /1 to 1024/],
    ['[#1:0, #1:1], {maxSourceDocs: 1}', 'query.option', /2 records, more than maxSourceDocs/],
    ['[#1:0], {boostByScore: 1}', 'query.option', /is a boolean/],
  ] as const;
  for (const [args, code, message] of refused) {
    const text = `SELECT FROM Page WHERE SEARCH_INDEX_MORE(${index}, ${args}) = true`;
    await assert.rejects(database.run(text), {code, message});
  }
  await assert.rejects(
    database.run("SELECT FROM Page WHERE SEARCH_INDEX_MORE('Nowhere', [#1:0]) = true"),
    {code: 'schema.unknown-index'},
  );
});

test('what is looked for is marked in the text of a property', async () => {
  const marked = async (query: string, more = "'body'"): Promise<unknown> => {
    const [row] = await database.run(
      `SELECT fulltext.highlight(${index}, '${query}', ${more}) AS t FROM Page ` +
        "WHERE title = 'Whales'",
    );
    return row?.['t'];
  };
  assert.equal(await marked('whales'), '<em>Whales</em> sing in the deep ocean');
  assert.equal(await marked('whales', "'title'"), '<em>Whales</em>');
  assert.equal(
    await marked('body:sing +oc?an -deep'),
    'Whales <em>sing</em> in the deep <em>ocean</em>',
  );
  assert.equal(await marked('de* wales~1'), '<em>Whales</em> sing in the <em>deep</em> ocean');
  assert.equal(await marked('title:sing'), null);
  assert.equal(
    await marked('"deep ocean"', `'body', {before: '[', after: ']', length: 12}`),
    '...[deep] [ocean]',
  );
  const [tags] = await database.run(
    "SELECT fulltext.highlight('Page[tagsbyitem]', 'animals', 'tags') AS t FROM Page " +
      "WHERE title = 'Whales'",
  );
  assert.deepEqual(tags, {t: 'sea <em>animals</em>'});
  assert.deepEqual(
    await database.run(
      `MATCH (p:Page {title: 'Bread'}) ` +
        `RETURN fulltext.highlight(${index}, 'water', 'body', null, p) AS t`,
      {language: 'cypher'},
    ),
    [{t: 'Flour and <em>water</em>, in the oven'}],
  );
  await assert.rejects(marked('whales', "'tags'"), {code: 'argument', message: /not on 'tags'/});
  await assert.rejects(marked('*x'), {code: 'search.syntax'});
  await assert.rejects(marked('x', "'body', {open: '<'}"), {code: 'query.option'});
});
