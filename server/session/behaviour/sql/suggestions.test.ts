/** A near miss of a word, a name or a function is told what was probably meant. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const misses: readonly (readonly [language: string, text: string, meant: string])[] = [
  ['sql', 'SELCT 1', 'SELECT'],
  ['sql', 'SELECT name FORM Person', 'FROM'],
  ['sql', 'SELECT FROM Persn', 'Person'],
  ['sql', 'SELECT FROM person', 'Person'],
  ['sql', "SELECT text.camelCse('x')", 'text.camelCase'],
  ['sql', 'SELECT name.toUpperCas() FROM Person', 'toUpperCase'],
  ['sql', 'CREATE INDEX ON Person (nam) UNIQUE', 'name'],
  ['sql', 'ALTER PROPERTY Person.nme NAME x', 'name'],
  ['sql', 'CREATE PROPERTY Person.x STRNG', 'STRING'],
  ['sql', 'DROP INDEX `Person[nme]`', 'Person[name]'],
  ['sql', 'SELECT FROM bucket:Person_00', 'Person_0'],
  ['sql', 'SELECT FROM schema:tpes', 'types'],
  ['cypher', 'MATCH (n:Person) RETRN n', 'RETURN'],
  ['cypher', 'MATCH (node:Person) RETURN nod.name', 'node'],
  ['cypher', "RETURN toUper('x')", 'toupper'],
  ['cypher', "RETURN text.camelCse('x')", 'text.camelCase'],
  ['cypher', 'CALL db.lables()', 'db.labels'],
];

let world: ServiceWorld;
let database: TestDatabase;

before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    'CREATE VERTEX TYPE Person',
    'CREATE PROPERTY Person.name STRING',
    'CREATE INDEX ON Person (name) UNIQUE',
  ]);
});

after(() => world.close());

for (const [language, text, meant] of misses) {
  test(`${text}: did you mean ${meant}?`, async () => {
    await assert.rejects(
      database.run(text, {language}),
      (error: unknown) =>
        error instanceof Refusal &&
        error.message.replaceAll("'", '').includes(`did you mean ${meant}?`),
    );
  });
}
