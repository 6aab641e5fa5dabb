/** Shows that no way of reading leads a user to what it may not read, indexes included. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;

before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    'CREATE VERTEX TYPE Secret',
    'CREATE PROPERTY Secret.pin STRING',
    'CREATE INDEX ON Secret (pin) UNIQUE',
    "CREATE VERTEX Secret SET pin = '77'",
  ]);
});

after(() => world.close());

const statements = [
  'SELECT FROM Secret',
  'SELECT FROM #1:0',
  'SELECT count(*) AS n FROM Secret',
  "SELECT FROM Secret WHERE pin = '77'",
  // That nothing is found would tell which keys there are.
  "SELECT FROM Secret WHERE pin = 'absent'",
  "SELECT FROM Secret WHERE pin > 'absent' AND pin < 'b'",
  'SELECT key FROM index:`Secret[pin]`',
  // The values come from the keys.
  "SELECT pin FROM Secret WHERE pin > '0'",
];

for (const statement of statements) {
  test(`without the right on its type: ${statement}`, async () => {
    // The group * of a database may open it and read nothing.
    const nobody = {name: 'eve', root: false, grants: new Map([[database.name, ['*']]])};
    await assert.rejects(
      database.run(statement, {}, nobody),
      error => error instanceof Refusal && error.code === 'security.denied',
    );
    const reader = {name: 'rita', root: false, grants: new Map([[database.name, ['readonly']]])};
    await database.run(statement, {}, reader);
  });
}

test('the estimates of a plan tell nothing of records that a user may not read', async () => {
  const eve = {name: 'eve', root: false, grants: new Map([[database.name, ['*']]])};
  const estimates = async (statement: string): Promise<string> => {
    const cursor = await world.service.run(eve, database.request(`EXPLAIN ${statement}`));
    while ((await cursor.next()) !== undefined);
    cursor.close();
    return cursor.summary.explain ?? '';
  };
  const there = await estimates("SELECT FROM Secret WHERE pin < '78'");
  const absent = await estimates("SELECT FROM Secret WHERE pin < '00'");
  assert.equal(absent.replace('"00"', '"78"'), there);
});
