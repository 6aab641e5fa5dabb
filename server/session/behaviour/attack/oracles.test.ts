/**
 * What nobody is told in so many words is not told by the way either: whether a record is there,
 * how many there are, what stands in them. One user, who may do everything but read, count or
 * change the type Secret, asks by every door that tells of a database; what he is told must be the
 * same whether a record is there or not. The rule behind H5, M4 and M5.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const everything = {access: ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord']};

/** A user of his own database, who has nothing on Secret but what is given. */
async function userOf(
  {name: database}: TestDatabase,
  onSecret: readonly string[] = [],
): Promise<Principal> {
  await world.security.saveGroup(database, 'some', {
    access: ['updateSchema', 'updateSecurity', 'updateDatabaseSettings'],
    types: {'*': everything, Secret: {access: onSecret}},
  });
  return {name: 'eve', root: false, grants: new Map([[database, ['some']]])};
}

/** What he is told: the rows, or code, message and details of the refusal. */
async function told(
  database: TestDatabase,
  who: Principal,
  text: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  try {
    return JSON.stringify(await database.run(text, more, who));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return JSON.stringify([error.code, error.message, error.detail]);
  }
}

const schema = [
  'CREATE VERTEX TYPE Open',
  'CREATE VERTEX TYPE Secret EXTENDS Open',
  'CREATE VERTEX TYPE Guest EXTENDS Open',
  'CREATE PROPERTY Open.code STRING',
  'CREATE INDEX ON Open (code) UNIQUE',
  'CREATE EDGE TYPE Knows',
  "CREATE VERTEX Open SET code = 'mine', n = 1",
  "CREATE VERTEX Guest SET code = 'guest', n = 1",
  "CREATE VERTEX Secret SET code = 'hiv-positive', loose = 'TOPSECRET'",
];

async function ridOf(database: TestDatabase, type: string): Promise<string> {
  const [row] = await database.run(`SELECT @rid AS rid FROM ${type} WHERE @type = '${type}'`);
  return String(row?.['rid']);
}

/** The same bucket at a position that nobody has. */
function absent(rid: string): string {
  return rid.replace(/:.*/, ':77');
}

test('an id tells nobody whether it is of a record that he may not read', async () => {
  const database = await world.database(schema);
  const eve = await userOf(database);
  const secret = await ridOf(database, 'Secret');
  const mine = await ridOf(database, 'Open');
  const asks: readonly ((rid: string) => readonly [string, string])[] = [
    rid => ['sql', `SELECT FROM ${rid}`],
    rid => ['sql', `SELECT count(*) AS n FROM ${rid}`],
    rid => ['sql', `SELECT FROM [${mine}, ${rid}]`],
    rid => ['sql', `SELECT ${rid}.code AS c`],
    rid => ['sql', `SELECT out('Knows') AS o FROM ${rid}`],
    rid => ['sql', `TRAVERSE out() FROM ${rid}`],
    rid => ['sql', `UPDATE ${rid} SET n = 1`],
    rid => ['sql', `DELETE FROM ${rid}`],
    rid => ['sql', `CREATE EDGE Knows FROM ${mine} TO ${rid}`],
    rid => ['sql', `MOVE VERTEX ${rid} TO TYPE:Open`],
    rid => ['cypher', `MATCH (n) WHERE elementId(n) = '${rid}' RETURN n`],
    rid => ['cypher', `MATCH (n) WHERE id(n) = '${rid}' DELETE n`],
  ];
  for (const ask of asks) {
    const [language, there] = ask(secret);
    const [, gone] = ask(absent(secret));
    const neutral = (text: string): string =>
      text.replaceAll(secret, 'RID').replaceAll(absent(secret), 'RID');
    assert.equal(
      neutral(await told(database, eve, there, {language})),
      neutral(await told(database, eve, gone, {language})),
      there,
    );
  }
});

test('a unique key that is taken does not tell by whom', async () => {
  const database = await world.database([...schema, 'CREATE DOCUMENT TYPE Plain']);
  const eve = await userOf(database);
  const secret = await ridOf(database, 'Secret');
  const taken = "CREATE VERTEX Open SET code = 'hiv-positive'";
  for (const [text, language] of [
    [taken, 'sql'],
    [`${taken}; COMMIT`, 'sqlscript'],
    ["UPDATE Open SET code = 'hiv-positive' WHERE code = 'mine'", 'sql'],
    ["CREATE (:Open {code: 'hiv-positive'})", 'cypher'],
    ["UNWIND [1] AS n CREATE (:Open {code: 'hiv-positive'})", 'cypher'],
  ] as const) {
    const answer = await told(database, eve, text, {language});
    assert.match(answer, /duplicate-key|security\.denied/, text);
    assert.ok(!answer.includes(secret), answer);
  }
  const transactionId = await world.service.begin(eve, database.name);
  const inside = await told(database, eve, taken, {transactionId});
  assert.ok(!inside.includes(secret), inside);
  const whole = await told(database, root, taken);
  assert.ok(whole.includes(secret), 'who may read it is told');
  const own = await told(database, eve, "CREATE VERTEX Open SET code = 'mine'");
  assert.ok(own.includes(await ridOf(database, 'Open')), own);
});

test('a change of the schema asks to read what it judges, extends or unguards', async () => {
  const trigger = "CREATE TRIGGER audit AFTER CREATE ON TYPE Secret EXECUTE SQL 'SELECT 1'";
  const database = await world.database([
    ...schema,
    'CREATE PROPERTY Secret.name STRING',
    'CREATE INDEX `names` ON Secret (name) NOTUNIQUE',
    trigger,
    'CREATE VERTEX TYPE Mine',
  ]);
  const eve = await userOf(database);
  const [bucket] = await database.run("SELECT buckets FROM schema:types WHERE name = 'Secret'");
  const [own] = (bucket?.['buckets'] ?? []) as readonly string[];
  for (const text of [
    "CREATE PROPERTY Secret.loose STRING (regexp 'X.*')",
    "CREATE PROPERTY Open.loose STRING (regexp 'X.*')",
    'CREATE PROPERTY Secret.other STRING (mandatory true)',
    'DROP PROPERTY Secret.name FORCE',
    'DROP INDEX `names`',
    'DROP INDEX *',
    'REBUILD INDEX `names`',
    'REBUILD INDEX *',
    'DROP TRIGGER audit',
    'CREATE VERTEX TYPE Below EXTENDS Secret',
    'ALTER TYPE Mine SUPERTYPE +Secret',
    `ALTER TYPE Mine BUCKET +\`${String(own)}\``,
    `CREATE VERTEX TYPE Over BUCKET \`${String(own)}\``,
    'CHECK DATABASE',
    'CHECK DATABASE FIX',
    'CHECK DATABASE TYPE Secret',
    'CHECK DATABASE TYPE Open',
    `CHECK DATABASE BUCKET \`${String(own)}\``,
    'CREATE MATERIALIZED VIEW Seen AS SELECT FROM Secret',
  ]) {
    const answer = await told(database, eve, text);
    assert.match(answer, /^\["(security\.denied|schema\.|query\.s|argument)/, `${text}: ${answer}`);
    assert.doesNotMatch(answer, /TOPSECRET|hiv-positive/, text);
  }
  for (const text of ['CREATE PROPERTY Mine.n INTEGER (min 1)', 'CHECK DATABASE TYPE Mine']) {
    assert.match(await told(database, eve, text), /^\[\{/, text);
  }
});

test('plans, their figures and the schema are told alike, whatever lies in a type', async () => {
  const few = await world.database(schema);
  const many = await world.database(schema);
  const rows = Array.from({length: 400}, (_, n) => `('k${n}', 'x')`).join(', ');
  await many.run(`INSERT INTO Secret (code, loose) VALUES ${rows}`);
  const plain = (text: string): string =>
    text
      .replaceAll(/db\d+/g, 'db')
      .replaceAll(/"(cost|elapsed\w*|nanos|totalCost|\w*Time\w*|\w*Ms)":[\d.]+/g, '')
      .replaceAll(/[\d.,]+ ?(ms|μs|us|ns|s)\b/g, 'TIME');
  for (const text of [
    "EXPLAIN SELECT FROM Open WHERE code >= 'a'",
    'EXPLAIN SELECT count(*) FROM Open',
    'EXPLAIN SELECT FROM Secret',
    "EXPLAIN SELECT FROM Open WHERE code = 'hiv-positive'",
    'EXPLAIN SELECT min(code), max(code) FROM Open',
    'SELECT FROM schema:types',
    'SELECT FROM schema:buckets',
    'SELECT FROM schema:indexes',
    'SELECT FROM schema:stats',
    'SELECT FROM schema:dictionary',
    'SELECT FROM schema:database',
    'SELECT min(code) AS low, max(code) AS high FROM Open',
    "SELECT FROM Open WHERE code > 'k'",
    "SELECT code FROM Guest WHERE code > 'a'",
    "SELECT min(code) AS low FROM Guest WHERE code > 'a'",
    "EXPLAIN SELECT code FROM Guest WHERE code > 'a'",
    "EXPLAIN SELECT code FROM Guest WHERE code >= 'a' AND n = 1",
    'SELECT FROM index:`Open[code]`',
    'SELECT count(*) AS n FROM index:`Open[code]`',
  ]) {
    const [one, other] = [
      await told(few, await userOf(few), text),
      await told(many, await userOf(many), text),
    ];
    assert.equal(plain(one), plain(other), text);
  }
  for (const text of ['CALL db.labels()', 'CALL db.schema.visualization()', 'CALL meta.stats()']) {
    const language = 'cypher';
    const [one, other] = [
      await told(few, await userOf(few), text, {language}),
      await told(many, await userOf(many), text, {language}),
    ];
    assert.equal(plain(one), plain(other), text);
  }
});

test('PROFILE counts nothing of what its user may not read', async () => {
  const few = await world.database(schema);
  const many = await world.database(schema);
  const rows = Array.from({length: 400}, (_, n) => `('k${n}', 'x')`).join(', ');
  await many.run(`INSERT INTO Secret (code, loose) VALUES ${rows}`);
  const counts = async (database: TestDatabase, text: string): Promise<unknown> => {
    const cursor = await world.service.run(await userOf(database), database.request(text));
    while ((await cursor.next()) !== undefined);
    cursor.close();
    const figures = /"(description|rows|estimatedRows)":("(\\.|[^"])*"|\d+)/g;
    return cursor.summary.explainPlan?.match(figures);
  };
  for (const text of [
    "PROFILE SELECT code FROM Open WHERE code >= 'a' AND n = 1",
    "PROFILE SELECT FROM Open WHERE code = 'mine'",
    "PROFILE SELECT code FROM Guest WHERE code >= 'a' AND n = 1",
  ]) {
    const [one, other] = await Promise.allSettled([counts(few, text), counts(many, text)]);
    assert.deepEqual(one, other, text);
  }
});

test('figures of work and of search indexes tell no counts of what one may not read', async () => {
  const database = await world.database([
    ...schema,
    'CREATE PROPERTY Secret.words STRING',
    'CREATE INDEX ON Secret (words) FULL_TEXT',
  ]);
  const eve = await userOf(database);
  assert.deepEqual(world.service.searchFigures(eve).get(database.name), undefined);
  assert.equal(world.service.searchFigures(root).get(database.name)?.length, 1);
  const end = world.service.showWork(database.name, 'build index', {done: 250, total: 1_000});
  const figures = (who: Principal): unknown =>
    world.service.progress(who, database.name).map(({done, total}) => ({done, total}));
  assert.deepEqual(figures(eve), [{done: 25, total: 100}]);
  assert.deepEqual(figures(root), [{done: 250, total: 1_000}]);
  end();
});

test('searches score without what their user may not read', async () => {
  const words = [
    ...schema,
    'CREATE PROPERTY Open.words STRING',
    'CREATE INDEX ON Open (words) FULL_TEXT',
    "CREATE VERTEX Open SET code = 'a', words = 'blue moon'",
  ];
  const few = await world.database(words);
  const many = await world.database(words);
  const rows = Array.from({length: 50}, (_, n) => `('k${n}', 'moon')`).join(', ');
  await many.run(`INSERT INTO Secret (code, words) VALUES ${rows}`);
  for (const text of [
    "SELECT code, $score AS s FROM Open WHERE SEARCH_INDEX('Open[words]', 'moon') = true",
    "SELECT code, $score AS s FROM Open WHERE words CONTAINSTEXT 'moon'",
    "SELECT count(*) AS n FROM Open WHERE words CONTAINSTEXT 'moon'",
  ]) {
    const [one, other] = [
      await told(few, await userOf(few), text),
      await told(many, await userOf(many), text),
    ];
    assert.equal(one, other, text);
  }
});
