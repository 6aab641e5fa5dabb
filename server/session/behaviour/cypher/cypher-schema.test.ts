/** Indexes, constraints and users by statements of Cypher, and what SHOW says of them. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {Value} from '#server/model/value.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(async () => world.close());

type Rows = Awaited<ReturnType<TestDatabase['run']>>;

const cypher = (database: TestDatabase, text: string): Promise<Rows> =>
  database.run(text, {language: 'cypher'});

/** What the answer says that was changed, without what was not. */
async function changes(database: TestDatabase, text: string): Promise<unknown> {
  const cursor = await database.service.run(root, {
    ...database.request(text),
    language: 'cypher',
  });
  while ((await cursor.next()) !== undefined);
  cursor.close();
  const stats = JSON.parse(cursor.summary.stats ?? '{}') as Record<string, unknown>;
  return Object.fromEntries(Object.entries(stats).filter(([, count]) => count !== 0));
}

test('a property that nobody declared is indexed, whatever its values are', async () => {
  const database = await world.database([]);
  await cypher(
    database,
    "UNWIND [1, 1.0, '1', true, date('2024-01-01')] AS v CREATE (:Thing {v: v})",
  );
  assert.deepEqual(await changes(database, 'CREATE INDEX FOR (t:Thing) ON (t.v)'), {
    indexesAdded: 1,
    containsUpdates: true,
  });
  const count = async (value: string): Promise<Rows> =>
    cypher(database, `MATCH (t:Thing {v: ${value}}) RETURN count(*) AS n`);
  assert.deepEqual(await count('1'), [{n: 2}]);
  assert.deepEqual(await count("'1'"), [{n: 1}]);
  assert.deepEqual(await count("date('2024-01-01')"), [{n: 1}]);
  // SQL converts what it compares, so that it finds the text too.
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM Thing WHERE v = 1'), [{n: 3}]);
  const [plan] = await planOf(database, 'MATCH (t:Thing {v: 1}) RETURN t');
  assert.match(plan ?? '', /index Thing\[v\] = 1/);
});

async function planOf(database: TestDatabase, text: string): Promise<string[]> {
  const cursor = await database.service.run(root, {
    ...database.request(`EXPLAIN ${text}`),
    language: 'cypher',
  });
  cursor.close();
  return [cursor.summary.explain ?? ''];
}

test('constraints keep their rules, under names that are shown and dropped', async () => {
  const database = await world.database([]);
  await cypher(database, 'CREATE CONSTRAINT isbn FOR (b:Book) REQUIRE b.isbn IS UNIQUE');
  await cypher(database, 'CREATE CONSTRAINT FOR (b:Book) REQUIRE b.title IS NOT NULL');
  await cypher(database, 'CREATE CONSTRAINT FOR (b:Book) REQUIRE b.pages IS :: INTEGER');
  await cypher(database, 'CREATE CONSTRAINT FOR (p:Page) REQUIRE (p.book, p.no) IS NODE KEY');
  await cypher(
    database,
    'CREATE CONSTRAINT FOR ()-[w:WROTE]-() REQUIRE w.tags IS TYPED LIST<STRING>',
  );
  const create = (text: string): Promise<Rows> => cypher(database, `CREATE ${text}`);
  await create("(:Book {isbn: 'a', title: 'A'})");
  await assert.rejects(create("(:Book {isbn: 'a', title: 'B'})"), {code: 'commit.duplicate-key'});
  await assert.rejects(create("(:Book {isbn: 'b'})"), {code: 'value.validation'});
  await assert.rejects(create("(:Book {isbn: 'b', title: 'B', pages: 'many'})"), {
    code: 'value.type',
  });
  await create("(:Page {book: 'a', no: 1}), (:Page {book: 'a', no: '1'})");
  await assert.rejects(create("(:Page {book: 'a', no: 1})"), {code: 'commit.duplicate-key'});
  await assert.rejects(create("(:Page {book: 'a'})"), {code: 'value.validation'});
  assert.deepEqual(
    await cypher(
      database,
      'SHOW CONSTRAINTS YIELD name, type, properties, ownedIndex, propertyType',
    ),
    [
      ['constraint_Book_pages_type', 'NODE_PROPERTY_TYPE', ['pages'], null, 'INTEGER'],
      ['constraint_Book_title_existence', 'NODE_PROPERTY_EXISTENCE', ['title'], null, null],
      ['constraint_Page_book_no_key', 'NODE_KEY', ['book', 'no'], 'Page[book,no]', null],
      ['constraint_WROTE_tags_type', 'RELATIONSHIP_PROPERTY_TYPE', ['tags'], null, 'LIST<STRING>'],
      ['isbn', 'UNIQUENESS', ['isbn'], 'Book[isbn]', null],
    ].map(([name, type, properties, ownedIndex, propertyType]) => ({
      name,
      type,
      properties,
      ownedIndex,
      propertyType,
    })),
  );
  assert.deepEqual(
    await cypher(
      database,
      `SHOW INDEXES YIELD name, owningConstraint, labelsOrTypes
       WHERE name STARTS WITH 'Book' RETURN *`,
    ),
    [{labelsOrTypes: ['Book'], name: 'Book[isbn]', owningConstraint: 'isbn'}],
  );
  await assert.rejects(
    cypher(database, 'DROP INDEX `Book[isbn]`'),
    /index of the constraint 'isbn'/,
  );
  assert.deepEqual(await changes(database, 'DROP CONSTRAINT isbn'), {
    constraintsRemoved: 1,
    containsUpdates: true,
  });
  for (const name of ['constraint_Book_title_existence', 'constraint_Book_pages_type']) {
    await cypher(database, `DROP CONSTRAINT ${name}`);
  }
  await create("(:Book {isbn: 'a', pages: 'many'})");
  assert.deepEqual(await changes(database, 'DROP CONSTRAINT isbn IF EXISTS'), {});
  await assert.rejects(cypher(database, 'DROP CONSTRAINT isb'), /there is no constraint 'isb'/);
  const again = 'FOR (p:Page) REQUIRE (p.book, p.no) IS NODE KEY';
  assert.deepEqual(await changes(database, `CREATE CONSTRAINT IF NOT EXISTS ${again}`), {});
  await assert.rejects(cypher(database, `CREATE CONSTRAINT ${again}`), {code: 'schema.exists'});
});

test('a node of two labels follows the rules of both', async () => {
  const database = await world.database([]);
  await cypher(database, 'CREATE CONSTRAINT FOR (p:Person) REQUIRE p.key IS NOT NULL');
  await cypher(database, 'CREATE INDEX FOR (a:Admin) ON (a.key)');
  await assert.rejects(cypher(database, 'CREATE (:Person:Admin {x: 1})'), {
    code: 'value.validation',
  });
  await cypher(database, "CREATE (:Person:Admin {key: 'k'})");
  assert.deepEqual(await cypher(database, "MATCH (a:Admin {key: 'k'}) RETURN labels(a) AS l"), [
    {l: ['Admin', 'Person']},
  ]);
  await cypher(database, 'CREATE CONSTRAINT FOR (p:Person) REQUIRE p.age IS :: INTEGER');
  await assert.rejects(
    cypher(database, 'CREATE CONSTRAINT FOR (a:Admin) REQUIRE a.age IS :: STRING'),
    /'age' would come to 'Admin~Person' from two places/,
  );
});

test('users are made, changed and dropped by root, and see themselves alone', async () => {
  const database = await world.database([]);
  await cypher(database, "CREATE USER anna SET PASSWORD 'secret-one' CHANGE NOT REQUIRED");
  await cypher(database, "CREATE USER anna IF NOT EXISTS SET PASSWORD 'secret-two'");
  await assert.rejects(cypher(database, "CREATE USER anna SET PASSWORD 'x-secret-x'"), {
    code: 'user.exists',
  });
  const parameters = new Map<string, Value>([['p', 'secret-two']]);
  await database.run('CREATE USER bobby SET PASSWORD $p', {language: 'cypher', parameters});
  await assert.rejects(cypher(database, 'CREATE USER evelyn SET PASSWORD $p'), {
    code: 'query.parameter',
  });
  assert.deepEqual(await cypher(database, 'SHOW USERS'), [
    {user: 'anna', databases: [database.name]},
    {user: 'bobby', databases: [database.name]},
  ]);
  const anna = {name: 'anna', root: false, grants: new Map([[database.name, ['admin']]])};
  const asAnna = (text: string): Promise<Rows> => database.run(text, {language: 'cypher'}, anna);
  assert.deepEqual(await asAnna('SHOW USERS'), await asAnna('SHOW CURRENT USER'));
  assert.deepEqual(await asAnna('SHOW CURRENT USER'), [{user: 'anna', databases: [database.name]}]);
  await assert.rejects(asAnna("ALTER USER bobby SET PASSWORD 'secret-three'"), {
    code: 'security.root-only',
  });
  await assert.rejects(
    asAnna("ALTER CURRENT USER SET PASSWORD FROM 'wrong-one' TO 'secret-four'"),
    {
      code: 'security.unauthenticated',
    },
  );
  await asAnna("ALTER CURRENT USER SET PASSWORD FROM 'secret-one' TO 'secret-four'");
  await cypher(database, 'DROP USER bobby');
  await cypher(database, 'DROP USER bobby IF EXISTS');
  await assert.rejects(cypher(database, 'DROP USER bobby'), {code: 'user.missing'});
  await assert.rejects(
    cypher(database, "CREATE USER xenia SET PASSWORD 'abcdefgh' CHANGE REQUIRED"),
    {
      code: 'not-available',
    },
  );
});

test('a password is not shown among the statements that run', async () => {
  const database = await world.database([]);
  const rows = await cypher(
    database,
    "SHOW TRANSACTIONS YIELD currentQuery, username // user password 'hidden'",
  );
  assert.deepEqual(rows, [
    {
      currentQuery: "SHOW TRANSACTIONS YIELD currentQuery, username // user password '***'",
      username: 'root',
    },
  ]);
});

test('what is shown otherwise is refused with what may be shown', async () => {
  const database = await world.database([]);
  await assert.rejects(cypher(database, 'SHOW FUNCTIONS'), /INDEXES/);
  await assert.rejects(cypher(database, 'CREATE POINT INDEX FOR (n:A) ON (n.x)'), {
    code: 'not-available',
  });
});

test('search indexes are made, shown, asked and dropped', async () => {
  const database = await world.database([]);
  const texts = 'INDEX IF NOT EXISTS FOR (b:Book) ON EACH [b.title, b.text]';
  const english = "OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', text_boost: 0.5}}";
  assert.deepEqual(await changes(database, `CREATE FULLTEXT ${texts} ${english}`), {
    indexesAdded: 1,
    containsUpdates: true,
  });
  assert.deepEqual(await changes(database, `CREATE FULLTEXT ${texts}`), {});
  await cypher(
    database,
    `CREATE VECTOR INDEX places FOR (b:Book) ON (b.place) OPTIONS {indexConfig: {
       \`vector.dimensions\`: 2, \`vector.similarity_function\`: 'euclidean',
       \`vector.quantization.enabled\`: true, \`vector.hnsw.m\`: 16}}`,
  );
  await cypher(
    database,
    'CREATE VECTOR INDEX topics FOR (b:Book) ON (b.topics, b.weights) ' +
      "OPTIONS {indexConfig: {dimensions: 10, modifier: 'IDF'}}",
  );
  await cypher(database, 'CREATE FULLTEXT INDEX notes FOR ()-[c:CITES]-() ON EACH [c.note]');
  await cypher(
    database,
    `CREATE (a:Book {title: 'Baking', text: 'of bread', place: [0, 1], topics: [1], weights: [1.0]})
     -[:CITES {note: 'as usual'}]->
     (b:Book {title: 'Bread', place: [3.0, 4.0], topics: [1, 2], weights: [0.5, 2.0]})`,
  );
  assert.deepEqual(
    await cypher(database, 'SHOW INDEXES YIELD name, type, entityType, properties'),
    [
      ['Book[title,text]', 'FULLTEXT', 'NODE', ['title', 'text']],
      ['notes', 'FULLTEXT', 'RELATIONSHIP', ['note']],
      ['places', 'VECTOR', 'NODE', ['place']],
      ['topics', 'SPARSE_VECTOR', 'NODE', ['topics', 'weights']],
    ].map(([name, type, entityType, properties]) => ({entityType, name, properties, type})),
  );
  assert.deepEqual(
    await cypher(
      database,
      `MATCH (b:Book) WHERE SEARCH_INDEX('Book[title,text]', 'baked', b)
       RETURN b.title AS title, fulltext.score(b) > 0 AS fits`,
    ),
    [{fits: true, title: 'Baking'}],
  );
  assert.deepEqual(
    await cypher(
      database,
      "CALL db.index.fulltext.queryNodes('Book[title,text]', 'bread', {limit: 1}) " +
        'YIELD node, score RETURN node.title AS title, score > 0 AS fits',
    ),
    [{fits: true, title: 'Bread'}],
  );
  assert.deepEqual(
    await cypher(
      database,
      "CALL db.index.fulltext.queryRelationships('notes', 'usual') YIELD relationship " +
        'RETURN relationship.note AS note',
    ),
    [{note: 'as usual'}],
  );
  assert.deepEqual(
    await cypher(
      database,
      "CALL db.index.vector.queryNodes('places', 2, [0, 0]) YIELD node, score " +
        'RETURN node.title AS title, score',
    ),
    [
      {score: 0.5, title: 'Baking'},
      {score: 0.03846154, title: 'Bread'},
    ],
  );
  await assert.rejects(
    cypher(database, "CALL db.index.fulltext.queryNodes('notes', 'usual')"),
    /index of relationships/,
  );
  assert.deepEqual(await changes(database, 'DROP INDEX notes'), {
    indexesRemoved: 1,
    containsUpdates: true,
  });
});

test('search indexes that cannot be are refused by name', async () => {
  const database = await world.database([]);
  const refused = [
    ['VECTOR INDEX FOR (n:A) ON (n.v)', 'argument', /needs METADATA 'dimensions'/],
    ['VECTOR INDEX FOR (n:A) ON (n.v) OPTIONS {dimensions: 3}', 'cypher.syntax', /indexConfig/],
    [
      'VECTOR INDEX FOR (n:A) ON (n.v) OPTIONS {indexConfig: {dimensions: $d}}',
      'cypher.syntax',
      /is a constant/,
    ],
    [
      'FULLTEXT INDEX FOR (n:A) ON EACH [n.x] OPTIONS {indexConfig: {analyser: 1}}',
      'argument',
      /Unknown METADATA key 'analyser'/,
    ],
    ['FULLTEXT INDEX FOR (n:A) ON (n.x)', 'cypher.syntax', /EACH/],
    ['INDEX FOR (n:A) ON (n.x) OPTIONS {indexConfig: {}}', 'cypher.syntax', /OPTIONS/],
  ] as const;
  for (const [text, code, message] of refused) {
    await assert.rejects(cypher(database, `CREATE ${text}`), {code, message}, text);
  }
});
