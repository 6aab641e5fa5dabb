/** A request that is sent again under its id happens once, whatever it did the first time. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const committedBefore = (error: unknown): boolean =>
  error instanceof Refusal &&
  error.code === 'request.reused' &&
  error.exception === 'TransactionCommittedRemotelyException';

function items(): Promise<TestDatabase> {
  return world.database([
    'CREATE VERTEX TYPE Item',
    'CREATE PROPERTY Item.n LONG',
    'CREATE INDEX ON Item (n) UNIQUE',
  ]);
}

const numbers = async (database: TestDatabase): Promise<unknown[]> =>
  (await database.run('SELECT n FROM Item ORDER BY n')).map(row => row['n']);

const repeated: readonly (readonly [string, string, string, readonly unknown[]])[] = [
  // what, language, statement, what is stored
  ['a row with a unique key', 'sql', 'INSERT INTO Item SET n = 1', [1]],
  ['a script', 'sqlscript', 'INSERT INTO Item SET n = 1; INSERT INTO Item SET n = 2', [1, 2]],
  [
    'a script of several commits',
    'sqlscript',
    'BEGIN; INSERT INTO Item SET n = 1; COMMIT; BEGIN; INSERT INTO Item SET n = 2; COMMIT',
    [1, 2],
  ],
  [
    'a statement of several transactions',
    'cypher',
    'UNWIND range(1, 3) AS i CALL { WITH i CREATE (:Item {n: i}) } IN TRANSACTIONS OF 1 ROW',
    [1, 2, 3],
  ],
];
for (const [what, language, text, stored] of repeated) {
  test(`${what} is not begun again`, async () => {
    const database = await items();
    const more = {language, requestId: 'once'};
    await database.run(text, more);
    assert.deepEqual(await numbers(database), stored);
    await assert.rejects(database.run(text, more), committedBefore);
    assert.deepEqual(await numbers(database), stored);
  });
}

test('an id whose request failed is free', async () => {
  const database = await items();
  await database.run('INSERT INTO Item SET n = 1');
  const again = (): Promise<unknown> =>
    database.run('INSERT INTO Item SET n = 1', {requestId: 'later'});
  await assert.rejects(again(), (error: unknown) => !committedBefore(error));
  await database.run('DELETE FROM Item');
  await again();
  await assert.rejects(again(), committedBefore);
});

test('who asks while the first is under way waits for its outcome', async () => {
  const database = await items();
  const both = await Promise.allSettled(
    [1, 2].map(() => database.run('INSERT INTO Item SET n = 7', {requestId: 'twice'})),
  );
  assert.deepEqual(both.map(({status}) => status).sort(), ['fulfilled', 'rejected']);
  assert.deepEqual(await numbers(database), [7]);
});
