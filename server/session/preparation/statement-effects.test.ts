/** What statements may do, found in their plans; and that no more than is permitted is done. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import type {Effect, RunRequest} from '../session.ts';
import {effectsOf} from './statement-effects.ts';

let world: ServiceWorld;
let database: TestDatabase;

const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.name STRING',
  'CREATE INDEX ON Person (name) UNIQUE',
  'CREATE EDGE TYPE Knows',
  'CREATE DOCUMENT TYPE Note',
  'CREATE DOCUMENT TYPE Audit',
  'CREATE DOCUMENT TYPE Watched',
  'CREATE DOCUMENT TYPE Watcher EXTENDS Watched',
  'CREATE DOCUMENT TYPE Source',
  "INSERT INTO Person SET name = 'ann'",
  "INSERT INTO Person SET name = 'bob'",
  'CREATE EDGE Knows FROM (SELECT FROM Person LIMIT 1) TO (SELECT FROM Person SKIP 1)',
  'DEFINE FUNCTION f.add "INSERT INTO Note SET n = :n" PARAMETERS [n]',
  'DEFINE FUNCTION f.via "SELECT f.add(:n) AS r" PARAMETERS [n]',
  'DEFINE FUNCTION f.purge "MATCH (n:Note) DELETE n" LANGUAGE opencypher',
  'DEFINE FUNCTION f.plain "SELECT :n + 1" PARAMETERS [n]',
  'DEFINE FUNCTION f.js "return n + 1" PARAMETERS [n] LANGUAGE js',
  'CREATE TRIGGER t1 AFTER CREATE ON TYPE Watched EXECUTE SQL "DELETE FROM Audit"',
  'CREATE MATERIALIZED VIEW Seen AS SELECT n FROM Source',
];

before(async () => {
  world = await ServiceWorld.open();
  database = await world.database(schema);
});
after(() => world.close());

const effects = (language: string, text: string, of = database): string => {
  const session = world.service.databaseSession(root, of.name);
  const options = session.prepareOptions(session.schema.catalog);
  return [...effectsOf(session.prepare(language, text), text, options)].sort().join(' ');
};

const everything = 'delete insert update';

const statements: readonly (readonly [string, string, string])[] = [
  // Reads.
  ['sql', 'SELECT 1', 'read'],
  ['sql', 'SELECT FROM Person', 'read'],
  ['sql', 'SELECT FROM Seen', 'read'],
  ['sql', 'SELECT FROM schema:types', 'read'],
  ['sql', 'TRAVERSE out() FROM Person', 'read'],
  ['sql', 'MATCH {type: Person, as: p} RETURN p', 'read'],
  ['sql', 'EXPLAIN DELETE FROM Note', 'read'],
  ['sql', 'EXPLAIN CREATE VERTEX TYPE T', 'read'],
  ['sql', 'SELECT f.plain(1), f.js(1)', 'read'],
  ['sql', 'FIND REFERENCES #1:0', 'read'],
  ['sql', 'LOCK TYPE Person', 'read'],
  ['cypher', 'RETURN 1', 'read'],
  ['cypher', 'MATCH (p:Person)-[:Knows]->(q) RETURN q.name', 'read'],
  ['cypher', 'CALL db.labels() YIELD label RETURN label', 'read'],
  ['cypher', 'EXPLAIN MATCH (n) DETACH DELETE n', 'read'],
  ['cypher', 'RETURN EXISTS { MATCH (p:Person) RETURN p } AS e', 'read'],
  // Plain writes.
  ['sql', "INSERT INTO Note SET body = 'x'", 'insert'],
  ['sql', "INSERT INTO Note CONTENT {'body': 'x'}", 'insert'],
  ['sql', 'INSERT INTO BUCKET:Note_0 SET n = 1', 'insert'],
  ['sql', "CREATE VERTEX Person SET name = 'x'", 'insert'],
  ['sql', 'CREATE EDGE Knows FROM #1:0 TO #1:1', 'insert'],
  ['sql', 'UPDATE Note SET n = n + 1 WHERE n > 3', 'update'],
  ['sql', 'UPDATE Note SET n = 1 BATCH 100', 'update'],
  ['sql', "UPDATE Person SET name = 'x' UPSERT WHERE name = 'x'", 'insert update'],
  ['sql', 'MOVE VERTEX #1:0 TO TYPE:Person', 'read update'],
  ['sql', 'DELETE FROM Note WHERE n = 1', 'delete'],
  ['sql', 'DELETE FROM Note BATCH 10', 'delete'],
  ['sql', 'DELETE VERTEX FROM Person', 'delete'],
  ['sql', 'DELETE EDGE Knows FROM #1:0', 'delete'],
  ['sql', 'TRUNCATE RECORD #1:0', 'delete'],
  ['cypher', "CREATE (:Person {name: 'x'})", 'insert'],
  ['cypher', "MERGE (p:Person {name: 'x'})", 'insert'],
  ['cypher', "MERGE (p:Person {name: 'x'}) ON MATCH SET p.n = 1", 'insert update'],
  ['cypher', 'MATCH (p:Person) SET p.n = 1', 'update'],
  ['cypher', 'MATCH (p:Person) REMOVE p.n', 'update'],
  ['cypher', 'MATCH (p:Person) DETACH DELETE p', 'delete'],
  ['cypher', 'FOREACH (i IN [1] | CREATE (:Person))', 'insert'],
  ['cypher', 'UNWIND [1] AS i CALL { CREATE (:Person) } IN TRANSACTIONS', 'insert'],
  ['sql', 'PROFILE DELETE FROM Note', 'delete'],
  ['cypher', 'PROFILE MATCH (p:Person) SET p.n = 1', 'update'],
  // Writes that show what is stored.
  ['sql', 'UPDATE Note SET n = 1 RETURN AFTER', 'read update'],
  ['sql', 'UPDATE Note SET n = 1 RETURN BEFORE', 'read update'],
  ['sql', 'DELETE FROM Note RETURN BEFORE', 'delete read'],
  ['sql', 'INSERT INTO Note FROM SELECT FROM Person', 'insert read'],
  ['sql', 'INSERT INTO Note SET x = (SELECT name FROM Person)', 'insert read'],
  ['sql', 'UPDATE Note SET x = (SELECT name FROM Person)', 'read update'],
  ['cypher', 'MATCH (p:Person) SET p.n = 1 RETURN p', 'read update'],
  ['cypher', 'MATCH (p:Person) DELETE p RETURN count(p) AS c', 'delete read'],
  // Writes that hide.
  ['sql', 'SELECT f.add(1)', 'insert read'],
  ['sql', 'SELECT `f.via`(1)', 'insert read'],
  ['sql', '/* DELETE */ SELECT f.purge() -- nothing', 'delete read'],
  ['sql', 'SELECT FROM Person WHERE f.via(1) IS NOT NULL', 'insert read'],
  ['sql', 'SELECT (SELECT f.purge()) AS x FROM Person', 'delete read'],
  ['cypher', 'MATCH (p:Person) RETURN f.add(p.n)', 'insert read'],
  ['cypher', 'RETURN /* SET */ `f.purge`()', 'delete read'],
  ['cypher', 'CALL { MATCH (n:Person) DELETE n } RETURN 1 AS one', 'delete read'],
  [
    'cypher',
    'CALL merge.node(["Person"], {name: "x"}) YIELD node RETURN node',
    'delete insert read update',
  ],
  [
    'cypher',
    'CALL do.when(true, "MATCH (n) DETACH DELETE n", "") YIELD value RETURN value',
    'delete insert read update',
  ],
  ['sql', 'INSERT INTO Watched SET n = 1', 'delete insert'],
  ['sql', 'INSERT INTO Watcher SET n = 1', 'delete insert'],
  ['sql', 'DELETE FROM Note', 'delete'],
  // The schema.
  ['sql', 'CREATE VERTEX TYPE New', 'schema'],
  ['sql', 'CREATE PROPERTY Note.x STRING', 'schema'],
  ['sql', 'CREATE INDEX ON Note (n) NOTUNIQUE', 'schema'],
  ['sql', 'ALTER TYPE Note NAME Other', 'schema'],
  ['sql', 'ALTER PROPERTY Person.name MANDATORY true', 'schema'],
  ['sql', 'DROP TYPE Note', 'delete schema'],
  ['sql', 'TRUNCATE TYPE Note', 'delete schema'],
  ['sql', 'DROP INDEX `Person[name]`', 'schema'],
  ['sql', 'CREATE BUCKET b1', 'schema'],
  ['sql', 'REBUILD INDEX `Person[name]`', 'schema'],
  ['sql', 'REFRESH MATERIALIZED VIEW Seen', 'schema'],
  ['sql', 'DEFINE FUNCTION g.x "SELECT 1"', 'schema'],
  ['sql', 'DEFINE FUNCTION g.x "return 1" LANGUAGE js', 'admin schema'],
  ['sql', 'CREATE TRIGGER t9 AFTER CREATE ON TYPE Note EXECUTE SQL "SELECT 1"', 'schema'],
  ['cypher', 'CREATE INDEX FOR (p:Person) ON (p.age)', 'schema'],
  ['cypher', 'CREATE (:Unheard {n: 1})', 'insert schema'],
  ['cypher', 'MATCH (n:Note) CREATE (:Unheard) DELETE n', 'delete insert schema'],
  // Administration.
  ['sql', 'ALTER DATABASE `svc.txRetries` 5', 'admin'],
  ['sql', 'CHECK DATABASE', 'admin'],
  ['sql', 'ALIGN DATABASE', 'admin'],
  ['sql', 'BACKUP DATABASE', 'admin read'],
  ['sql', "IMPORT DATABASE 'http://127.0.0.1/x'", 'admin insert schema update'],
  ['cypher', "CREATE USER x SET PASSWORD 'secret123'", 'admin'],
  ['cypher', 'DROP USER x', 'admin'],
  // Scripts.
  ['sqlscript', 'LET $a = 1; RETURN $a', 'read'],
  ['sqlscript', 'LET $a = INSERT INTO Note SET n = 1; RETURN 1', 'insert'],
  ['sqlscript', 'LET $a = f.purge(); RETURN $a', 'delete read'],
  ['sqlscript', 'IF (1 = 2) { INSERT INTO Note SET n = 1; }', 'insert'],
  ['sqlscript', 'WHILE (f.via(1) IS NULL) { BREAK; }', 'insert read'],
  ['sqlscript', 'FOREACH ($i IN [1, 2]) { UPDATE Note SET n = $i; }', 'update'],
  [
    'sqlscript',
    'BEGIN; SELECT FROM Note; COMMIT RETRY 3 ELSE { DELETE FROM Note; }',
    'delete read',
  ],
  ['sqlscript', 'CREATE DOCUMENT TYPE Later; INSERT INTO Later SET n = 1', 'insert schema'],
  ['sqlscript', 'CREATE DOCUMENT TYPE Later; DELETE FROM Later', 'delete schema'],
  ['sqlscript', 'SET GLOBAL $x = 1', 'admin'],
  ['sql', 'LET $a = INSERT INTO Note SET n = 1', 'insert'],
];

for (const [language, text, expected] of statements) {
  test(`${language}: ${text.slice(0, 80)}`, () => assert.equal(effects(language, text), expected));
}

test('triggers of every event count, and what they fire', async () => {
  const other = await world.database([
    'CREATE DOCUMENT TYPE Note',
    'CREATE DOCUMENT TYPE Peeked',
    'CREATE DOCUMENT TYPE Audit',
    'CREATE TRIGGER r BEFORE READ ON TYPE Peeked EXECUTE SQL "INSERT INTO Audit SET n = 1"',
    'CREATE TRIGGER u AFTER UPDATE ON TYPE Note EXECUTE SQL "DELETE FROM Audit"',
    'CREATE TRIGGER d AFTER DELETE ON TYPE Audit EXECUTE SQL "SELECT FROM Peeked"',
  ]);
  assert.equal(effects('sql', 'SELECT FROM Peeked', other), 'insert read');
  assert.equal(effects('sql', 'SELECT FROM `Peeked`', other), 'insert read');
  assert.equal(effects('sql', 'SELECT FROM Note', other), 'read');
  assert.equal(effects('sql', 'TRAVERSE * FROM #1:0', other), 'insert read');
  assert.equal(effects('sql', 'UPDATE Note SET n = 1', other), everything);
  assert.equal(effects('cypher', 'MATCH (n:Note) SET n.n = 1', other), everything);
});

test('what fires in JavaScript, or fires more, is taken to do anything', async () => {
  const other = await world.database([
    'CREATE DOCUMENT TYPE Note',
    'CREATE DOCUMENT TYPE Quiet',
    'CREATE TRIGGER r AFTER READ ON TYPE Note EXECUTE JAVASCRIPT "1"',
    'CREATE TRIGGER c AFTER CREATE ON TYPE Note EXECUTE JAVASCRIPT "1"',
  ]);
  assert.equal(effects('sql', 'INSERT INTO Note SET n = 1', other), everything);
  assert.equal(effects('sql', 'INSERT INTO Quiet SET n = 1', other), 'insert');
  // What only reads gives a trigger nothing to write with.
  assert.equal(effects('sql', 'SELECT FROM Note', other), 'read');
  assert.equal(
    effects('sql', 'INSERT INTO Quiet FROM SELECT FROM Note', other),
    'delete insert read update',
  );
});

const only = (...permitted: readonly Effect[]): Partial<RunRequest> => ({
  permitted: new Set(permitted),
});

const refusedFor = (effect: Effect) => (error: unknown) =>
  error instanceof Refusal && error.code === 'security.denied' && error.detail['effect'] === effect;

test('a statement that may do more than is permitted is refused, and does nothing', async () => {
  const count = async (type: string): Promise<unknown> =>
    (await database.run(`SELECT count(*) AS c FROM ${type}`))[0]?.['c'];
  const notes = await count('Note');
  await assert.rejects(database.run('SELECT f.add(1)', only('read')), refusedFor('insert'));
  await assert.rejects(
    database.run('INSERT INTO Watched SET n = 1', only('insert')),
    refusedFor('delete'),
  );
  assert.deepEqual([await count('Note'), await count('Watched')], [notes, 0]);
  await database.run('SELECT f.add(1)', only('read', 'insert'));
  assert.equal(await count('Note'), Number(notes) + 1);
});

test('a type that is made by the way is a change of the schema', async () => {
  const cypher = {language: 'cypher'};
  const make = 'CREATE (:Fresh {n: 1})';
  await assert.rejects(database.run(make, {...cypher, ...only('insert')}), refusedFor('schema'));
  const dynamic = 'CALL merge.node(["Fresher"], {n: 1}) YIELD node RETURN node';
  const records = only('read', 'insert', 'update', 'delete');
  await assert.rejects(database.run(dynamic, {...cypher, ...records}), refusedFor('schema'));
  await database.run(make, {...cypher, ...only('insert', 'schema')});
  assert.equal((await database.run('SELECT FROM Fresh')).length, 1);
});

test('a script is stopped at the statement that is not permitted, with all it wrote', async () => {
  const other = await world.database(['CREATE DOCUMENT TYPE Note']);
  const script = `CREATE DOCUMENT TYPE Made;
    INSERT INTO Note SET n = 1;
    DEFINE FUNCTION g.purge "DELETE FROM Note";
    INSERT INTO Note SET n = 2;
    LET $gone = g.purge();`;
  await assert.rejects(
    other.run(script, {language: 'sqlscript', ...only('schema', 'insert', 'read')}),
    refusedFor('delete'),
  );
  assert.deepEqual(await other.run('SELECT n FROM Note'), [{n: 1}]);
});
