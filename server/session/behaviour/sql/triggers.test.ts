/** Triggers: what fires, what it sees, what it may forbid, where it ends. */
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import type {RefusalCode} from '#server/base/errors.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;

before(async () => {
  world = await ServiceWorld.open();
});

beforeEach(async () => {
  database = await world.database([
    'CREATE VERTEX TYPE Person',
    'CREATE VERTEX TYPE Pilot EXTENDS Person',
    'CREATE EDGE TYPE Knows',
    'CREATE DOCUMENT TYPE Log',
  ]);
});

after(() => world.close());

const sql = (text: string, readOnly = false): Promise<unknown[]> => database.run(text, {readOnly});
const cypher = (text: string): Promise<unknown[]> => database.run(text, {language: 'cypher'});
const logged = (): Promise<unknown[]> => sql('SELECT what, n, old FROM Log ORDER BY @rid');

async function refused(running: Promise<unknown>, code: RefusalCode, says: RegExp): Promise<void> {
  await assert.rejects(running, (error: Error & {readonly code?: string}) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, says);
    return true;
  });
}

async function logEach(when: string, type: string): Promise<void> {
  for (const event of ['CREATE', 'UPDATE', 'DELETE']) {
    const code = `INSERT INTO Log SET what = "${event} ${type}", n = $record.n, old = $oldRecord.n`;
    await sql(
      `CREATE TRIGGER ${type}${event} ${when} ${event} ON TYPE ${type} EXECUTE SQL '${code}'`,
    );
  }
}

for (const when of ['BEFORE', 'AFTER']) {
  test(`${when}: every way to write fires, for subtypes too`, async () => {
    await logEach(when, 'Person');
    await sql('INSERT INTO Person SET n = 1');
    await sql('CREATE VERTEX Pilot SET n = 2');
    await cypher('CREATE (:Person {n: 3})');
    await cypher('MERGE (p:Person {n: 3}) SET p.n = 4');
    await sql('UPDATE Person SET n = 5 WHERE n = 1');
    await sql('DELETE FROM Person WHERE n = 2');
    await cypher('MATCH (p:Person {n: 4}) DETACH DELETE p');
    const of = (event: string, n: number, old: number | null): unknown => ({
      what: `${event} Person`,
      n,
      old,
    });
    assert.deepEqual(await logged(), [
      of('CREATE', 1, null),
      of('CREATE', 2, null),
      of('CREATE', 3, null),
      of('UPDATE', 4, 3),
      of('UPDATE', 5, 1),
      of('DELETE', 2, 2),
      of('DELETE', 4, 4),
    ]);
  });
}

test('the edges that go with a vertex fire as well, each once', async () => {
  await logEach('AFTER', 'Knows');
  await cypher(
    'CREATE (a:Person {n: 1})-[:Knows {n: 7}]->(b:Person {n: 2}), (a)-[:Knows {n: 8}]->(a)',
  );
  await sql('DELETE FROM Person WHERE n = 1');
  const deleted = (await sql(
    "SELECT n FROM Log WHERE what = 'DELETE Knows' ORDER BY n",
  )) as unknown;
  assert.deepEqual(deleted, [{n: 7}, {n: 8}]);
});

test('light edges fire as well, and one that may not go keeps its vertex', async () => {
  await sql('CREATE EDGE TYPE Light LIGHTWEIGHT');
  await logEach('AFTER', 'Light');
  await cypher('CREATE (a:Person {n: 1})-[:Light]->(:Person {n: 2}), (a)-[:Light]->(a)');
  await sql("CREATE TRIGGER t BEFORE DELETE ON Light EXECUTE SQL 'SELECT false'");
  await refused(sql('DELETE FROM Person'), 'trigger.refused', /the end of an edge of type 'Light'/);
  await sql('DROP TRIGGER t');
  await sql('DELETE FROM Person');
  const kinds = await sql('SELECT what, count(*) AS c FROM Log GROUP BY what ORDER BY what');
  assert.deepEqual(kinds, [
    {what: 'CREATE Light', c: 2},
    {what: 'DELETE Light', c: 2},
  ]);
});

test('BEFORE forbids with false: nothing is made, changed, deleted or read', async () => {
  await sql('INSERT INTO Person SET n = 1');
  const forbid = async (event: string, attempt: string): Promise<unknown[]> => {
    const code = 'SELECT ($record.n IS NULL)';
    await sql(`CREATE TRIGGER t BEFORE ${event} ON Person EXECUTE SQL '${code}'`);
    const rows = await sql(attempt);
    await sql('DROP TRIGGER t');
    return rows;
  };
  assert.deepEqual(await forbid('CREATE', 'INSERT INTO Person SET n = 2'), []);
  assert.deepEqual(await forbid('UPDATE', 'UPDATE Person SET n = 3'), [{count: 0}]);
  assert.deepEqual(await forbid('DELETE', 'DELETE FROM Person'), [{count: 0}]);
  assert.deepEqual(await forbid('READ', 'SELECT n FROM Person'), []);
  assert.deepEqual(await sql('SELECT n FROM Person'), [{n: 1}]);
});

test('nothing but false forbids: no row, null, zero, several columns', async () => {
  for (const [at, code] of [
    'SELECT FROM Log',
    'SELECT null',
    'SELECT 0',
    'SELECT true, false',
  ].entries()) {
    await sql(`CREATE TRIGGER t BEFORE CREATE ON Person EXECUTE SQL '${code}'`);
    assert.equal((await sql(`INSERT INTO Person SET n = ${at}`)).length, 1, code);
    await sql('DROP TRIGGER t');
  }
});

test('an edge that is forbidden ends its statement, and nothing of it stays', async () => {
  await sql("CREATE TRIGGER t BEFORE CREATE ON Knows EXECUTE SQL 'SELECT false'");
  const text = 'CREATE (:Person {n: 1})-[:Knows]->(:Person {n: 2})';
  await refused(cypher(text), 'trigger.refused', /trigger 't' forbids an edge of type 'Knows'/);
  assert.deepEqual(await sql('SELECT FROM Person'), []);
});

test('a trigger that fails takes the statement with it, and says its name', async () => {
  await sql("CREATE TRIGGER t AFTER CREATE ON Person EXECUTE SQL 'INSERT INTO Gone SET n = 1'");
  await refused(sql('INSERT INTO Person SET n = 1'), 'trigger.refused', /trigger 't'.*'Gone'/);
  assert.deepEqual(await sql('SELECT FROM Person'), []);
});

test('triggers that fire each other end at a depth that is named', async () => {
  await sql("CREATE TRIGGER t AFTER CREATE ON Person EXECUTE SQL 'INSERT INTO Person SET n = 1'");
  await refused(sql('INSERT INTO Person SET n = 0'), 'limit.depth', /32 deep/);
});

test('what reads fires too, and what writes then is no read', async () => {
  await sql('INSERT INTO Person SET n = 1');
  const code = 'INSERT INTO Log SET what = "read", n = $record.n';
  await sql(`CREATE TRIGGER t AFTER READ ON Person EXECUTE SQL '${code}'`);
  await refused(sql('SELECT n FROM Person', true), 'query.not-idempotent', /./);
  assert.deepEqual(await sql('SELECT FROM Log', true), []);
  assert.deepEqual(await sql('SELECT n FROM Person'), [{n: 1}]);
  assert.deepEqual(await logged(), [{what: 'read', n: 1, old: null}]);
});

test('JavaScript sees record, oldRecord and database, and sets properties', async () => {
  await sql(`CREATE TRIGGER a BEFORE CREATE ON Person EXECUTE JAVASCRIPT
    'record.name = record.name.trim();
     record.set("length", record.name.length);
     record.n !== 13'`);
  await sql(`CREATE TRIGGER b AFTER UPDATE ON Person EXECUTE JAVASCRIPT
    'if (record.n === oldRecord.n) return;
     database.command("sql", "INSERT INTO Log SET what = :w, n = :n, old = :o",
       {w: record["@type"], n: record.n, o: oldRecord.n});
     const [row] = database.query("opencypher", "MATCH (p:Person) RETURN count(p) AS c");
     if (row.c > 1) throw new Error("there are " + row.c)'`);
  assert.deepEqual(await sql("INSERT INTO Person SET n = 13, name = ' x '"), []);
  const [made] = await sql("INSERT INTO Person SET n = 9007199254740993, name = ' Ada '");
  assert.partialDeepStrictEqual(made, {name: 'Ada', length: 3});
  await sql('UPDATE Person SET n = 2');
  assert.deepEqual(await sql('SELECT what, n, (old = 9007199254740993) AS same FROM Log'), [
    {what: 'Person', n: 2, same: true},
  ]);
  await sql("INSERT INTO Person SET n = 3, name = 'Bo'");
  await refused(sql('UPDATE Person SET n = 4'), 'trigger.refused', /'b': .*there are 2/);
  assert.deepEqual(await sql('SELECT n FROM Person ORDER BY n'), [{n: 2}, {n: 3}]);
});

test('triggers in JavaScript fire each other, and what one throws comes out of all', async () => {
  await sql(`CREATE TRIGGER a AFTER CREATE ON Person EXECUTE JAVASCRIPT
    'try { database.command("sql", "INSERT INTO Log SET n = :n", {n: record.n}) } catch {}'`);
  await sql(`CREATE TRIGGER b BEFORE CREATE ON Log EXECUTE JAVASCRIPT
    'if (record.n > 1) throw new Error("too many"); record.what = "seen"'`);
  await sql('INSERT INTO Person SET n = 1');
  assert.deepEqual(await logged(), [{what: 'seen', n: 1, old: null}]);
  await refused(sql('INSERT INTO Person SET n = 2'), 'trigger.refused', /'b'.*too many/);
  assert.deepEqual(await sql('SELECT n FROM Person'), [{n: 1}]);
});

test('JavaScript writes by database.command only, and where a statement may', async () => {
  await sql('INSERT INTO Person SET n = 1');
  const code = (kind: string): string =>
    `CREATE TRIGGER t AFTER READ ON Person EXECUTE JAVASCRIPT
      'database.${kind}("sql", "INSERT INTO Log SET n = 1")'`;
  await sql(code('query'));
  await refused(sql('SELECT n FROM Person'), 'query.not-idempotent', /database.command/);
  await sql('DROP TRIGGER t');
  await sql(code('command'));
  await refused(sql('SELECT n FROM Person', true), 'query.not-idempotent', /only reads/);
  await sql('UPDATE Person SET n = 2');
  assert.equal((await logged()).length > 0, true);
});

test('triggers are the business of who may change the schema, JavaScript of security', async () => {
  const records = ['createRecord', 'readRecord'];
  const types = {
    Person: {access: records},
    Pilot: {access: ['readRecord']},
    Log: {access: ['readRecord']},
  };
  const group = (name: string, access: readonly string[]): Promise<void> =>
    world.security.saveGroup(database.name, name, {access, types});
  await group('writer', []);
  await group('designer', ['updateSchema']);
  await group('guardian', ['updateSchema', 'updateSecurity']);
  for (const name of ['writer', 'designer', 'guardian']) {
    const databases = {[database.name]: [name]};
    await world.security.createUser({name, password: `${name}-pass`, databases});
  }
  const as = (name: string, text: string): Promise<unknown[]> =>
    database.run(text, {}, world.security.principalOf(name));
  const trigger = (language: string, code: string): string =>
    `CREATE TRIGGER t AFTER CREATE ON Person EXECUTE ${language} '${code}'`;
  const script = trigger('JAVASCRIPT', 'true');
  await refused(as('writer', trigger('SQL', 'SELECT 1')), 'security.denied', /update the schema/);
  await refused(as('designer', script), 'security.denied', /triggers in JavaScript/);
  const js = 'DEFINE FUNCTION a.b "return 1" LANGUAGE js';
  await refused(as('designer', js), 'security.denied', /functions in JavaScript/);
  await refused(as('writer', 'DEFINE FUNCTION a.b "SELECT 1"'), 'security.denied', /schema/);
  await as('designer', 'DEFINE FUNCTION a.b "SELECT 1"');
  await as('designer', 'DELETE FUNCTION a.b');
  await as('guardian', js);
  await as('guardian', script);
  await as('writer', 'INSERT INTO Person SET n = 1');
  await as('guardian', 'DROP TRIGGER t');
  // It runs with the rights of whoever made it.
  await as('designer', trigger('SQL', 'INSERT INTO Log SET n = 1'));
  await refused(as('writer', 'INSERT INTO Person SET n = 2'), 'trigger.refused', /create.*'Log'/);
  assert.deepEqual(await sql('SELECT n FROM Person'), [{n: 1}]);
});

const mistakes: readonly (readonly [string, RefusalCode, RegExp])[] = [
  [
    "CREATE TRIGGER t BEFORE CREATE ON Persn EXECUTE SQL 'SELECT 1'",
    'schema.unknown-type',
    /Person/,
  ],
  ["CREATE TRIGGER t BEFORE CREATE ON Person EXECUTE JAVA 'com.Foo'", 'query.execution', /no Java/],
  [
    "CREATE TRIGGER t BEFORE CREATE ON Person EXECUTE PERL 'x'",
    'sql.syntax',
    /expected one of sql/,
  ],
  ["CREATE TRIGGER t BEFORE CREATE ON Person EXECUTE SQL 'SELEC'", 'sql.syntax', /'t'.*SELECT/],
  ["CREATE TRIGGER t BEFORE CREATE ON Person EXECUTE JAVASCRIPT '('", 'javascript.failed', /'t'/],
  ['DROP TRIGGER nosuch', 'schema.unknown-trigger', /nosuch/],
];

for (const [text, code, says] of mistakes) {
  test(`refused with ${code}: ${text}`, () => refused(sql(text), code, says));
}

test('created once, listed, dropped, and gone with its type', async () => {
  const text = "t AFTER UPDATE ON Person EXECUTE SQL 'SELECT 1'";
  assert.deepEqual(await sql(`CREATE TRIGGER ${text}`), [
    {
      operation: 'create trigger',
      name: 't',
      timing: 'AFTER',
      event: 'UPDATE',
      typeName: 'Person',
      actionType: 'SQL',
      created: true,
    },
  ]);
  await refused(sql(`CREATE TRIGGER ${text}`), 'schema.exists', /Trigger 't' already exists/);
  const again = [{operation: 'create trigger', name: 't', created: false}];
  assert.deepEqual(await sql(`CREATE TRIGGER IF NOT EXISTS ${text}`), again);
  const row = {typeName: 'Person', timing: 'AFTER', event: 'UPDATE', actionType: 'SQL'};
  const listed = [{name: 't', ...row, actionCode: 'SELECT 1', owner: 'root'}];
  assert.deepEqual(await sql('SELECT FROM schema:triggers'), listed);
  const dropped = [{operation: 'drop trigger', triggerName: 't', dropped: true}];
  assert.deepEqual(await sql('DROP TRIGGER t'), dropped);
  assert.equal((await sql('DROP TRIGGER IF EXISTS t')).length, 1);
  await sql(`CREATE TRIGGER ${text}`);
  await sql('DROP TYPE Person UNSAFE');
  assert.deepEqual(await sql('SELECT FROM schema:triggers'), []);
});
