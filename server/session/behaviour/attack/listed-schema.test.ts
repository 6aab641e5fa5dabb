/**
 * Who may do nothing with the records of a type is not told of it by what lists the schema, by
 * guesses of what a name was meant to be, or by what a refused search says there is.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import {schemaDocument} from '../../schema-document.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const all = {access: ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord']};
const none = {access: []};

/** Every name that has to do with what is hidden begins with `hid`, whatever the case. */
const schema = [
  'CREATE VERTEX TYPE Open',
  'CREATE PROPERTY Open.code STRING',
  'CREATE INDEX `open_code` ON Open (code) UNIQUE',
  'CREATE VERTEX TYPE Hidden',
  'CREATE PROPERTY Hidden.hidCode STRING',
  'CREATE PROPERTY Hidden.hidVector LIST OF FLOAT',
  'CREATE INDEX `hid_code` ON Hidden (hidCode) FULL_TEXT',
  'CREATE INDEX `hid_vector` ON Hidden (hidVector) LSM_VECTOR METADATA {dimensions: 2}',
  'CREATE VERTEX TYPE HidBase',
  'CREATE VERTEX TYPE Child EXTENDS HidBase',
  'CREATE EDGE TYPE HidEdge',
  'CREATE TRIGGER hidAudit BEFORE CREATE ON TYPE Hidden EXECUTE SQL "SELECT 1"',
  'CREATE MATERIALIZED VIEW HidView AS SELECT hidCode FROM Hidden',
];

/** May do nothing with what begins with `Hid`, and change no schema unless `access` says so. */
async function guestOf({name}: TestDatabase, access: readonly string[] = []): Promise<Principal> {
  const types = {'*': all, Hidden: none, HidBase: none, HidEdge: none, HidView: none};
  await world.security.saveGroup(name, 'guests', {access: [...access], types});
  return {name: 'guest', root: false, grants: new Map([[name, ['guests']]])};
}

const listings: readonly (readonly [string, string])[] = [
  ['sql', 'SELECT FROM schema:types'],
  ['sql', 'SELECT FROM schema:indexes'],
  ['sql', 'SELECT FROM schema:buckets'],
  ['sql', 'SELECT FROM schema:dictionary'],
  ['sql', 'SELECT FROM schema:triggers'],
  ['sql', 'SELECT FROM schema:materializedViews'],
  ['cypher', 'CALL db.labels()'],
  ['cypher', 'CALL db.relationshipTypes()'],
  ['cypher', 'CALL db.propertyKeys()'],
  ['cypher', 'CALL db.schema()'],
  ['cypher', 'CALL meta.schema()'],
  ['cypher', 'CALL meta.graph()'],
  ['cypher', 'CALL meta.stats()'],
  ['cypher', 'CALL meta.nodeTypeProperties()'],
  ['cypher', 'SHOW INDEXES'],
];

async function told(
  database: TestDatabase,
  who: Principal,
  text: string,
  language = 'sql',
): Promise<string> {
  try {
    return JSON.stringify(await database.run(text, {language}, who));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return `${error.code} ${error.message}`;
  }
}

test('nothing that lists a schema tells of types that somebody may do nothing with', async () => {
  const database = await world.database(schema);
  const guest = await guestOf(database);
  for (const [language, text] of listings) {
    assert.match(await told(database, root, text, language), /hid/i, text);
    const listed = await told(database, guest, text, language);
    assert.match(listed, /^\[/, text);
    assert.doesNotMatch(listed, /hid/i, text);
  }
  const counted = (who: Principal) =>
    database.run('SELECT types, indexes FROM schema:stats', {}, who);
  assert.deepEqual(await counted(root), [{types: 6, indexes: 3}]);
  assert.deepEqual(await counted(guest), [{types: 2, indexes: 1}]);
  const document = (who: Principal) =>
    schemaDocument(database.name, world.service.schemaOf(who, database.name));
  assert.match(document(root), /Hidden/);
  assert.doesNotMatch(document(guest), /hid/i);
  assert.match(document(guest), /Child.*Open.*open_code/);
});

test('who may change the schema, or something with the records, is told of a type', async () => {
  const database = await world.database(schema);
  const types = 'SELECT name FROM schema:types';
  assert.match(await told(database, await guestOf(database, ['updateSchema']), types), /Hidden/);
  await world.security.saveGroup(database.name, 'writers', {
    access: [],
    types: {Hidden: {access: ['createRecord']}},
  });
  const writer = {name: 'w', root: false, grants: new Map([[database.name, ['writers']]])};
  assert.equal(await told(database, writer, types), '[{"name":"Hidden"}]');
});

test('an unknown name is guessed for nobody from whom names are kept', async () => {
  const database = await world.database(schema);
  const guest = await guestOf(database);
  for (const text of [
    'SELECT FROM Hiden',
    'SELECT FROM bucket:Hiden_0',
    'SELECT FROM index:`hid_cod`',
    'SELECT FROM schema:index:`hid_cod`',
  ]) {
    assert.match(await told(database, root, text), /did you mean/, text);
    assert.doesNotMatch(await told(database, guest, text), /did you mean/, text);
  }
  const described = world.service.prepare(guest, database.request('SELECT FROM Hiden'));
  await assert.rejects(described, (error: unknown) => !/did you mean/.test(String(error)));
  const unknown = await told(database, guest, 'SELECT FROM schema:index:`nothing`');
  const hidden = await told(database, guest, 'SELECT FROM schema:index:`hid_code`');
  assert.equal(hidden.replace('hid_code', 'nothing'), unknown);
});
