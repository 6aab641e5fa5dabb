/**
 * Values that cannot be stored are refused where they are made, so no statement can leave a record
 * behind that takes its type away from everybody.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ServiceWorld} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

const impossible = [
  'duration({years: 1e308})',
  'duration({days: 0.0/0.0})',
  'duration({days: 1e300}) - duration({days: -1e300})',
  'duration({days: 1}) * 1e300',
  'duration({nanoseconds: 1e30})',
  '[duration({months: 1e308})]',
  '{inside: duration({seconds: 1e308})}',
  "localdatetime('2024-01-01T00:00') + duration({seconds: 9e16})",
  "date('2024-01-01') + duration({days: 9e15})",
];

for (const value of impossible) {
  test(`H2: ${value} is refused and the type stays readable`, async () => {
    const database = await world.database(['CREATE VERTEX TYPE V', 'INSERT INTO V SET n = 1']);
    const cypher = {language: 'opencypher'};
    await assert.rejects(database.run(`RETURN ${value} AS d`, cypher), refusedWith('arithmetic'));
    await assert.rejects(
      database.run(`CREATE (n:V {d: ${value}})`, cypher),
      refusedWith('arithmetic'),
    );
    assert.deepEqual(await database.run('SELECT n FROM V WHERE d IS NULL'), [{n: 1}]);
    const [report] = await database.run('CHECK DATABASE');
    assert.equal(report?.['totalErrors'] ?? 0, 0);
  });
}

test('H2: a long duration is stored and read as it was', async () => {
  const database = await world.database(['CREATE VERTEX TYPE V']);
  const cypher = {language: 'opencypher'};
  await database.run('CREATE (n:V {d: duration({days: 9007199254740991})})', cypher);
  const rows = await database.run('MATCH (n:V) RETURN n.d.days AS days', cypher);
  assert.deepEqual(rows, [{days: 9007199254740991}]);
});

test('L4: a property without a name is refused, and the dictionary stays sound', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE T']);
  await assert.rejects(database.run('INSERT INTO T CONTENT {"": 1}'), refusedWith('argument'));
  await assert.rejects(database.run('CREATE PROPERTY T.`` STRING'), Refusal);
  const [report] = await database.run('CHECK DATABASE');
  assert.equal(report?.['totalErrors'] ?? 0, 0);
});

test('L5: a trigger that replaces what its answer is written with is refused by name', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE TRIGGER t BEFORE CREATE ON TYPE T EXECUTE JAVASCRIPT ' +
      `'JSON.stringify = () => "1"; return true'`,
  ]);
  const refused = refusedWith('trigger.refused');
  await assert.rejects(database.run('INSERT INTO T SET a = 1'), refused);
});

test('L5: PROFILE makes the types that a statement brings along', async () => {
  const database = await world.database(['CREATE VERTEX TYPE V', 'INSERT INTO V SET n = 1']);
  await database.run('PROFILE MATCH (n:V) SET n:E', {language: 'opencypher'});
  const rows = await database.run('MATCH (n:E) RETURN n.n AS n', {language: 'opencypher'});
  assert.deepEqual(rows, [{n: 1}]);
});

test('H2: a date beyond what a record holds is refused, and the type stays readable', async () => {
  const database = await world.database(['CREATE VERTEX TYPE V', 'INSERT INTO V SET n = 1']);
  const cypher = {language: 'opencypher'};
  const date = "date('2024-01-01') + duration({years: 9000000})";
  const refused = refusedWith('value.type');
  await assert.rejects(database.run(`CREATE (n:V {d: ${date}})`, cypher), refused);
  assert.deepEqual(await database.run('SELECT n FROM V WHERE d IS NULL'), [{n: 1}]);
});
