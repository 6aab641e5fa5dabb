/**
 * A statement that makes one record of what it is given runs without its plan; the same one whose
 * values are worked out runs it. Both make the same record and refuse the same.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import {singleCreateOf} from '#server/execution/single-create.ts';
import type {Principal} from '#server/security/principal.ts';
import {requireQuery} from '../../preparation/statement-preparation.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const schema = [
  'CREATE DOCUMENT TYPE Place',
  'CREATE VERTEX TYPE Person BUCKETS 3',
  'CREATE EDGE TYPE Knows',
  'CREATE PROPERTY Person.name STRING (mandatory true, notnull true, max 20)',
  'CREATE PROPERTY Person.age INTEGER (min 0)',
  "CREATE PROPERTY Person.mail STRING (regexp '.*@.*')",
  'CREATE PROPERTY Person.since DATE',
  'CREATE PROPERTY Person.rank INTEGER (default 7)',
  'CREATE PROPERTY Person.home EMBEDDED OF Place',
  'CREATE PROPERTY Place.city STRING (mandatory true)',
  'CREATE INDEX ON Person (mail) UNIQUE',
  'CREATE INDEX ON Person (name) NOTUNIQUE',
];

/** A statement with `?` for what is given: a parameter as it is, or worked out. */
const templates = [
  'INSERT INTO Person SET name = ?name, age = ?age, mail = ?mail',
  'INSERT INTO Person SET name = ?name, rank = ?rank, since = ?since, free = ?free',
  'INSERT INTO Person (name, age, home) VALUES (?name, ?age, ?home)',
  'CREATE VERTEX Person SET name = ?name, mail = ?mail',
  'CREATE VERTEX Place SET city = ?name',
  'CREATE VERTEX Knows SET name = ?name',
  'INSERT INTO Knows SET name = ?name',
  'INSERT INTO Place SET city = ?home, `@type` = ?name',
  'INSERT INTO Place CONTENT ?content',
  'INSERT INTO Person CONTENT ?content',
  'INSERT INTO Person CONTENT {"name": ?name, "age": ?age, "name": ?mail, "@rid": ?rank}',
  'INSERT INTO Person CONTENT {"name": ?name, "free": ?free, "home": ?home}',
];

const given: readonly Readonly<Record<string, Value>>[] = [
  {name: 'Ada', age: 36, mail: 'a@b', rank: 1, since: '2020-01-02', free: [1, 'x', null]},
  {name: 'Ada', age: 36, mail: 'a@b'},
  {name: 'a name that is much too long', age: -1, mail: 'none', since: 'never'},
  {name: null, age: null, mail: null, home: null, content: null},
  {age: 'many', rank: 'low', free: new Map([['a', new Map([['b', 1]])]])},
  {name: 'Eve', home: new Map([['city', 'Ulm']]), content: new Map([['city', 'Ulm']])},
  {name: 'Eve', home: 'Ulm', content: 'Ulm'},
  {
    name: 'Gus',
    content: new Map<string, Value>([
      ['name', 'Gus'],
      ['@rid', '#1:1'],
      ['age', 3.5],
    ]),
  },
  {name: new Uint8Array([1, 2]), age: 2 ** 40, content: new Map([['mail', 5]])},
];

interface Told {
  readonly rows?: unknown;
  readonly refusal?: readonly unknown[];
}

async function told(
  database: TestDatabase,
  text: string,
  parameters: ReadonlyMap<string, Value>,
  principal?: Principal,
): Promise<Told> {
  try {
    return {rows: await database.run(text, {parameters}, principal)};
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return {refusal: [error.code, error.message, error.detail]};
  }
}

const written = (template: string, how: (name: string) => string): string =>
  template.replace(/\?(\w+)/g, (_, name: string) => how(name));

test('with its plan and without, a statement makes the same and refuses the same', async () => {
  const [plain, planned] = [await world.database(schema), await world.database(schema)];
  const refused = new Set<unknown>();
  let made = 0;
  for (const template of templates) {
    for (const values of given) {
      const parameters = new Map(Object.entries(values));
      const plainly = await told(
        plain,
        written(template, name => `:${name}`),
        parameters,
      );
      const worked = await told(
        planned,
        written(template, name => `ifnull(:${name}, null)`),
        parameters,
      );
      assert.deepEqual(plainly, worked, `${template} with ${JSON.stringify(values)}`);
      if (plainly.refusal === undefined) made += 1;
      else refused.add(plainly.refusal[0]);
    }
  }
  assert.ok(made > 20, `${made} records were made`);
  assert.ok(refused.size > 3, `refused: ${[...refused].join(', ')}`);
  const all = 'SELECT FROM Person ORDER BY @rid';
  assert.deepEqual(await plain.run(all), await planned.run(all));
});

test('which statements need no plan is known by their shape', async () => {
  const database = await world.database(schema);
  const isSingle = (text: string): boolean => {
    const {service} = world;
    const session = service.databaseSession(root, database.name);
    const prepared = requireQuery(session.prepare('sql', text));
    assert.equal(prepared.single !== undefined, singleCreateOf(prepared.plan.plan) !== undefined);
    return prepared.single !== undefined;
  };
  for (const template of templates) {
    assert.equal(isSingle(written(template, name => `:${name}`)), true, template);
    assert.equal(isSingle(written(template, name => `ifnull(:${name}, null)`)), false, template);
  }
  for (const text of [
    "INSERT INTO Person SET name = 'Ada' RETURN @rid",
    "INSERT INTO Person (name) VALUES ('Ada'), ('Eve')",
    'INSERT INTO Place FROM SELECT FROM Place',
    'UPDATE Person SET age = 1',
  ]) {
    assert.equal(isSingle(text), false, text);
  }
});

test('rights, triggers, limits, formats and variables hold without a plan as well', async () => {
  const database = await world.database(schema);
  const text = 'INSERT INTO Place SET city = :city';
  const parameters = new Map([['city', 'Ulm']]);
  const eve = {name: 'eve', root: false, grants: new Map([[database.name, ['*']]])};
  const {refusal} = await told(database, text, parameters, eve);
  assert.equal(refusal?.[0], 'security.denied');
  assert.deepEqual(
    await database.run(text, {parameters, limit: 1}),
    await database.run('SELECT FROM Place'),
  );
  const graph = await world.service.run(root, {
    ...database.request(text),
    parameters,
    format: 'graph',
  });
  assert.match(String(await graph.next()), /^\{"vertices":\[\]/);
  graph.close();
  await database.run("SET GLOBAL city = 'Bonn'");
  const rows = await database.run('INSERT INTO Place SET city = $city');
  assert.equal(rows[0]?.['city'], 'Bonn');
  await database.run("CREATE TRIGGER no BEFORE CREATE ON Place EXECUTE SQL 'SELECT false'");
  assert.deepEqual(await database.run(text, {parameters}), []);
});

test('inside of a transaction it is seen by what follows, and taken back with it', async () => {
  const database = await world.database(schema);
  const {service} = world;
  const id = await service.begin(root, database.name);
  const inside = {transactionId: id};
  await database.run("INSERT INTO Place SET city = 'Ulm'", inside);
  assert.equal((await database.run('SELECT FROM Place', inside)).length, 1);
  await service.rollback(root, database.name, id);
  assert.equal((await database.run('SELECT FROM Place')).length, 0);
});
