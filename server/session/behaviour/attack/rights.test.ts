/** What a user may not read, no index, count, edge or change of the schema tells him either. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const readOnly = {access: ['readRecord']};
const everything = {access: ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord']};

/** A user of his own database whose only group has these rights. */
async function userOf(
  database: TestDatabase,
  types: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Principal> {
  await world.security.saveGroup(database.name, 'some', {types, ...more});
  return {name: 'eve', root: false, grants: new Map([[database.name, ['some']]])};
}

async function denied(
  database: TestDatabase,
  who: Principal,
  text: string,
  language = 'sql',
): Promise<void> {
  await assert.rejects(
    database.run(text, {language}, who),
    error => error instanceof Refusal && error.code === 'security.denied',
    text,
  );
}

const people = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.code STRING',
  'CREATE INDEX ON Person (code) NOTUNIQUE',
  'CREATE VERTEX TYPE Guest EXTENDS Person',
  'CREATE VERTEX TYPE Patient EXTENDS Person',
  "CREATE VERTEX Guest SET code = 'guest'",
  "CREATE VERTEX Patient SET code = 'hiv-positive'",
];

test('H5: a count over a family asks for every type in it', async () => {
  const database = await world.database(people);
  const eve = await userOf(database, {Person: readOnly, Guest: readOnly});
  await denied(database, eve, 'SELECT count(*) AS n FROM Person');
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM Guest', {}, eve), [{n: 1}]);
});

for (const types of [{Person: readOnly, Guest: readOnly}, {Guest: readOnly}]) {
  const names = Object.keys(types).join(' and ');
  test(`H5: with rights on ${names} an index answers alike, whatever lies in it`, async () => {
    const database = await world.database(people);
    const eve = await userOf(database, types);
    const ask = async (text: string): Promise<string> => {
      try {
        return JSON.stringify(await database.run(text, {}, eve));
      } catch (error) {
        return error instanceof Refusal ? error.code : String(error);
      }
    };
    const type = 'Person' in types ? 'Person' : 'Guest';
    for (const what of ['count(*) AS n', 'code', '@rid', 'code, count(*) AS n']) {
      const query = `SELECT ${what} FROM ${type} WHERE code >= `;
      const there = await ask(`${query}'hiv' AND code < 'hiw'`);
      const absent = await ask(`${query}'hix' AND code < 'hiz'`);
      assert.equal(there, absent, query);
    }
    const found = await ask(`SELECT code FROM Guest WHERE code = 'guest'`);
    assert.equal(found, '[{"code":"guest"}]', 'what may be read is found');
  });
}

const edges = [
  'CREATE VERTEX TYPE P',
  'CREATE EDGE TYPE Knows',
  'CREATE EDGE TYPE Denounced',
  "CREATE VERTEX P SET n = 'ann'",
  "CREATE VERTEX P SET n = 'bob'",
  "CREATE EDGE Knows FROM (SELECT FROM P WHERE n = 'ann') TO (SELECT FROM P WHERE n = 'bob')",
  "CREATE EDGE Denounced FROM (SELECT FROM P WHERE n = 'bob') TO (SELECT FROM P WHERE n = 'ann')",
];

test('M5: an edge of a forbidden type is not followed, counted or named', async () => {
  const database = await world.database(edges);
  const eve = await userOf(database, {P: readOnly, Knows: readOnly});
  for (const text of [
    "SELECT out('Denounced').n AS n FROM P",
    "SELECT outE('Denounced').size() AS n FROM P",
    "SELECT outE('Denounced')[0].@rid AS n FROM P",
    'SELECT both().n AS n FROM P',
    'SELECT bothE().size() AS n FROM P',
    "SELECT FROM P WHERE out('Denounced').size() > 0",
  ]) {
    await denied(database, eve, text);
  }
  const cypher = 'opencypher';
  await denied(database, eve, 'MATCH (x:P)-[:Denounced]->(y:P) RETURN x.n', cypher);
  await denied(database, eve, 'MATCH (x:P)-->(y:P) RETURN x.n', cypher);
  await denied(database, eve, 'MATCH (x:P) RETURN count{(x)--()} AS n', cypher);
  await denied(
    database,
    eve,
    'MATCH p = shortestPath((x:P {n: "bob"})-[*]->(y:P {n: "ann"})) RETURN length(p)',
    cypher,
  );
  const known = await database.run("SELECT out('Knows').n AS n FROM P WHERE n = 'ann'", {}, eve);
  assert.deepEqual(known, [{n: ['bob']}]);
});

test('M5: a vertex does not take edges with it that its user may not delete', async () => {
  const database = await world.database(edges);
  const eve = await userOf(database, {P: everything, Knows: everything});
  await denied(database, eve, "DELETE VERTEX FROM P WHERE n = 'bob'");
  await denied(database, eve, 'MATCH (x:P) DETACH DELETE x', 'opencypher');
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM Denounced'), [{n: 1}]);
});

test('M5: an edge is made between vertices that its user may update', async () => {
  const database = await world.database(edges);
  const eve = await userOf(database, {P: readOnly, Knows: everything});
  await denied(database, eve, 'CREATE EDGE Knows FROM (SELECT FROM P) TO (SELECT FROM P)');
});

test('M4: a change of the schema reads no records that its user may not read', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE Secret',
    'CREATE PROPERTY Secret.name STRING',
    "INSERT INTO Secret SET name = 'TOPSECRET'",
    'CREATE DOCUMENT TYPE Mine',
  ]);
  const types = {'*': everything, Secret: {access: []}};
  const eve = await userOf(database, types, {access: ['updateSchema']});
  for (const text of [
    'ALTER TYPE Secret NAME Harmless',
    "ALTER PROPERTY Secret.name REGEXP 'X.*'",
    'CREATE INDEX ON Secret (name) UNIQUE',
    'CREATE TRIGGER t AFTER CREATE ON TYPE Secret ' +
      "EXECUTE SQL 'INSERT INTO Mine SET n = $record.name'",
    'TRUNCATE TYPE Secret UNSAFE',
    'DROP TYPE Secret UNSAFE',
    'REBUILD TYPE Secret',
  ]) {
    await denied(database, eve, text);
  }
  await database.run('ALTER TYPE Mine NAME Ours', {}, eve);
  assert.deepEqual(await database.run('SELECT name FROM Secret'), [{name: 'TOPSECRET'}]);
});

test('M6: the limits of a group are in force', async () => {
  const rows = Array.from({length: 20}, (_, n) => `INSERT INTO T SET n = ${n}`);
  const database = await world.database(['CREATE DOCUMENT TYPE T', ...rows]);
  const limited = await userOf(database, {'*': readOnly}, {resultSetLimit: 5});
  for (const limit of [undefined, 100, -1]) {
    assert.equal((await database.run('SELECT FROM T', {limit}, limited)).length, 5);
  }
  assert.equal((await database.run('SELECT FROM T LIMIT 10', {}, limited)).length, 5);
  const hurried = await userOf(database, {'*': readOnly}, {readTimeout: 20});
  const endless =
    'UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b) AS n';
  await assert.rejects(
    database.run(endless, {language: 'opencypher'}, hurried),
    error => error instanceof Refusal && error.code === 'query.timeout',
  );
});
