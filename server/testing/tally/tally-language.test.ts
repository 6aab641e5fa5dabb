/** A language that a test brings: what every language has without a line for it. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {closing} from '../closing.ts';
import {root, ServiceWorld, type TestDatabase} from '../worlds/service-world.ts';
import {tally} from './tally-language.ts';

const schema = [
  'CREATE DOCUMENT TYPE Person',
  'CREATE PROPERTY Person.city STRING',
  'CREATE DOCUMENT TYPE Pupil EXTENDS Person',
  "INSERT INTO Person SET city = 'Rome'",
  "INSERT INTO Person SET city = 'Oslo'",
  "INSERT INTO Pupil SET city = 'Rome'",
];

async function open(): Promise<TestDatabase> {
  const world = closing(await ServiceWorld.open({}, {frontEnds: {tally}}));
  return await world.database(schema);
}

const language = 'tally';

test('a text of it is run, prepared and explained like any other', async () => {
  const database = await open();
  const {service} = database;
  const rows = await database.run('tally Person by city', {language});
  const byCity = rows.map(({city, count}) => `${String(city)} ${String(count)}`).sort();
  assert.deepEqual(byCity, ['Oslo 1', 'Rome 2']);
  assert.equal((await database.run('TALLY Pupil BY city', {language: 'Tally'})).length, 1);
  const request = {...database.request('tally Person by city'), language};
  const {columns, writes} = await service.prepare(root, request);
  assert.deepEqual(
    columns?.map(column => column.name),
    ['city', 'count'],
  );
  assert.equal(writes, false);
  assert.equal(await service.needsLeader(root, request), false);
  const cursor = await service.run(root, {...request, profile: 'plan'});
  assert.match(cursor.summary.explain ?? String(cursor.summary.explainPlan), /Person/);
  cursor.close();
  const figures = JSON.stringify(service.figures.families());
  assert.match(figures, /"tally"/, 'it is counted under its name');
});

test('its mistakes have their code and place, and rights are asked', async () => {
  const database = await open();
  const {service, name} = database;
  const at = {code: 'query.semantic', place: {line: 1, column: 1}};
  await assert.rejects(database.run('tally Person', {language}), at);
  const unknown = {code: 'schema.unknown-type'};
  await assert.rejects(database.run('tally Nobody by city', {language}), unknown);
  const rights = {access: new Set([]), types: new Map(), resultSetLimit: -1, readTimeout: -1};
  const who = {name: 'lina', root: false, grants: new Map([[name, []]]), rights};
  const denied = {code: 'security.denied'};
  const request = {...database.request('tally Person by city'), language};
  await assert.rejects(async () => service.rows(who, request).then(rows => rows.next(1)), denied);
});

test('a server without its row does not know it', async () => {
  const world = closing(await ServiceWorld.open());
  const database = await world.database(schema);
  const unknown = {code: 'query.unknown-language'};
  await assert.rejects(database.run('tally Person by city', {language}), unknown);
});

test('what its texts answer follows the data and the schema, though they are kept', async () => {
  const database = await open();
  const count = async (): Promise<number> =>
    (await database.run('tally Person by city', {language})).length;
  assert.equal(await count(), 2);
  await database.run("INSERT INTO Person SET city = 'Bern'");
  assert.equal(await count(), 3);
  await database.run('CREATE INDEX ON Person (city) NOTUNIQUE');
  assert.equal(await count(), 3);
});
