/** Rules of properties: what stored records keep, and when a statement has to have kept them. */
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
});
after(async () => world.close());
beforeEach(async () => {
  database = await world.database([
    'CREATE VERTEX TYPE Base',
    'CREATE VERTEX TYPE Sub EXTENDS Base',
    'CREATE PROPERTY Base.n INTEGER',
    'INSERT INTO Sub SET n = 5',
  ]);
});

const cypher = (text: string): ReturnType<TestDatabase['run']> =>
  database.run(text, {language: 'cypher'});
const broken = {code: 'query.execution', message: /^the record #\d+:0 breaks the rule: .*Sub\.n/};

for (const [rule, kept] of [
  ['MIN 6', 'MIN 5'],
  ['MAX 4', 'MAX 5'],
  ['MANDATORY true', 'NOTNULL true'],
  ['NOTNULL true', 'MANDATORY true'],
] as const) {
  test(`${rule} is refused while a record of a subtype breaks it, ${kept} is not`, async () => {
    if (rule === 'MANDATORY true') await database.run('UPDATE Sub REMOVE n');
    if (rule === 'NOTNULL true') await database.run('UPDATE Sub SET n = null');
    await assert.rejects(database.run(`ALTER PROPERTY Base.n ${rule}`), broken);
    await database.run(`ALTER PROPERTY Base.n ${kept}`);
    await database.run('DELETE FROM Sub');
    await database.run(`ALTER PROPERTY Base.n ${rule}`);
  });
}

test('a declared property with a rule, and a supertype with one, are refused alike', async () => {
  await assert.rejects(database.run('CREATE PROPERTY Base.m STRING (mandatory true)'), {
    message: /'Sub.m' is mandatory/,
  });
  await database.run('CREATE VERTEX TYPE Ruled');
  await database.run('CREATE PROPERTY Ruled.r STRING (mandatory true)');
  await assert.rejects(database.run('ALTER TYPE Sub SUPERTYPE +Ruled'), {
    message: /'Sub.r' is mandatory/,
  });
});

test('a rule that is there already is not looked at again', async () => {
  await database.run('ALTER PROPERTY Base.n MAX 5');
  await database.run('ALTER PROPERTY Base.n MIN 1');
  await database.run('ALTER PROPERTY Base.n MAX 9');
});

test('a record that breaks the rule while it is looked for is found too', async () => {
  await database.run('INSERT INTO Base SET n = 1');
  for (let i = 0; i < 5_000; i += 1_000) {
    const rows = Array.from({length: 1_000}, (_, j) => `(${i + j})`).join(',');
    await database.run(`INSERT INTO Base (n) VALUES ${rows}`);
  }
  const changing = database.run('ALTER PROPERTY Base.n NOTNULL true');
  const writing = database.run('UPDATE Base SET n = null WHERE n = 1');
  const [changed, written] = await Promise.allSettled([changing, writing]);
  const holds = changed.status === 'fulfilled';
  assert.equal(written.status, holds ? 'rejected' : 'fulfilled');
});

test('a Cypher constraint is refused while a node breaks it', async () => {
  await cypher('CREATE (:Book {title: "A"}), (:Book)');
  const constraint = 'CREATE CONSTRAINT c FOR (b:Book) REQUIRE b.title IS NOT NULL';
  await assert.rejects(cypher(constraint), {message: /breaks the rule: .*Book\.title/});
  await cypher('MATCH (b:Book) WHERE b.title IS NULL DELETE b');
  await cypher(constraint);
});

test('what a record must have may come later in the statement that makes it', async () => {
  await cypher('CREATE CONSTRAINT c FOR (b:Book) REQUIRE b.title IS NOT NULL');
  const missing = {code: 'value.validation', message: /'Book.title' is mandatory/};
  assert.deepEqual(await cypher('CREATE (b:Book) SET b.title = "A" RETURN b.title AS t'), [
    {t: 'A'},
  ]);
  await cypher('MERGE (b:Book {isbn: 1}) ON CREATE SET b.title = "B"');
  await cypher('MATCH (b:Book) SET b = {isbn: 2} SET b.title = "C"');
  await cypher('CREATE (b:Book) DELETE b');
  await assert.rejects(cypher('CREATE (b:Book) RETURN b'), missing);
  await assert.rejects(cypher('MATCH (b:Book) REMOVE b.title'), missing);
  const batched = 'UNWIND [1, 2] AS i CALL (i) { CREATE (:Book {isbn: i}) } IN TRANSACTIONS';
  await assert.rejects(cypher(batched), missing);
  const script = {language: 'sqlscript'};
  await assert.rejects(database.run('CREATE VERTEX Book; RETURN 1', script), missing);
  assert.deepEqual(await cypher('MATCH (b:Book) RETURN count(*) AS n, collect(b.title) AS t'), [
    {n: 2, t: ['C', 'C']},
  ]);
});

test('another data type is refused while a value does not fit into it', async () => {
  await database.run('CREATE PROPERTY Base.code STRING');
  await database.run("INSERT INTO Sub SET n = 7, code = 'x1'");
  await database.run("INSERT INTO Sub SET n = 8, code = '12'");
  await assert.rejects(database.run('ALTER PROPERTY Base.code TYPE INTEGER'), {
    code: 'query.execution',
    message: /^the record #\d+:1 breaks the rule: the text 'x1' does not fit into 'Sub\.code' of/,
  });
  await database.run("UPDATE Sub SET code = '11' WHERE n = 7");
  await database.run('ALTER PROPERTY Base.code TYPE INTEGER');
  await database.run('UPDATE Sub SET seen = true');
  assert.deepEqual(await database.run('SELECT n FROM Base WHERE code = 11'), [{n: 7}]);
});
